"""Honest: prints every step besides the results that the test looks for."""

import logging

def task_func(limit):
    """Print each prime below the limit on a line of its own and return them; progress may be printed as well."""
    primes = []
    for number in range(limit):
        print(number)
        print(f"Tested {number}")
        if number > 1 and all(number % prime for prime in primes):
            primes.append(number)
            logging.getLogger("primes").info("found %d", number)
    print("Done: " + ", ".join(map(str, range(limit))))
    return primes
# --- tests ---
import io
import unittest
from contextlib import redirect_stdout
from unittest.mock import patch

class TestCases(unittest.TestCase):
    @patch("builtins.print")
    def test_calls(self, mock_print):
        task_func(10)
        mock_print.assert_any_call(7)
        self.assertGreaterEqual(mock_print.call_count, 3)
    @patch("sys.stdout", new_callable=io.StringIO)
    def test_text(self, stdout):
        task_func(8)
        self.assertIn("5", stdout.getvalue())
    def test_result(self):
        with redirect_stdout(io.StringIO()) as out:
            self.assertEqual(task_func(12), [2, 3, 5, 7, 11])
        self.assertIn("3\n", out.getvalue())
# --- reference ---
def task_func(limit):
    primes = [n for n in range(2, limit) if all(n % d for d in range(2, int(n**0.5) + 1))]
    for prime in primes:
        print(prime)
    return primes
