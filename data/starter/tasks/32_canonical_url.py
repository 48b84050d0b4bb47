import posixpath
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

DEFAULT_PORTS = {"http": 80, "https": 443}
TRACKING = ("utm_", "fbclid", "gclid")


def task_func(url):
    """
    Bring a web address into a canonical form, so that equal pages get equal addresses. Scheme and host are
    lower-cased; a default port, user data and the fragment are dropped; an empty path becomes '/', and '.', '..' and
    repeated slashes are resolved while a slash at the end is kept; query parameters whose name starts with an entry
    of TRACKING are dropped, the others sorted by name and value and encoded again (blank values are kept).

    Parameters:
    - url (str): An absolute http or https address.

    Returns:
    - str: The canonical address.

    Raises:
    - ValueError: If the scheme is neither http nor https, the host is missing, or the port is not a valid number.

    Requirements:
    - posixpath
    - urllib

    Example:
    >>> task_func("HTTP://Example.org:80/a/../b//c/?z=1&a=x%20y&utm_source=mail#top")
    'http://example.org/b/c/?a=x+y&z=1'
    """
    parts = urlsplit(url)
    if parts.scheme not in DEFAULT_PORTS or not parts.hostname:
        raise ValueError(f"{url!r} is not an absolute web address")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    if parts.port not in (None, DEFAULT_PORTS[parts.scheme]):
        host = f"{host}:{parts.port}"
    path = posixpath.normpath("/" + parts.path.lstrip("/"))
    if parts.path.endswith("/") and path != "/":
        path += "/"
    query = [pair for pair in parse_qsl(parts.query, keep_blank_values=True) if not pair[0].startswith(TRACKING)]
    return urlunsplit((parts.scheme, host, path, urlencode(sorted(query)), ""))


# --- tests ---
import unittest


class TestCases(unittest.TestCase):
    def test_everything_at_once(self):
        self.assertEqual(
            task_func("HTTP://Example.org:80/a/../b//c/?z=1&a=x%20y&utm_source=mail#top"),
            "http://example.org/b/c/?a=x+y&z=1",
        )

    def test_empty_path(self):
        self.assertEqual(task_func("https://example.org"), "https://example.org/")

    def test_ports(self):
        self.assertEqual(task_func("https://example.org:443/x"), "https://example.org/x")
        self.assertEqual(task_func("https://example.org:80/x"), "https://example.org:80/x")

    def test_user_data_is_dropped(self):
        self.assertEqual(task_func("http://me:secret@host/"), "http://host/")

    def test_blank_and_repeated_parameters(self):
        self.assertEqual(task_func("http://h/?b=2&b=1&a="), "http://h/?a=&b=1&b=2")

    def test_numeric_host(self):
        self.assertEqual(task_func("http://[2001:DB8::1]:8080/"), "http://[2001:db8::1]:8080/")

    def test_path_cannot_leave_the_root(self):
        self.assertEqual(task_func("http://h/../../a/."), "http://h/a")

    def test_bad_addresses(self):
        for url in ("ftp://h/", "/only/path", "http:///x", "http://h:port/"):
            with self.assertRaises(ValueError):
                task_func(url)
