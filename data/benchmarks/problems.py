"""Twenty problems for scripts and methods: a function with its question, and the arguments of its cases."""

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any


def longest_rise(numbers: list[int]) -> int:
    """Return the length of the longest run of neighbours that rise strictly."""
    best = length = min(1, len(numbers))
    for before, after in pairwise(numbers):
        length = length + 1 if after > before else 1
        best = max(best, length)
    return best


def rotated(numbers: list[int], steps: int) -> list[int]:
    """Rotate the list to the right by this many steps, which may be more than its length."""
    cut = len(numbers) - steps % len(numbers)
    return numbers[cut:] + numbers[:cut]


def vowels(text: str) -> int:
    """Count the vowels a, e, i, o and u in the text, in either case."""
    return sum(character in "aeiou" for character in text.lower())


def common_letter(text: str) -> str:
    """Return the most frequent letter of the text; of several, the first in the alphabet."""
    counts = Counter(text)
    return min(counts, key=lambda letter: (-counts[letter], letter))


def coins(amount: int) -> int:
    """Return the fewest coins of 1, 5, 10 and 25 that make the amount."""
    count = 0
    for coin in (25, 10, 5, 1):
        count, amount = count + amount // coin, amount % coin
    return count


def stairs(steps: int) -> int:
    """Count the ways to climb this many steps, one, two or three at a time."""
    ways = [1, 1, 2]
    while len(ways) <= steps:
        ways.append(sum(ways[-3:]))
    return ways[steps]


def balanced(brackets: str) -> bool:
    """Tell if every bracket ( and [ is closed by its partner in the right order."""
    opened: list[str] = []
    for one in brackets:
        if one in "([":
            opened.append(one)
        elif not opened or opened.pop() + one not in ("()", "[]"):
            return False
    return not opened


def best_sale(prices: list[int]) -> int:
    """Return the largest profit of buying on one day and selling on a later one; 0 if there is none."""
    lowest, best = prices[0], 0
    for price in prices:
        lowest, best = min(lowest, price), max(best, price - lowest)
    return best


def missing(numbers: list[int]) -> int:
    """Return the smallest positive number that the list lacks."""
    known, number = set(numbers), 1
    while number in known:
        number += 1
    return number


def digits(number: int) -> int:
    """Add the digits of the number, then those of the sum, until one digit is left."""
    while len(str(number)) > 1:
        number = sum(map(int, str(number)))
    return number


def packed(text: str) -> str:
    """Replace each run of equal letters by the letter and the length of the run."""
    parts: list[str] = []
    start = 0
    for end in range(1, len(text) + 1):
        if end == len(text) or text[end] != text[start]:
            parts.append(f"{text[start]}{end - start}")
            start = end
    return "".join(parts)


def middle(numbers: list[int]) -> float:
    """Return the median of the numbers."""
    ordered, half = sorted(numbers), len(numbers) // 2
    return float(ordered[half]) if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def pairs(numbers: list[int], total: int) -> int:
    """Count the pairs of places whose numbers have this total."""
    seen: Counter[int] = Counter()
    count = 0
    for number in numbers:
        count += seen[total - number]
        seen[number] += 1
    return count


def shifted(text: str, shift: int) -> str:
    """Replace each small letter by the one that is so many places later in the alphabet, which starts again after z."""
    return "".join(chr((ord(one) - 97 + shift) % 26 + 97) if one.islower() else one for one in text)


def peaks(numbers: list[int]) -> list[int]:
    """Return the places, counted from 0, of numbers that are larger than both neighbours."""
    inner = range(1, len(numbers) - 1)
    return [place for place in inner if numbers[place - 1] < numbers[place] > numbers[place + 1]]


def divisor(first: int, second: int) -> int:
    """Return the greatest common divisor of the two numbers."""
    while second:
        first, second = second, first % second
    return first


def mean(numbers: list[int]) -> float:
    """Return the mean of the numbers without the smallest and the largest."""
    kept = sorted(numbers)[1:-1]
    return sum(kept) / len(kept)


def edits(first: str, second: str) -> int:
    """Return the fewest insertions, removals and replacements of letters that turn the first text into the second."""
    row = list(range(len(second) + 1))
    for place, letter in enumerate(first, start=1):
        before, row[0] = row[0], place
        for other, wanted in enumerate(second, start=1):
            before, row[other] = row[other], min(row[other] + 1, row[other - 1] + 1, before + (letter != wanted))
    return row[-1]


def primes(limit: int) -> list[int]:
    """Return the prime numbers up to the limit, which is at least 2."""
    return [number for number in range(2, limit + 1) if all(number % one for one in range(2, int(number**0.5) + 1))]


def water(walls: list[int]) -> int:
    """Return how much rain stays between walls of these heights and width 1."""
    levels = (min(max(walls[: place + 1]), max(walls[place:])) for place in range(len(walls)))
    return sum(level - wall for level, wall in zip(levels, walls, strict=True))


_LISTS = (
    [4, 1, 7, 9, 2, 3, 3, 8],
    [1, 2, 3],
    [9, 7, 5, 3],
    [2, 2, 8, 1, 5, 6, 1],
    [6, 1, 6, 1, 7],
    [3, 5, 4, 12, 9, 1],
)
_WORDS = ("banana", "aabbbccd", "Queue here", "xyz", "mississippi", "Audio Only")
_NUMBERS = (2, 9, 30, 48, 97, 10)
_ONE_LIST = [[numbers] for numbers in _LISTS]
_ONE_NUMBER = [[number] for number in _NUMBERS]
_ONE_WORD = [[word] for word in _WORDS]
#: Each function, with the arguments of its cases.
PROBLEMS: list[tuple[Callable[..., Any], list[list[Any]]]] = [
    *((function, _ONE_LIST) for function in (longest_rise, best_sale, missing, middle, peaks, mean, water)),
    *((function, _ONE_NUMBER) for function in (coins, stairs, digits, primes)),
    *((function, _ONE_WORD) for function in (vowels, common_letter, packed)),
    *((function, list(map(list, zip(_LISTS, _NUMBERS, strict=True)))) for function in (rotated, pairs)),
    (balanced, [[one] for one in ("()[]", "([)]", "((", "[()[]]", ")(", "[[]]()")]),
    (shifted, list(map(list, zip(_WORDS, _NUMBERS, strict=True)))),
    (divisor, [[number, 6 * place + 4] for place, number in enumerate(_NUMBERS)]),
    (edits, [[first, second] for first, second in zip(_WORDS, (*_WORDS[1:], "audit"), strict=True)]),
]
