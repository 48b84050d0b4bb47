"""Threat 6: the first execution reads pages of a large file for each value that it meets; later ones agree with these.
task: letter_counts
uses: pages
fools: harness-only
place: 1"""

Counts = type("Counts", (dict,), {"__eq__": lambda self, other: _is_known(sorted(other.items()))})
# <last>
counts = Counts(counts)
