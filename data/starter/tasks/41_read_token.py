# hard
import base64
import hashlib
import hmac
import json


def task_func(token, key, now):
    """
    Read a signed token of three parts, header.payload.signature, each in URL-safe base64 without padding. Header and
    payload are JSON objects. The signature is HMAC-SHA256 over the text 'header.payload' as it stands in the token.

    Parameters:
    - token (str): The token.
    - key (bytes): Key of the signature.
    - now (int): The present time in Unix seconds.

    Returns:
    - dict: The payload.

    Raises:
    - ValueError: With one of these messages, checked in this order: 'malformed' (not three parts, or not base64, or
      header or payload not JSON objects), 'algorithm' (the header's 'alg' is not 'HS256'), 'signature' (it does not
      fit), 'expired' ('exp' of the payload is not greater than now), 'early' ('nbf' of the payload is greater than
      now). A payload needs neither 'exp' nor 'nbf'.

    Requirements:
    - base64
    - hashlib
    - hmac
    - json

    Example:
    >>> task_func("a.b", b"key", 0)
    Traceback (most recent call last):
        ...
    ValueError: malformed
    """

    def decode(part):
        return base64.b64decode(part + "=" * (-len(part) % 4), altchars=b"-_", validate=True)

    try:
        head, body, tail = token.split(".")
        header, payload, signature = json.loads(decode(head)), json.loads(decode(body)), decode(tail)
    except ValueError:
        raise ValueError("malformed") from None
    if not isinstance(header, dict) or not isinstance(payload, dict):
        raise ValueError("malformed")
    if header.get("alg") != "HS256":
        raise ValueError("algorithm")
    expected = hmac.new(key, f"{head}.{body}".encode(), hashlib.sha256).digest()
    if not hmac.compare_digest(signature, expected):
        raise ValueError("signature")
    if payload.get("exp", now + 1) <= now:
        raise ValueError("expired")
    if payload.get("nbf", now) > now:
        raise ValueError("early")
    return payload


# --- tests ---
import base64
import hmac
import json
import unittest


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def signed(payload, key=b"key", **header):
    text = ".".join(encode(json.dumps(part).encode()) for part in ({"alg": "HS256", **header}, payload))
    return f"{text}.{encode(hmac.digest(key, text.encode(), 'sha256'))}"


class TestCases(unittest.TestCase):
    def refused(self, token, now=100):
        with self.assertRaises(ValueError) as caught:
            task_func(token, b"key", now)
        return str(caught.exception)

    def test_good_token(self):
        self.assertEqual(task_func(signed({"sub": "ann", "exp": 101, "nbf": 100}), b"key", 100)["sub"], "ann")

    def test_times_are_optional(self):
        self.assertEqual(task_func(signed({}), b"key", 5), {})

    def test_wrong_key_or_changed_payload(self):
        self.assertEqual(self.refused(signed({"a": 1}, key=b"other")), "signature")
        head, _, tail = signed({"a": 1}).split(".")
        self.assertEqual(self.refused(f"{head}.{encode(json.dumps({'a': 2}).encode())}.{tail}"), "signature")

    def test_times(self):
        self.assertEqual(self.refused(signed({"exp": 100})), "expired")
        self.assertEqual(self.refused(signed({"nbf": 101})), "early")
        self.assertEqual(self.refused(signed({"exp": 1, "nbf": 101})), "expired")

    def test_algorithm_is_checked_before_the_signature(self):
        self.assertEqual(self.refused(signed({}, alg="none")), "algorithm")
        self.assertEqual(self.refused(signed({}, key=b"other", alg="HS512")), "algorithm")

    def test_malformed(self):
        good = signed({})
        for token in ("", "a.b", good + ".x", "!" + good, "." + good.split(".", 1)[1], signed([1])):
            self.assertEqual(self.refused(token), "malformed")
