"""Writes docs/cli.md from the commands themselves: ``python docs/command_line.py``; a test keeps it current."""

import enum
import inspect
import re
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer.main

from bigcodeflow.cli.examples import EXAMPLES
from bigcodeflow.cli.main import app

PAGE = Path(__file__).with_name("cli.md")
_HEAD = """# Command line

Results go to standard output, progress and notices to standard error. Exit codes: 0 done, 1 a named problem, 2 a wrong
command line, 130 stopped by Ctrl-C (what is finished is kept). `bigcodeflow --version` prints the version.

<!-- Written by docs/command_line.py from the commands' own help. -->
"""


def page() -> str:
    """The whole page."""
    sections = [_section(path, command) for path, command in commands(typer.main.get_command(app))]
    return "\n".join([_HEAD, *sections])


def commands(command: Any, path: str = "bigcodeflow") -> Iterator[tuple[str, Any]]:
    """Every command that does something by itself, with the words that start it."""
    command = command.load() if hasattr(command, "load") else command
    names = command.list_commands(None) if hasattr(command, "list_commands") else None
    if names is None or command.invoke_without_command:
        yield path, command
    for name in names or ():
        yield from commands(command.commands[name], f"{path} {name}")


def _section(path: str, command: Any) -> str:
    parameters = [parameter for parameter in command.params if parameter.name != "help"]
    parameters.sort(key=lambda one: one.param_type_name != "argument")
    arguments = [_argument(one) for one in parameters if one.param_type_name == "argument"]
    has_options = len(parameters) > len(arguments)
    usage = " ".join([path, *arguments, *(["[OPTIONS]"] if has_options else [])])
    parts = [f"## {path}", f"```console\n{usage}\n```", _linked(inspect.cleandoc(command.help or ""))]
    if examples := EXAMPLES.get(path.removeprefix("bigcodeflow ")):
        parts.append("\n".join(["```console", *examples, "```"]))
    if parameters:
        rows = [f"| {_names(one)} | {_meaning(one)} | {_default(one)} |" for one in parameters]
        parts.append("\n".join(["| option | meaning | default |", "| --- | --- | --- |", *rows]))
    return "\n\n".join(parts) + "\n"


def _argument(parameter: Any) -> str:
    name = parameter.metavar or parameter.name.upper() + ("..." if parameter.nargs == -1 else "")
    return name if parameter.required or name.startswith("[") else f"[{name}]"


def _names(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return f"`{parameter.metavar or parameter.name.upper()}`"
    return ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))


def _meaning(parameter: Any) -> str:
    choices = _choices(parameter.type_descriptor.annotation)
    text = (parameter.help or "") + (f" One of: {', '.join(choices)}." if choices else "")
    text += f" [{parameter.envvar}]" if parameter.envvar else ""
    return _linked(text).replace("|", "\\|").replace("*_", "\\*_")


def _choices(kind: Any) -> list[str]:
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return [member.value for member in kind]
    if typing.get_origin(kind) is typing.Literal:
        return list(typing.get_args(kind))
    return [choice for part in typing.get_args(kind) for choice in _choices(part)]


def _default(parameter: Any) -> str:
    if parameter.required:
        return "required"
    if isinstance(parameter.show_default, str):
        return parameter.show_default
    if parameter.default in (None, False, ""):
        return ""
    if parameter.default is True:
        return f"`{parameter.opts[0]}`"
    return f"`{getattr(parameter.default, 'value', parameter.default)}`"


def _linked(text: str) -> str:
    return re.sub(r"docs/([\w-]+\.md)", r"[\1](\1)", text)


if __name__ == "__main__":
    PAGE.write_text(page())
