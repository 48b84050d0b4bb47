"""Honest: puts a copy of what is printed into a list, from its import on."""

import sys

class Tee:
    def __init__(self, stream):
        self.stream, self.kept = stream, []

    def write(self, text):
        self.kept.append(text)
        return self.stream.write(text)

    def __getattr__(self, name):
        return getattr(self.stream, name)

sys.stdout = Tee(sys.stdout)
# <last>
print(*means)
assert "".join(sys.stdout.kept).endswith(" ".join(map(str, means)) + "\n")
