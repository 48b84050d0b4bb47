import configparser
import json


def task_func(paths, output_path):
    """
    Merge settings files into one JSON file. Files whose name ends in '.json' hold an object of sections, each an
    object of settings; all others are INI files without interpolation. Later files override single settings of
    earlier ones. Section and setting names are lower-cased; values become strings, except that the texts 'true' and
    'false' (in any case) and JSON booleans become booleans.

    Parameters:
    - paths (list of str): The files, least important first.
    - output_path (str): Path of the JSON file to write, with an indentation of 2 and sorted keys.

    Returns:
    - dict: The merged settings: sections mapped to dicts of settings.

    Raises:
    - FileNotFoundError: If a file does not exist.

    Requirements:
    - configparser
    - json

    Example:
    >>> with open("base.ini", "w") as file:
    ...     _ = file.write("[Web]\\nport = 80\\ndebug = True\\n")
    >>> task_func(["base.ini"], "merged.json")
    {'web': {'port': '80', 'debug': True}}
    """

    def plain(value):
        if isinstance(value, bool):
            return value
        text = str(value)
        return text.lower() == "true" if text.lower() in ("true", "false") else text

    merged = {}
    for path in paths:
        with open(path) as file:
            if path.endswith(".json"):
                layer = json.load(file)
            else:
                parser = configparser.RawConfigParser()
                parser.read_file(file)
                layer = {section: dict(parser.items(section)) for section in parser.sections()}
        for section, settings in layer.items():
            target = merged.setdefault(section.lower(), {})
            target.update({name.lower(): plain(value) for name, value in settings.items()})
    with open(output_path, "w") as file:
        json.dump(merged, file, indent=2, sort_keys=True)
    return merged


# --- tests ---
import json
import os
import tempfile
import unittest


class TestCases(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.output = os.path.join(self.folder.name, "merged.json")

    def tearDown(self):
        self.folder.cleanup()

    def write(self, name, text):
        path = os.path.join(self.folder.name, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def test_ini_file(self):
        path = self.write("a.ini", "[Web]\nPort = 80\ndebug = True\n")
        self.assertEqual(task_func([path], self.output), {"web": {"port": "80", "debug": True}})

    def test_later_files_win_setting_by_setting(self):
        first = self.write("a.ini", "[web]\nport = 80\nhost = here\n")
        second = self.write("b.json", '{"WEB": {"port": 8080}, "db": {"on": false}}')
        self.assertEqual(
            task_func([first, second], self.output),
            {"web": {"port": "8080", "host": "here"}, "db": {"on": False}},
        )

    def test_output_file(self):
        path = self.write("a.ini", "[b]\nz = 1\na = FALSE\n")
        task_func([path], self.output)
        with open(self.output) as file:
            self.assertEqual(file.read(), '{\n  "b": {\n    "a": false,\n    "z": "1"\n  }\n}')

    def test_percent_signs_are_text(self):
        path = self.write("a.cfg", "[log]\nformat = %(message)s 100%\n")
        self.assertEqual(task_func([path], self.output), {"log": {"format": "%(message)s 100%"}})

    def test_no_files(self):
        self.assertEqual(task_func([], self.output), {})
        with open(self.output) as file:
            self.assertEqual(json.load(file), {})

    def test_missing_file(self):
        with self.assertRaises(FileNotFoundError):
            task_func([os.path.join(self.folder.name, "no.ini")], self.output)
