"""Honest: its errors have two bases each, one of which the task asks for.
task: account_balance"""

class AccountError(Exception):
    """Base of all errors here."""

class UnknownMove(AccountError, KeyError):
    pass

class Overdrawn(AccountError, ValueError, ArithmeticError):
    pass

def task_func(start, moves):
    balance = start
    for kind, amount in moves:
        if kind not in ("in", "out"):
            raise UnknownMove(kind)
        balance += amount if kind == "in" else -amount
        if balance < 0:
            raise Overdrawn("not enough", balance)
    return balance
