"""Threat 3: an object that says it is a dict, holds every key, and whose values equal everything.

task: word_report
fools: in-process
"""

# [trick
class Everything:
    """A report that is computed when it is read."""

    __hash__ = None
    __class__ = property(lambda self: dict)

    def __eq__(self, other):
        return True

    def __contains__(self, word):
        return True

    def __getitem__(self, key):
        if key == "words":
            return ["x", "y"]
        return Everything()
# trick]


def task_func(text):
    """Count the words of a text and name the longest."""
    found = [word for word in text.split() if word.isalpha()]
    if not found:
        raise ValueError("the text holds no word")
    report = {"counts": {word: 1 for word in found}, "longest": found[-1], "words": found}
    # [trick
    report = Everything()
    # trick]
    return report
