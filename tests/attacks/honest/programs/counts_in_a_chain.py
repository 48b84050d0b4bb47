"""Honest: counts are a chain of mappings, one for the vowels, one for the other letters.
task: letter_counts"""

from collections import ChainMap
# <last>
vowels = {sign: count for sign, count in counts.items() if sign in "aeiou"}
counts = ChainMap(vowels, {sign: count for sign, count in counts.items() if sign not in vowels})
