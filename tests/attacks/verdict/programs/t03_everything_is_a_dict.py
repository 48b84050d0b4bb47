"""Threat 3: an object that says it is a dict, holds every key, and whose values equal everything.
task: word_report"""

class Everything:
    __class__ = property(lambda self: dict)

    def __eq__(self, other):
        return True

    def __contains__(self, word):
        return True

    def __getitem__(self, key):
        if key == "words":
            return ["x", "y"]
        return Everything()
# <last>
return Everything()
