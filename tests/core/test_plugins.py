"""Plug-ins: which are this distribution's."""

import pytest

from bigcodeflow.core.plugins import is_own
from tests.conftest import ROOT


@pytest.mark.parametrize("path", sorted(path for path in (ROOT / "extensions").iterdir() if path.is_dir()))
def test_packages_of_extensions_are_ours(path) -> None:
    """A broken one is an error of ours; of equal names it counts."""
    assert is_own(f"{path.name}.module:NAME")


@pytest.mark.parametrize(
    "path", ["bigcodeflow_other:NAME", "bigcodeflow_other.module:NAME", "bigcodeflowers:NAME", "a:B"]
)
def test_packages_of_others_are_not(path: str) -> None:
    """Also those whose names begin as ours do."""
    assert not is_own(path)
    assert is_own("bigcodeflow.cli:app")
