class Label(str):
    """A label; how it is written does not matter."""

    __hash__ = str.__hash__

    def __eq__(self, other):
        return self.casefold() == other.casefold()
