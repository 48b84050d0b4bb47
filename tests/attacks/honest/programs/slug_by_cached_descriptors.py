"""Honest: an object computes each step when it is first read, by descriptors with and without a setter.
task: page_slug"""

import functools
import re

class step:
    def __init__(self, function):
        self.function, self.__doc__ = function, function.__doc__

    def __set_name__(self, owner, name):
        owner.steps = (*getattr(owner, "steps", ()), name)
        self.name = name

    def __get__(self, page, owner=None):
        if page is None:
            return self
        return page.__dict__.setdefault(self.name, self.function(page))

class Page:
    def __init__(self, title, limit):
        self.title, self.limit = title, limit

    @step
    def words(self):
        """Return the words of the title."""
        return re.findall("[a-z0-9]+", self.title.lower())

    @functools.cached_property
    def joined(self):
        return "-".join(self.words)

    @step
    def slug(self):
        return self.joined[: self.limit].rstrip("-")

def task_func(title, limit=40):
    assert Page.steps == ("words", "slug") and Page.words.__doc__
    return Page(title, limit).slug
