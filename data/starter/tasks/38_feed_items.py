import xml.etree.ElementTree as ElementTree
from datetime import timezone
from email.utils import parsedate_to_datetime


def task_func(feed_xml, limit=10):
    """
    List the newest items of an RSS 2.0 feed. Publication dates are read in the e-mail format that RSS uses and
    converted to UTC; a date with no zone counts as UTC. Items without a readable date come last, in the order of the
    feed; items of the same moment keep the order of the feed, too.

    Parameters:
    - feed_xml (str): The feed.
    - limit (int): Greatest number of items. Default is 10.

    Returns:
    - list of tuple: (title, link, published) tuples, newest first. Title and link are stripped texts, '' where
      missing; published is written like '2024-05-01T10:00:00+00:00', or None.

    Raises:
    - ValueError: If the text is not XML, or its root element is not 'rss'.

    Requirements:
    - xml
    - datetime
    - email

    Example:
    >>> task_func("<rss><channel><item><title>News</title></item></channel></rss>")
    [('News', '', None)]
    """
    try:
        root = ElementTree.fromstring(feed_xml)
    except ElementTree.ParseError as error:
        raise ValueError(f"not XML: {error}") from None
    if root.tag != "rss":
        raise ValueError(f"the root element is {root.tag!r}, not 'rss'")
    dated, undated = [], []
    for item in root.findall("./channel/item"):
        title, link = item.findtext("title", "").strip(), item.findtext("link", "").strip()
        try:
            moment = parsedate_to_datetime(item.findtext("pubDate", ""))
        except (TypeError, ValueError):
            undated.append((title, link, None))
            continue
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=timezone.utc)
        dated.append((moment.astimezone(timezone.utc), title, link))
    dated.sort(key=lambda entry: entry[0], reverse=True)
    items = [(title, link, moment.isoformat()) for moment, title, link in dated]
    return (items + undated)[:limit]


# --- tests ---
import unittest


def feed(*items):
    body = "".join(
        f"<item><title>{title}</title><link> http://h/{title} </link><pubDate>{published}</pubDate></item>"
        for title, published in items
    )
    return f"<rss version='2.0'><channel><title>Feed</title>{body}</channel></rss>"


class TestCases(unittest.TestCase):
    def test_newest_first(self):
        result = task_func(feed(("old", "Wed, 01 May 2024 10:00:00 GMT"), ("new", "Thu, 02 May 2024 10:00:00 GMT")))
        self.assertEqual(
            result,
            [
                ("new", "http://h/new", "2024-05-02T10:00:00+00:00"),
                ("old", "http://h/old", "2024-05-01T10:00:00+00:00"),
            ],
        )

    def test_zones_are_converted(self):
        result = task_func(feed(("a", "Wed, 01 May 2024 10:00:00 +0200"), ("b", "Wed, 01 May 2024 09:00:00 -0000")))
        self.assertEqual([item[0] for item in result], ["b", "a"])
        self.assertEqual([item[2] for item in result], ["2024-05-01T09:00:00+00:00", "2024-05-01T08:00:00+00:00"])

    def test_undated_items_come_last(self):
        result = task_func(feed(("x", "yesterday"), ("y", "Wed, 01 May 2024 10:00:00 GMT"), ("z", "")))
        self.assertEqual([(item[0], item[2] is None) for item in result], [("y", False), ("x", True), ("z", True)])

    def test_same_moment_keeps_the_order(self):
        moment = "Wed, 01 May 2024 10:00:00 GMT"
        self.assertEqual([item[0] for item in task_func(feed(("q", moment), ("p", moment)))], ["q", "p"])

    def test_limit(self):
        self.assertEqual(len(task_func(feed(*[(str(n), "") for n in range(15)]))), 10)
        self.assertEqual(len(task_func(feed(("a", ""), ("b", "")), limit=1)), 1)

    def test_missing_elements(self):
        self.assertEqual(
            task_func("<rss><channel><item><title>News</title></item></channel></rss>"), [("News", "", None)]
        )

    def test_other_texts(self):
        for text in ("<rss><channel>", "<feed></feed>"):
            with self.assertRaises(ValueError):
                task_func(text)
