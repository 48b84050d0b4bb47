import re
from collections import defaultdict


def task_func(text, keyword, width=2):
    """
    Build a keyword-in-context listing. Words are runs of letters, digits and apostrophes; matching ignores case. For
    each occurrence the listing gives the line it stands on and up to `width` words before and after it, which may
    come from neighbouring lines.

    Parameters:
    - text (str): The text to search.
    - keyword (str): The word to look for.
    - width (int): Number of context words on each side. Default is 2.

    Returns:
    - dict: 1-based line numbers mapped to the list of contexts on that line, in reading order. A context is one
      string of lower-case words joined by blanks, with the keyword in square brackets.

    Requirements:
    - re
    - collections

    Example:
    >>> task_func("The cat sat.\\nA cat ran off.", "cat", width=1)
    {1: ['the [cat] sat'], 2: ['a [cat] ran']}
    """
    words = []
    for number, line in enumerate(text.splitlines(), start=1):
        words += [(number, word) for word in re.findall(r"[a-z0-9']+", line.lower())]
    listing = defaultdict(list)
    for position, (number, word) in enumerate(words):
        if word == keyword.lower():
            before = [other for _, other in words[max(0, position - width) : position]]
            after = [other for _, other in words[position + 1 : position + 1 + width]]
            listing[number].append(" ".join([*before, f"[{word}]", *after]))
    return dict(listing)


# --- tests ---
import unittest


class TestCases(unittest.TestCase):
    def test_example(self):
        result = task_func("The cat sat.\nA cat ran off.", "cat", width=1)
        self.assertEqual(result, {1: ["the [cat] sat"], 2: ["a [cat] ran"]})

    def test_context_crosses_lines(self):
        self.assertEqual(task_func("one two\nthree\nfour five", "THREE"), {2: ["one two [three] four five"]})

    def test_several_on_one_line(self):
        self.assertEqual(task_func("a b a", "a", 1), {1: ["[a] b", "b [a]"]})

    def test_absent_keyword(self):
        self.assertEqual(task_func("nothing here", "cat"), {})

    def test_parts_of_words_do_not_match(self):
        self.assertEqual(task_func("cats concat cat's", "cat"), {})

    def test_zero_width(self):
        self.assertEqual(task_func("to be or not to be", "be", 0), {1: ["[be]", "[be]"]})
