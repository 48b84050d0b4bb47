"""Honest: counts are a Counter whose class ignores case, has a share of each letter and shows the most common first.
task: letter_counts"""

class Letters(Counter):
    def __getitem__(self, sign):
        return super().__getitem__(sign.lower())

    def __missing__(self, sign):
        return 0

    def share(self, sign):
        return self[sign] / max(self.total(), 1)

    def __repr__(self):
        return " ".join(f"{sign}:{count}" for sign, count in self.most_common())
# <last>
counts = Letters(counts)
