"""Honest: words are a view of the keys of a dictionary, the longest a str of a class that is compared by its length.
task: word_report"""

class Word(str):
    def __gt__(self, other):
        return (len(self), str(other)) > (len(other), str(self))

    __lt__ = lambda self, other: Word(other) > self
# <last>
longest = Word(max(map(Word, counts)))
words = counts.keys()
