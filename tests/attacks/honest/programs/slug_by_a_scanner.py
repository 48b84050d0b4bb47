"""Honest: the undocumented scanner of `re`, with actions as methods, splits the title.
task: page_slug"""

import re

class Words(list):
    def word(self, scanner, text):
        self.append(text)
        return scanner.match.span()

    def __str__(self):
        return "-".join(self)

def task_func(title, limit=40):
    words = Words()
    scanner = re.Scanner([(r"[a-z0-9]+", words.word), (r"[^a-z0-9]+", None)])
    places, rest = scanner.scan(title.lower())
    assert not rest and len(places) == len(words)
    return str(words)[:limit].rstrip("-")
