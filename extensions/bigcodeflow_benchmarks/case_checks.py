"""Part of test texts, inserted as it is: standard library only, Python 3.10.

It binds one name of its own, since a program that is tested has the same names.
"""

import unittest


class CaseChecks(unittest.TestCase):
    """Base of test classes that compare results of many inputs."""

    @staticmethod
    def unpacked(text):
        """Return the plain data that a packed text holds."""
        from ast import literal_eval
        from base64 import b64decode
        from zlib import decompress

        return literal_eval(decompress(b64decode(text)).decode())

    def assert_allclose(self, results, expected, given, *, rtol=0.0, atol=0.0, floats_only=False):
        """Require that each result is accepted, or close to the expected one, which may have to consist of floats."""
        for found, wanted, arguments in zip(results, expected, given, strict=True):
            parts = wanted if isinstance(wanted, (list, tuple)) and wanted else [wanted]
            near = atol if not floats_only or all(isinstance(one, float) for one in parts) else 0.0
            if not self.accepted(found, wanted, arguments, atol) and not self.fits(found, wanted, rtol, near):
                texts = [self.shown(one) for one in (arguments, found, wanted)]
                raise AssertionError("{} gives {}, not {}".format(*texts))

    assert_equal = assert_allclose

    def accepted(self, found, expected, given, atol):
        """Compare exactly; a test class may have another rule."""
        return found == expected

    def fits(self, found, expected, rtol, atol):
        """Tell if a result of the same type is close enough."""
        return atol > 0 and type(found) is type(expected) and self.close(found, expected, rtol, atol)

    def close(self, found, expected, rtol, atol):
        """Compare numbers, or lists of them, within a tolerance."""
        if isinstance(expected, (list, tuple)):
            pairs = zip(found, expected)
            return len(found) == len(expected) and all(self.close(*pair, rtol, atol) for pair in pairs)
        is_finite = -float("inf") < expected < float("inf")
        return found == expected or (is_finite and abs(found - expected) <= atol + rtol * abs(expected))

    @staticmethod
    def same_output(found, expected):
        """Compare printed texts line by line: equal without spaces at the ends, or equal decimal numbers."""
        from decimal import Decimal, InvalidOperation

        lines, wanted = ([line.strip() for line in text.strip().split("\n")] for text in (found, expected))
        try:
            return len(lines) == len(wanted) and all(
                one == other or list(map(Decimal, one.split())) == list(map(Decimal, other.split()))
                for one, other in zip(lines, wanted)
            )
        except InvalidOperation:
            return False

    @staticmethod
    def shown(value):
        """Return a short text of a value."""
        import reprlib

        try:
            return reprlib.repr(value)
        except ValueError:
            return "a very large number"
