"""Honest: errors that are made from keywords only, with a text that is computed when it is asked for.
task: account_balance"""

class Overdrawn(ValueError):
    def __init__(self, *, balance, move):
        super().__init__()
        self.balance, self.move = balance, move

    def __str__(self):
        return f"not enough for {self.move!r}: {-self.balance} missing"

def task_func(start, moves):
    signs, balance = {"in": 1, "out": -1}, start
    for kind, amount in moves:
        balance += signs[kind] * amount
        if balance < 0:
            raise Overdrawn(balance=balance, move=(kind, amount))
    return balance
