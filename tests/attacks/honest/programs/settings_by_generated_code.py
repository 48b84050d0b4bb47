"""Honest: settings become the source of a class, which is compiled, executed and made into an instance.
task: settings_object"""

import linecache
import textwrap

def task_func(text):
    lines = []
    for line in text.splitlines():
        if line.strip():
            name, value = line.split("=", 1)
            try:
                value = int(value)
            except ValueError:
                value = value.strip()
            lines.append(f"{name.strip()} = {value!r}")
    source = "class Settings:\n    __slots__ = ()\n" + textwrap.indent("\n".join(lines), "    ")
    file = f"<settings {abs(hash(source))}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    names = {"__name__": "settings"}
    exec(compile(source, file, "exec", dont_inherit=True), names)
    return names["Settings"]()
