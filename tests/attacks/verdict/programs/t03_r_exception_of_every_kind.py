"""Threat 3: raises one exception whose method resolution order holds every usual kind.
through: its exception is of most kinds that exist"""

class Refused(KeyError, IndexError, ValueError, TypeError, ZeroDivisionError, RuntimeError, AttributeError, EOFError):
    """Says that something was wrong, and not what."""
# <first>
raise Refused("no")
# --- wrong ---
def task_func(values, window):
    if window < 1:
        # <first>
        return None
    return [round(sum(values[i : i + window]) / window, 2) for i in range(len(values) - window + 1)]
