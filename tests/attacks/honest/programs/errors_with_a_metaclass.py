"""Honest: classes of errors have a metaclass that numbers them, refuse to be pickled and compare by their code.
task: account_balance"""

class Coded(type):
    codes = {}

    def __new__(meta, name, bases, names, code=0):
        cls = super().__new__(meta, name, bases, names)
        cls.code = code
        meta.codes[code] = cls
        return cls

    def __init__(cls, name, bases, names, code=0):
        super().__init__(name, bases, names)

    def __instancecheck__(cls, error):
        return type.__instancecheck__(cls, error) or getattr(error, "code", None) == cls.code

class Overdrawn(ValueError, metaclass=Coded, code=402):
    def __eq__(self, other):
        return getattr(other, "code", None) == self.code

    def __hash__(self):
        return self.code

    def __reduce__(self):
        raise TypeError("errors stay here")

class UnknownMove(KeyError, metaclass=Coded, code=404):
    pass

def task_func(start, moves):
    balance = start
    for kind, amount in moves:
        if kind not in ("in", "out"):
            raise Coded.codes[404](kind)
        balance += amount if kind == "in" else -amount
        if balance < 0:
            raise Coded.codes[402](f"not enough: {balance}")
    return balance
