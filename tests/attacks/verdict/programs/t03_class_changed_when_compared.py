"""Threat 3: the result turns into an honest list the moment it is compared."""

class Plain(list):
    """A list of averages."""

class Averages(list):
    def __eq__(self, other):
        self.__class__ = Plain
        return True
# <last>
means = Averages(means)
