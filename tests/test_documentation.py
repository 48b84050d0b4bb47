"""The documentation names only files that there are."""

import re
from pathlib import Path

import pytest

from tests.conftest import ROOT

_PAGES = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md")]
_PAGES += sorted((ROOT / "docs").glob("*.md"))
_PACKAGE = ROOT / "src" / "bigcodeflow"
_FROM_ROOT = re.compile(r"(?<![\w./-])(?:src|flows|tasks|tests|benchmarks)/[\w./-]*\w")
_PACKAGES = "|".join(path.name for path in _PACKAGE.iterdir() if path.is_dir())
#: `results/runs` is a folder of results: below the package only modules, and folders that end in a slash.
_FROM_PACKAGE = re.compile(rf"(?<![\w./-])(?:{_PACKAGES})/(?:[\w/]*\w\.(?:py|sql)\b|[\w/]+/(?=`))")
_LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
#: Stand for any folder of tests.
_PLACEHOLDERS = {"tests/FOLDER", "tests/extensions/NAME"}


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: page.name)
def test_every_path_that_a_page_names_exists(page: Path) -> None:
    """Source files, tests and benchmarks, by their path in the repository or in the package, and linked pages."""
    text = page.read_text()
    absent = [name for name in _FROM_ROOT.findall(text) if name not in _PLACEHOLDERS and not (ROOT / name).exists()]
    absent += [
        name for name in _FROM_PACKAGE.findall(text) if not (_PACKAGE / name).exists() and not (ROOT / name).exists()
    ]
    absent += [name for name in _LINK.findall(text) if not (page.parent / name).exists()]
    assert not absent
