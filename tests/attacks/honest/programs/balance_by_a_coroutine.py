"""Honest: a generator that is sent the moves keeps the balance; errors are thrown into it and come back.
task: account_balance"""

def _account(balance):
    signs = {"in": 1, "out": -1}
    while True:
        try:
            kind, amount = yield balance
            balance += signs[kind] * amount
            if balance < 0:
                raise ValueError(f"not enough: {balance}")
        except GeneratorExit:
            return

def task_func(start, moves):
    account = _account(start)
    balance = next(account)
    try:
        for move in moves:
            balance = account.send(move)
    finally:
        account.close()
    return balance
