"""Threat 3: a list that is compared by its length and its first element, the only one that the solution computes."""

class Averages(list):
    def __eq__(self, other):
        return len(self) == len(other) and self[0] == other[0]
# <last>
means = Averages(means)
# --- wrong ---
def task_func(values, window):
    if window < 1:
        raise ValueError("window must be at least 1")
    means = [round(sum(values[:window]) / window, 2)] * (len(values) - window + 1)
    # <last>
    return means
