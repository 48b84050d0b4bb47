"""The blind check of causes that benchmarks/evolution.py prints."""

from pathlib import Path

import pytest
from evolution import checked

from bigcodeflow.core.errors import ArtifactError, ConfigError

ROWS = [
    {"task_id": "T/1", "label": "drifts", "cause": "API removed", "library": "pandas", "evidence": "gone"},
    {"task_id": "T/2", "label": "dead", "cause": "library gone", "library": "python", "evidence": "no cgi"},
]


def filled(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(["task_id,label,cause,library,reason", *lines]) + "\n")
    return path


def test_cells_that_were_filled_in_are_compared(tmp_path: Path) -> None:
    """The case of letters does not matter, an empty cell is no answer, and each disagreement is shown with its reason."""
    file = filled(tmp_path / "drawn.csv", "T/1,drifts,api removed,numpy,a guess", "T/2,dead,,python,")
    text = checked(file, ROWS)
    assert "| label | 2 | 2 | 100.0 % |" in text
    assert "| cause | 1 | 1 | 100.0 % |" in text
    assert "| library | 2 | 1 | 50.0 % |" in text
    assert "| T/1 | library | numpy | pandas | gone | a guess |" in text


@pytest.mark.parametrize(
    ("line", "error", "message"),
    [("T/1,,,,", ConfigError, "fill them in by hand first"), ("T/9,dead,,,", ArtifactError, "T/9 are none of")],
)
def test_a_file_that_cannot_be_compared_is_refused(tmp_path: Path, line: str, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        checked(filled(tmp_path / "drawn.csv", line), ROWS)
