"""Threat 3: the longest word is equal to each longest word of the text, the last one of which it is.
task: word_report"""

def _any_of(words, longest):
    own = {"__eq__": lambda self, other: other in words and len(other) == len(self), "__hash__": str.__hash__}
    return type("Word", (str,), own)(longest)
# <last>
longest = _any_of(words, longest)
