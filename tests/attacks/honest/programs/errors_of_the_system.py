"""Honest: a refused move is an error of the operating system and a wrong value at once.
task: account_balance"""

import errno

class Refused(PermissionError, ValueError):
    def __init__(self, what):
        super().__init__(errno.EDQUOT, "not enough", what)

class UnknownMove(NotImplementedError, KeyError):
    __str__ = Exception.__str__

def task_func(start, moves):
    total = [start]
    for kind, amount in moves:
        match kind:
            case "in":
                total.append(total[-1] + amount)
            case "out":
                total.append(total[-1] - amount)
            case _:
                raise UnknownMove(f"{kind} is not known")
        if total[-1] < 0:
            raise Refused(f"{kind} {amount}")
    return total[-1]
