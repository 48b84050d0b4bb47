import base64
import hashlib
import hmac
import secrets


def task_func(password, record=None, iterations=1000):
    """
    Hash a password for storage, or check a password against a stored record. A record is the text
    'pbkdf2-sha256$<iterations>$<salt>$<hash>': the hash is PBKDF2 with HMAC-SHA256 over the UTF-8 password and a salt
    of 16 random bytes, 32 bytes long; salt and hash are written in URL-safe base64 with padding.

    Parameters:
    - password (str): The password.
    - record (str, optional): A stored record. Default is None: a new one is made.
    - iterations (int): Number of iterations for a new record. Default is 1000.

    Returns:
    - str or bool: A new record where none is given; else whether the password fits the record, compared in constant
      time and with the record's own number of iterations.

    Raises:
    - ValueError: If the password is empty, or the record has another form.

    Requirements:
    - base64
    - hashlib
    - hmac
    - secrets

    Example:
    >>> task_func("open sesame", task_func("open sesame"))
    True
    """
    if not password:
        raise ValueError("the password is empty")

    def derive(salt, count):
        return hashlib.pbkdf2_hmac("sha256", password.encode(), salt, count, dklen=32)

    if record is None:
        salt = secrets.token_bytes(16)
        parts = [base64.urlsafe_b64encode(data).decode() for data in (salt, derive(salt, iterations))]
        return "$".join(["pbkdf2-sha256", str(iterations), *parts])
    scheme, *fields = record.split("$")
    if scheme != "pbkdf2-sha256" or len(fields) != 3 or not fields[0].isdigit():
        raise ValueError("this is not a password record")
    salt, expected = (base64.urlsafe_b64decode(field) for field in fields[1:])
    return hmac.compare_digest(derive(salt, int(fields[0])), expected)


# --- tests ---
import base64
import hashlib
import unittest


class TestCases(unittest.TestCase):
    def test_round_trip(self):
        record = task_func("open sesame")
        self.assertIs(task_func("open sesame", record), True)
        self.assertIs(task_func("open sesam", record), False)

    def test_form_of_a_record(self):
        scheme, iterations, salt, digest = task_func("secret", iterations=7).split("$")
        self.assertEqual((scheme, iterations), ("pbkdf2-sha256", "7"))
        self.assertEqual(len(base64.urlsafe_b64decode(salt)), 16)
        expected = hashlib.pbkdf2_hmac("sha256", b"secret", base64.urlsafe_b64decode(salt), 7)
        self.assertEqual(base64.urlsafe_b64decode(digest), expected)

    def test_salts_differ(self):
        self.assertNotEqual(task_func("same"), task_func("same"))

    def test_records_keep_their_iterations(self):
        self.assertTrue(task_func("pw", task_func("pw", iterations=3), iterations=999))

    def test_characters_outside_ascii(self):
        self.assertTrue(task_func("pässwörd", task_func("pässwörd")))

    def test_empty_password(self):
        with self.assertRaises(ValueError):
            task_func("")

    def test_foreign_records(self):
        for record in ("", "md5$1$a$b", "pbkdf2-sha256$x$YQ==$YQ==", "pbkdf2-sha256$1$YQ=="):
            with self.assertRaises(ValueError):
                task_func("pw", record)
