import hashlib
import hmac
from urllib.parse import quote


def task_func(method, path, parameters, body, key):
    """
    Sign a web request with a shared key. The signed text has four lines joined by newlines: the upper-case method,
    the path with every character outside letters, digits and '_.-~/' percent-encoded, the parameters as 'name=value'
    pairs sorted by encoded name and value, joined by '&' and percent-encoded with the same safe characters except
    '/', and the SHA-256 hex digest of the body. The signature is its HMAC-SHA256 in hex.

    Parameters:
    - method (str): The HTTP method.
    - path (str): The path, which starts with '/', not encoded yet.
    - parameters (dict): Parameter names mapped to a text or a list of texts.
    - body (bytes): Body of the request.
    - key (bytes): The shared key.

    Returns:
    - dict: 'text' (the signed text) and 'signature'.

    Raises:
    - ValueError: If the path does not start with '/' or the key is empty.

    Requirements:
    - hashlib
    - hmac
    - urllib

    Example:
    >>> task_func("get", "/a b", {"q": "x/y"}, b"", b"key")["text"].splitlines()[:3]
    ['GET', '/a%20b', 'q=x%2Fy']
    """
    if not path.startswith("/") or not key:
        raise ValueError("the path must start with '/' and the key must not be empty")
    pairs = []
    for name, values in parameters.items():
        for value in [values] if isinstance(values, str) else values:
            pairs.append((quote(name, safe=""), quote(value, safe="")))
    query = "&".join(f"{name}={value}" for name, value in sorted(pairs))
    text = "\n".join([method.upper(), quote(path, safe="/"), query, hashlib.sha256(body).hexdigest()])
    return {"text": text, "signature": hmac.new(key, text.encode(), hashlib.sha256).hexdigest()}


# --- tests ---
import hashlib
import hmac
import unittest


class TestCases(unittest.TestCase):
    def test_lines(self):
        lines = task_func("get", "/a b", {"q": "x/y"}, b"", b"key")["text"].split("\n")
        self.assertEqual(lines, ["GET", "/a%20b", "q=x%2Fy", hashlib.sha256(b"").hexdigest()])

    def test_signature_belongs_to_the_text(self):
        result = task_func("POST", "/", {}, b"data", b"secret")
        expected = hmac.new(b"secret", result["text"].encode(), "sha256").hexdigest()
        self.assertEqual(result["signature"], expected)

    def test_parameters_are_sorted(self):
        result = task_func("GET", "/", {"b": "2", "a": ["z", "y"]}, b"", b"k")
        self.assertEqual(result["text"].split("\n")[2], "a=y&a=z&b=2")

    def test_every_part_changes_the_signature(self):
        base = ("GET", "/x", {"a": "1"}, b"", b"k")
        variants = [("PUT",), ("GET", "/y"), ("GET", "/x", {"a": "2"}), ("GET", "/x", {"a": "1"}, b"!")]
        signatures = {task_func(*(variant + base[len(variant) :]))["signature"] for variant in [*variants, base]}
        self.assertEqual(len(signatures), 5)

    def test_characters_outside_ascii(self):
        lines = task_func("GET", "/ü", {"ß": "~"}, b"", b"k")["text"].split("\n")
        self.assertEqual(lines[1:3], ["/%C3%BC", "%C3%9F=~"])

    def test_no_parameters(self):
        self.assertEqual(task_func("GET", "/", {}, b"", b"k")["text"].split("\n")[2], "")

    def test_bad_input(self):
        with self.assertRaises(ValueError):
            task_func("GET", "x", {}, b"", b"k")
        with self.assertRaises(ValueError):
            task_func("GET", "/", {}, b"", b"")
