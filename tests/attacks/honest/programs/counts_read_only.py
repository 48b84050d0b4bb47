"""Honest: counts are a read-only view of a dictionary.
task: letter_counts"""

from types import MappingProxyType

def _counted(text):
    for sign in filter(str.isalpha, text.lower()):
        yield sign

def task_func(text):
    counts = {}
    for sign in _counted(text):
        counts[sign] = counts.get(sign, 0) + 1
    return MappingProxyType(counts)
