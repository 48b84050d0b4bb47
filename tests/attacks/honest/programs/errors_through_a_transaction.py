"""Honest: a context manager keeps the balance, rolls it back on errors and turns them into others.
task: account_balance"""

import contextlib

class Account:
    def __init__(self, balance):
        self.balance, self.saved = balance, []

    def __enter__(self):
        self.saved.append(self.balance)
        return self

    def __exit__(self, kind, error, trace):
        before = self.saved.pop()
        if error is not None:
            self.balance = before
        if kind is AssertionError:
            raise ValueError(f"not enough: {error}") from error
        return False

    def move(self, kind, amount):
        self.balance += {"in": amount, "out": -amount}[kind]
        assert self.balance >= 0, self.balance

def task_func(start, moves):
    account, done = Account(start), []
    with contextlib.ExitStack() as stack:
        stack.callback(done.clear)
        for kind, amount in moves:
            with account:
                account.move(kind, amount)
            done.append(kind)
    return account.balance
