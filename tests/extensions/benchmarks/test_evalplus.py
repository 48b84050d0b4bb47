"""HumanEval+ and MBPP+ from files of their releases and from the hub: references, scores of both parts, comparison."""

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bigcodeflow.config import DatasetConfig, load_config
from bigcodeflow.datasets import load_tasks, resolve
from bigcodeflow.generation.model_settings import sampling_of
from bigcodeflow_benchmarks.evalplus import _arguments
from tests.command import Command
from tests.conftest import REFERENCE_DATA
from tests.doubles.hub import HubDouble

pytestmark = [pytest.mark.sandbox, pytest.mark.real_data]
#: Plain results, tolerance, a helper in the prompt, an oracle of its own, results too large for a literal; sets, complex
#: numbers, infinity, tuples in a dict, a match that counts as True.
NUMBERS = {"HumanEval": (0, 2, 32, 38, 100), "Mbpp": (2, 252, 404, 722, 737)}
FILES = {"HumanEval": ("evalplus/humanevalplus", "HumanEvalPlus"), "Mbpp": ("evalplus/mbppplus", "MbppPlus")}


def _rows(family: str) -> list[dict[str, Any]]:
    path = REFERENCE_DATA / "evalplus" / f"{FILES[family][1]}.jsonl.gz"
    if not path.exists():
        pytest.skip(f"{path} is absent")
    chosen = {f"{family}/{number}" for number in NUMBERS[family]}
    with gzip.open(path, "rt") as file:
        return [row for row in map(json.loads, file) if row["task_id"] in chosen]


def _write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


@pytest.mark.parametrize("family", NUMBERS)
def test_references_pass_and_are_checked(command: Command, tmp_path: Path, family: str) -> None:
    """Every pass is checked with altered texts; an empty function passes nothing."""
    source = f"{FILES[family][0]}={_write(tmp_path / 'rows.jsonl', _rows(family))}"
    for control in ("oracle", "stub"):
        command("evaluate", "--dataset", source, "--samples", control, "--out", control)
        rows = pq.read_table(tmp_path / control / "verdicts.parquet").to_pylist()
        assert {(row["variant"], row["status"] == "pass") for row in rows} == {("raw", control == "oracle")}
        assert {row["integrity"] for row in rows} == {"checked" if control == "oracle" else None}
    texts = pq.read_table(next((tmp_path / "results/store/dataset").glob("*/*.parquet")))["test"].to_pylist()
    assert any("self.references(" in text for text in texts) == (family == "HumanEval")


def test_both_parts_have_a_score(command: Command, tmp_path: Path) -> None:
    """An answer that fails further inputs only counts for the base score; near and equal results pass."""
    rows = [row for row in _rows("HumanEval") if row["task_id"] in ("HumanEval/0", "HumanEval/2")]
    base = rows[0]["base_input"]
    known = f"def has_close_elements(n, t):\n    if [n, t] in {base}:\n        n = sorted(n)\n"
    known += "        return any(b - a < t for a, b in zip(n, n[1:]))\n    return None"
    programs = [known, "def truncate_number(number):\n    return number % 1.0 + 1e-9"]
    lines = [{"task_id": row["task_id"], "solution": text} for row, text in zip(rows, programs, strict=True)]
    _write(tmp_path / "answers.jsonl", lines)
    source = f"evalplus/humanevalplus={_write(tmp_path / 'rows.jsonl', rows)}"
    done = command("evaluate", "--dataset", source, "--samples", "answers.jsonl", "--out", "out")
    metrics = pq.read_table(tmp_path / "out/metrics.parquet").to_pylist()
    scores = {row["metric"]: row["value"] for row in metrics if row["slice_kind"] == "all" and row["k"] == 1}
    assert (scores["pass@k"], scores["pass@k:base"]) == (0.5, 1.0)
    assert "pass@1:base" in done.stdout
    assert "pass@1:base" in (tmp_path / "out/report.html").read_text()


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A hub that holds rows as evalplus publishes them there."""
    with HubDouble() as double:
        monkeypatch.setenv("HF_ENDPOINT", double.url)
        monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
        monkeypatch.setenv("HF_HUB_DISABLE_XET", "1")
        yield double


def _published(family: str, row: dict[str, Any]) -> dict[str, Any]:
    """Make the hub's row of a release's: all inputs are in a test text, and MBPP's names differ."""
    number = int(row["task_id"].partition("/")[2])
    given = [*row["base_input"], *row["plus_input"]]
    given = [_arguments(number, one) for one in given] if family == "Mbpp" else given
    loop = f"for i, (inp, exp) in enumerate(zip(inputs, results)):\n    assertion({row['entry_point']}(*inp), exp, "
    test = f"import numpy as np\ninputs = {given!r}\nresults = []\n{loop}{row['atol']})\n"
    if family == "HumanEval":
        return {**{key: row[key] for key in ("task_id", "prompt", "entry_point", "canonical_solution")}, "test": test}
    question, first = row["prompt"].strip().strip('"').strip().rsplit("\n", 1)
    asserts = [first, *[""] * (len(row["base_input"]) - 1)]
    code = row["canonical_solution"]
    return {"task_id": str(number), "prompt": question, "code": code, "test_list": asserts, "test": test}


@pytest.mark.parametrize("family", NUMBERS)
def test_rows_of_the_hub_become_the_same_tests(command: Command, tmp_path: Path, hub: HubDouble, family: str) -> None:
    """A run that names no file takes the newest commit; tasks and tests are those of the release's file."""
    name, rows, buffer = FILES[family][0], _rows(family), io.BytesIO()
    pq.write_table(pa.Table.from_pylist([_published(family, row) for row in rows]), buffer)
    hub.commit(name, {"data/test-00000-of-00001-5973903632b82d40.parquet": buffer.getvalue()})
    found = []
    for source in (name, f"{name}={_write(tmp_path / 'rows.jsonl', rows)}"):
        config = DatasetConfig(source=source)
        tasks = load_tasks(config, resolve(config)).to_pylist()
        # A set of texts has another order in each process, and a literal keeps no negative zero.
        found.append([task for task in tasks if task["task_id"] not in ("Mbpp/2", "Mbpp/252")])
    assert found[0] == found[1]
    assert len(found[0]) == {"HumanEval": 5, "Mbpp": 3}[family]


def test_a_dataset_brings_its_settings() -> None:
    """They replace a preset's for another dataset, but nothing that was chosen; unknown files are refused."""
    source = "evalplus/mbppplus=x.jsonl"
    config = load_config(
        "starter", ("execution.environment=other",), {"dataset.source": source, "samples.source": "stub"}
    )
    assert config.execution.limits.time_seconds == 60
    assert config.execution.variants == ("raw",)
    assert config.execution.environment == "other"
    ends = sampling_of(config.generation.sampling, "direct", config.generation.prompt.stop).stop
    assert {'\n"""', "\nassert", "\nprint("} < {*ends}
    assert "\ndef " not in ends
