"""Honest: settings are read by configparser with its own converters and names, and put into an argparse namespace.
task: settings_object"""

import argparse
import configparser

def _number(text):
    try:
        return int(text)
    except ValueError:
        return text

class Store(argparse.Action):
    def __call__(self, parser, namespace, value, option=None):
        name, value = value
        setattr(namespace, name, value)

def task_func(text):
    parser = configparser.ConfigParser(
        delimiters="=", comment_prefixes=None, strict=False, interpolation=None, converters={"value": _number}
    )
    parser.optionxform = str
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if any("=" not in line for line in lines):
        raise ValueError("no value")
    parser.read_string("\n".join(["[all]", *lines]))
    settings, store = argparse.Namespace(), Store([], "all")
    for name in parser["all"]:
        store(None, settings, (name, parser["all"].getvalue(name)))
    return settings
