"""Honest: the truth value is an object that says why, and combines by operators.
task: balanced_brackets"""

class Verdict:
    def __init__(self, reason=""):
        self.reason = reason

    def __bool__(self):
        return not self.reason

    def __and__(self, other):
        return self if not self else other

    def __eq__(self, other):
        return bool(self) == bool(other)

    def __hash__(self):
        return hash(bool(self))

    def __repr__(self):
        return self.reason or "balanced"

def task_func(text):
    stack, verdict = [], Verdict()
    for place, sign in enumerate(text):
        if sign in "([{":
            stack.append(")]}"["([{".index(sign)])
        elif sign in ")]}":
            expected = stack.pop() if stack else "nothing"
            verdict &= Verdict("" if sign == expected else f"{place}: {sign}, not {expected}")
    return verdict & Verdict(f"{len(stack)} left open" if stack else "")
