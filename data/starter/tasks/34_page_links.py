from collections import defaultdict
from urllib.parse import urldefrag, urljoin, urlsplit

from bs4 import BeautifulSoup


def task_func(html, base_url):
    """
    Collect the links of an HTML page by host. Links are the href attributes of <a> elements, resolved against the
    first <base href> of the page (itself resolved against base_url) or else against base_url, without their fragment.
    Links that are not http or https and links marked rel="nofollow" are left out; each address counts once.

    Parameters:
    - html (str): The page.
    - base_url (str): Address of the page.

    Returns:
    - dict: Lower-case host names (with port where one is stated), sorted, mapped to the list of addresses on that
      host in the order of their first appearance.

    Requirements:
    - collections
    - urllib
    - bs4

    Example:
    >>> task_func('<a href="/a#x">A</a> <a href="http://b.org/">B</a>', "http://a.org/dir/")
    {'a.org': ['http://a.org/a'], 'b.org': ['http://b.org/']}
    """
    page = BeautifulSoup(html, "html.parser")
    base = page.find("base", href=True)
    if base is not None:
        base_url = urljoin(base_url, base["href"])
    hosts = defaultdict(list)
    for anchor in page.find_all("a", href=True):
        address = urldefrag(urljoin(base_url, anchor["href"].strip())).url
        parts = urlsplit(address)
        wanted = parts.scheme in ("http", "https") and "nofollow" not in anchor.get("rel", [])
        if wanted and address not in hosts[parts.netloc.lower()]:
            hosts[parts.netloc.lower()].append(address)
    return {host: hosts[host] for host in sorted(hosts)}


# --- tests ---
import unittest


class TestCases(unittest.TestCase):
    def test_relative_and_absolute(self):
        self.assertEqual(
            task_func('<a href="/a#x">A</a> <a href="http://b.org/">B</a>', "http://a.org/dir/"),
            {"a.org": ["http://a.org/a"], "b.org": ["http://b.org/"]},
        )

    def test_each_address_once_in_order(self):
        html = '<a href="two">2</a><a href="one">1</a><a href="two#part">2</a>'
        self.assertEqual(task_func(html, "https://h/x/"), {"h": ["https://h/x/two", "https://h/x/one"]})

    def test_base_element(self):
        html = '<head><base href="/top/"></head><a href="page">p</a>'
        self.assertEqual(task_func(html, "http://h/deep/er/"), {"h": ["http://h/top/page"]})

    def test_other_schemes_and_nofollow(self):
        html = '<a href="mailto:a@b.c">m</a><a href="javascript:x()">j</a><a rel="me nofollow" href="/n">n</a><a>no</a>'
        self.assertEqual(task_func(html, "http://h/"), {})

    def test_hosts_are_sorted_and_lower_case(self):
        html = '<a href="http://Z.org:8080/">z</a><a href="http://m.org/">m</a>'
        self.assertEqual(list(task_func(html, "http://h/")), ["m.org", "z.org:8080"])

    def test_empty_page(self):
        self.assertEqual(task_func("", "http://h/"), {})
