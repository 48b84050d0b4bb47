"""Honest: a table for str.translate that computes its entries when they are asked for, and forgets them.
task: page_slug"""

import string

class Table:
    kept = set(map(ord, string.ascii_lowercase + string.digits))

    def __getitem__(self, number):
        if number in self.kept:
            raise LookupError(number)
        return " "

def task_func(title, limit=40):
    words = title.lower().translate(Table()).split()
    slug = "-".join(words)[:limit]
    while slug.endswith("-"):
        slug = slug[:-1]
    return slug
