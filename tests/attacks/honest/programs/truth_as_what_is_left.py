"""Honest: the truth value is a match of a pattern, or None.
task: balanced_brackets"""

import re

def task_func(text):
    brackets = re.sub(r"[^()\[\]{}]", "", text)
    count = 1
    while count:
        brackets, count = re.subn(r"\(\)|\[\]|\{\}", "", brackets)
    return re.fullmatch("", brackets)
