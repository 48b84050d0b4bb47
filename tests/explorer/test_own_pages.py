"""A page that another distribution brings."""

from pathlib import Path

import pytest

from bigcodeflow.explorer import rendering
from bigcodeflow.explorer.pages import own_pages
from tests.command import add_distribution
from tests.explorer.conftest import exploring

PROGRAM = """
from pathlib import Path
from bigcodeflow.core.errors import ConfigError
from bigcodeflow.explorer.pages import OwnPage, Page

def counted(visit):
    if visit.text("word") == "bad":
        raise ConfigError("word: this one is not counted")
    return Page("mine.html", {"n_runs": len(visit.version.runs), "word": visit.text("word")})

PROBLEM = 5
PAGE = OwnPage("Counts", counted, Path(__file__).parent)
"""


@pytest.fixture
def my_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A distribution with a page, and a second whose module is absent."""
    declared = "counts = my_pages:PAGE\nlive = my_pages:PAGE\nlost = absent:PAGE\nodd = my_pages:PROBLEM\n"
    add_distribution(tmp_path, "mine", f"[bigcodeflow.pages]\n{declared}")
    (tmp_path / "my_pages.py").write_text(PROGRAM)
    (tmp_path / "mine.html").write_text(
        '{% extends "base.html" %}{% block content %}<h1>{{ n_runs }} runs {{ word }}</h1>{% endblock %}'
    )
    monkeypatch.syspath_prepend(tmp_path)
    kept = (own_pages, rendering._environment)
    for one in kept:
        one.cache_clear()
    yield
    for one in kept:
        one.cache_clear()


def test_a_page_of_another_distribution_is_served(recorded, my_pages: None, caplog) -> None:
    """It is in the navigation of all pages, texts are escaped, errors are shown; a broken page is left out."""
    with exploring(recorded) as explored:
        assert '<a href="/counts">Counts</a>' in explored.get("/studies")
        assert "<h1>0 runs &lt;b&gt;</h1>" in explored.get("/counts", word="<b>")
        assert "this one is not counted" in explored.get("/counts", 409, word="bad")
        assert "There is no such page" in explored.get("/lost", 404)
        live = explored.get("/live")
        assert "<h1>0 runs" not in live
        assert live.count("Counts") == 1
    assert "plug-in lost (absent:PAGE) is left out" in caplog.text
    assert "plug-in odd (my_pages:PROBLEM) is left out: it is a int, but must be a OwnPage" in caplog.text
    assert "plug-in live of bigcodeflow.pages is left out: the explorer uses this name itself" in caplog.text
