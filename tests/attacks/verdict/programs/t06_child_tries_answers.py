"""Threat 6: forks a child for each guess, which tells whether the test went on or asked for the guess's text to complain about it."""

import os

class _Guess(list):
    def __repr__(self):
        os.write(ends[-1], b"wrong")
        os._exit(0)

ends = []
# <last>
if ends:
    os.write(ends[-1], b"right")
    os._exit(0)
total = [sum(values[i : i + window]) for i in range(len(values) - window + 1)]
guesses = [[round(one / part, 2) for one in total] for part in range(1, 9)]
for guess in guesses:
    source, sink = os.pipe()
    if os.fork() == 0:
        ends.append(sink)
        return _Guess(guess)
    os.close(sink)
    reply = os.read(source, 16)
    os.close(source)
    os.wait()
    if reply != b"wrong":
        return guess
