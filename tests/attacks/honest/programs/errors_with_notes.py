"""Honest: errors carry notes, causes and a class that is made when they are raised.
task: account_balance"""

def failure(text, *bases, **members):
    name = "".join(word.title() for word in text.split(":")[0].split())
    return type(name, bases, members)(text)

def task_func(start, moves):
    balance = start
    for place, (kind, amount) in enumerate(moves):
        try:
            balance += {"in": amount, "out": -amount}[kind]
        except KeyError as error:
            error.add_note(f"move {place}")
            raise
        if balance < 0:
            error = failure(f"not enough: {balance}", ValueError, RuntimeError, place=place)
            error.add_note(f"after {moves[:place]}")
            raise error from OverflowError(amount)
    return balance
