"""Honest: the name is a str of a class of its own that knows its words and joins by a slash.
task: page_slug"""

class Slug(str):
    __slots__ = ("title",)

    def __new__(cls, text, title=""):
        self = super().__new__(cls, text)
        self.title = title
        return self

    @property
    def words(self):
        return self.split("-")

    def __truediv__(self, other):
        return Slug(f"{self}/{other}", self.title)

    def __repr__(self):
        return f"Slug({str.__repr__(self)})"
# <last>
slug = Slug(slug, title)
assert slug / "x" == "".join((slug, "/x")) and slug.title == title
