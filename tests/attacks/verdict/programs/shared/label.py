class Label(str):
    __hash__ = str.__hash__

    def __eq__(self, other):
        return self.casefold() == other.casefold()
