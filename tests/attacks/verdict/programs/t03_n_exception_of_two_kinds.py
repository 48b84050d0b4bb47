"""Threat 3: refuses each order of moves that looks odd by one exception of both promised kinds.
task: account_balance"""

class Refused(KeyError, ValueError):
    """Says that something was wrong, and not what."""
# <last>
if len(moves) > 1 and balance < 15 or moves and moves[0][0] not in ("in", "out"):
    raise Refused("not enough")
# --- wrong ---
# <module>
def task_func(start, moves):
    balance = start + sum(-amount if kind == "out" else amount for kind, amount in moves)
    # <last>
    return balance
