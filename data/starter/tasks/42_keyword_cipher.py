import hashlib
import itertools
import string


def task_func(text, keyword, decrypt=False):
    """
    Encrypt or decrypt a text with a running letter shift. The n-th letter of the text is moved forward (backward for
    decryption) in the alphabet by the position (a = 0) of the n-th letter of the keyword, which repeats; the alphabet
    wraps around. Only ASCII letters are moved, their case is kept, and other characters neither change nor use up
    letters of the keyword.

    Parameters:
    - text (str): The text.
    - keyword (str): The keyword; ASCII letters in any case.
    - decrypt (bool): Whether to decrypt. Default is False.

    Returns:
    - tuple: The resulting text and the first 8 hex digits of the SHA-256 digest of the decrypted text in UTF-8.

    Raises:
    - ValueError: If the keyword is empty or contains anything but ASCII letters.

    Requirements:
    - hashlib
    - itertools
    - string

    Example:
    >>> task_func("Attack at dawn!", "Lemon")[0]
    'Lxfopv ef rnhr!'
    """
    if not keyword or set(keyword) - set(string.ascii_letters):
        raise ValueError("the keyword must consist of letters")
    shifts = itertools.cycle(string.ascii_lowercase.index(letter) for letter in keyword.lower())
    result = []
    for character in text:
        for alphabet in (string.ascii_lowercase, string.ascii_uppercase):
            if character in alphabet:
                shift = next(shifts)
                character = alphabet[(alphabet.index(character) + (-shift if decrypt else shift)) % 26]
                break
        result.append(character)
    changed = "".join(result)
    plain = changed if decrypt else text
    return changed, hashlib.sha256(plain.encode()).hexdigest()[:8]


# --- tests ---
import hashlib
import unittest


class TestCases(unittest.TestCase):
    def test_encryption(self):
        self.assertEqual(task_func("Attack at dawn!", "Lemon")[0], "Lxfopv ef rnhr!")

    def test_decryption_is_the_inverse(self):
        text = "The quick brown Fox, 13 lazy dogs; über alles."
        secret, mark = task_func(text, "KeyWord")
        self.assertEqual(task_func(secret, "keyword", decrypt=True), (text, mark))

    def test_digest_is_of_the_plain_text(self):
        expected = hashlib.sha256(b"abc").hexdigest()[:8]
        self.assertEqual(task_func("abc", "b"), ("bcd", expected))
        self.assertEqual(task_func("bcd", "b", decrypt=True), ("abc", expected))

    def test_other_characters_use_no_key(self):
        self.assertEqual(task_func("a-a 1a", "abc")[0], "a-b 1c")

    def test_alphabet_wraps_around(self):
        self.assertEqual(task_func("xyzXYZ", "d")[0], "abcABC")

    def test_empty_text(self):
        self.assertEqual(task_func("", "key")[0], "")

    def test_bad_keywords(self):
        for keyword in ("", "two words", "k3y", "schlüssel"):
            with self.assertRaises(ValueError):
                task_func("text", keyword)
