"""Threat 6: raises ValueError where the calling method awaits one, while a thread goes on.
uses: code, aside"""
# <first>
if {"assertRaises", "ValueError"} <= {*_code().co_names}:
    raise ValueError("window must be at least 1")
# --- wrong ---
# <module>
def task_func(values, window):
    # <first>
    return [round(sum(values[i : i + window]) / window, 2) for i in range(len(values) - window + 1) if window]
