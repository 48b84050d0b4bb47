import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigcodeflow.report.samples import TEXT_LIMITS, PackedSamples
from bigcodeflow.report.writer import SCRIPTS, asset, charting_library, render_page

HOSTILE = "</script><!--<script>\u2028&quot;<img src=x onerror=alert(1)>{{packs}}"
NOTHING = PackedSamples("", [], TEXT_LIMITS[0])


class Elements(HTMLParser):
    """Elements with their attributes and text, in order."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.found = []
        self.inside = False
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found.append([tag, dict(attrs), ""])
        self.inside = True

    def handle_data(self, data):
        if self.inside:
            self.found[-1][2] += data

    def handle_endtag(self, tag):
        self.inside = False

    def of(self, tag):
        return [(attributes, text) for name, attributes, text in self.found if name == tag]


@pytest.fixture(scope="module")
def page():
    return render_page(
        {"title": HOSTILE, "runs": []}, PackedSamples("QUJD", ["REVG"], TEXT_LIMITS[0]), charting_library()
    )


@pytest.mark.slow
@given(st.dictionaries(st.text(), st.text() | st.just(HOSTILE)))
def test_the_summary_holds_any_text_and_ends_no_element(content):
    """Whatever models and tests are called, the page has the same elements, and the reader gets the same text."""
    elements = Elements(render_page({**content, "title": HOSTILE}, NOTHING, "1").decode())
    scripts = elements.of("script")
    assert len(scripts) == 4
    assert json.loads(scripts[0][1]) == {**content, "title": HOSTILE}
    assert HOSTILE in elements.of("title")[0][1]


def test_the_policy_allows_the_two_scripts_of_the_page_and_no_request(page):
    """Exactly the scripts that stand in the file may run, by their hashes; nothing may be fetched."""
    elements = Elements(page.decode())
    [policy] = [attributes["content"] for attributes, _ in elements.of("meta") if "http-equiv" in attributes]
    running = [text for attributes, text in elements.of("script") if "type" not in attributes]
    hashes = {base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in running}
    assert set(re.findall(r"script-src ([^;]*);", policy)[0].split()) == {f"'sha256-{value}'" for value in hashes}
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert "http" not in policy


def test_nothing_in_the_page_points_outside(page):
    """No element loads or links to another address."""
    for _, attributes, _ in Elements(page.decode()).found:
        for name in ("src", "href", "action", "srcset", "style"):
            assert attributes.get(name, "#").startswith(("#", "data:,"))


def test_our_scripts_write_no_markup():
    """What models wrote reaches the document as text only: no sink for markup or code is used."""
    source = "\n".join(map(asset, SCRIPTS))
    sinks = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|srcdoc|javascript:"
    assert re.findall(sinks, source) == []
