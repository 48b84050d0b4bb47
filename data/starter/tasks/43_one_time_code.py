# hard
import base64
import hmac
import struct
import time


def task_func(secret, code=None, now=None, digits=6, period=30, drift=1):
    """
    Make or check a time-based one-time code. The counter is the number of whole periods since the Unix epoch; its
    code is made from the HMAC-SHA1 of the counter as 8 big-endian bytes: the low 4 bits of the last byte give an
    offset, the 4 bytes from there, without their highest bit, a big-endian number, and its last `digits` decimal
    digits (with leading zeros) are the code.

    Parameters:
    - secret (str): The key in base32; case, blanks and missing padding do not matter.
    - code (str, optional): A code to check. Default is None: the code is made.
    - now (float, optional): Unix time in seconds. Default is the present, from time.time().
    - digits (int): Length of a code. Default is 6.
    - period (int): Seconds that a code lives. Default is 30.
    - drift (int): Number of periods before and after the present one whose codes are accepted. Default is 1.

    Returns:
    - str or int or None: The present code where none is given; else the number of periods (negative: past) by which
      the code's clock is off, the smallest in absolute value and the past one of two equal ones, or None where it
      does not fit.

    Raises:
    - ValueError: If the secret is not base32 or is empty.

    Requirements:
    - base64
    - hmac
    - struct
    - time

    Example:
    >>> task_func("GEZD GNBV GY3T QOJQ GEZD GNBV GY3T QOJQ", now=59, digits=8)
    '94287082'
    """
    text = secret.replace(" ", "").upper()
    key = base64.b32decode(text + "=" * (-len(text) % 8))
    if not key:
        raise ValueError("the secret is empty")

    def make(counter):
        digest = hmac.new(key, struct.pack(">Q", counter), "sha1").digest()
        offset = digest[-1] & 15
        (number,) = struct.unpack(">I", digest[offset : offset + 4])
        return str((number & 0x7FFFFFFF) % 10**digits).zfill(digits)

    present = int((time.time() if now is None else now) // period)
    if code is None:
        return make(present)
    for shift in sorted(range(-drift, drift + 1), key=abs):
        if present + shift >= 0 and hmac.compare_digest(make(present + shift), code):
            return shift
    return None


# --- tests ---
import unittest
from unittest.mock import patch

SECRET = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"


class TestCases(unittest.TestCase):
    def test_known_codes(self):
        for now, code in ((59, "94287082"), (1111111109, "07081804"), (20000000000, "65353130")):
            self.assertEqual(task_func(SECRET, now=now, digits=8), code)

    def test_code_lives_one_period(self):
        self.assertEqual(task_func(SECRET, now=30), task_func(SECRET, now=59.9))
        self.assertNotEqual(task_func(SECRET, now=59.9), task_func(SECRET, now=60))
        self.assertEqual(task_func(SECRET, now=100, period=60), task_func(SECRET, now=50, period=30))

    def test_drift_is_found(self):
        past, future = task_func(SECRET, now=970), task_func(SECRET, now=1030)
        self.assertEqual(task_func(SECRET, past, now=1000), -1)
        self.assertEqual(task_func(SECRET, future, now=1000), 1)
        self.assertEqual(task_func(SECRET, task_func(SECRET, now=1000), now=1000), 0)
        self.assertIsNone(task_func(SECRET, past, now=1000, drift=0))

    def test_start_of_the_epoch(self):
        self.assertEqual(task_func(SECRET, task_func(SECRET, now=0), now=0, drift=3), 0)
        self.assertIsNone(task_func(SECRET, "no code", now=0, drift=3))

    def test_present_is_the_default(self):
        with patch("time.time", return_value=59.5):
            self.assertEqual(task_func(SECRET, digits=8), "94287082")

    def test_form_of_the_secret_does_not_matter(self):
        self.assertEqual(task_func("mzxw 6", now=9), task_func("MZXW6===", now=9))

    def test_bad_secrets(self):
        for secret in ("", "not base32!", "0189"):
            with self.assertRaises(ValueError):
                task_func(secret, now=0)
