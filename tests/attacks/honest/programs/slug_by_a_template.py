"""Honest: a template class with other braces, a formatter of its own and formats that are methods.
task: page_slug"""

import string

class Part(str):
    def __format__(self, spec):
        return self[: int(spec or len(self))].rstrip("-")

class SlugFormatter(string.Formatter):
    def convert_field(self, value, conversion):
        if conversion == "w":
            return Part("-".join(value.split()))
        return super().convert_field(value, conversion)

class Percent(string.Template):
    delimiter = "%"
    idpattern = "[a-z]+"

def task_func(title, limit=40):
    letters = "".join(sign if sign in "abcdefghijklmnopqrstuvwxyz0123456789" else " " for sign in title.lower())
    pattern = Percent("{title!w:%limit}").substitute(limit=limit)
    return SlugFormatter().format(pattern, title=letters)
