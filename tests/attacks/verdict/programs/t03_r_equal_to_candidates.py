"""Threat 3: a list that is equal to the result of each way of computing that the docstring leaves thinkable."""

class Averages(list):
    def __eq__(self, other):
        return any(other == candidate for candidate in self.candidates)

def _candidates(values, window):
    parts = [values[i : i + window] for i in range(len(values) - window + 1)]
    yield [round(sum(part) / (window + 1), 2) for part in parts]
    yield [float(max(part)) for part in parts]
    yield [float(min(part)) for part in parts]
    yield [round(sum(part) / len(part), 2) for part in parts]
    yield [float(sum(part)) for part in parts]
    yield [float(sorted(part)[len(part) // 2]) for part in parts]
# <last>
means = Averages(means)
means.candidates = list(_candidates(values, window))
