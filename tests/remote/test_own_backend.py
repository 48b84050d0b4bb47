"""The backend that docs/backends.md adds, plug-ins that cannot be loaded, and extras that are not installed."""

import json
import re
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from bigcodeflow.judge.environments import InstalledEnvironment
from tests.command import add_distribution, process_in
from tests.conftest import ROOT

PAGE = (ROOT / "docs/backends.md").read_text()
PROGRAM, ENTRY_POINT = (re.search(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)[1] for kind in ("python", "toml"))
ANSWER = {"task_id": "Starter/0", "solution": "def task_func():\n    return 1\n"}


_CHOSEN = ("--dataset", "starter", "--ids", "0", "--samples", "answers.jsonl", "--store", "store")


@pytest.mark.sandbox
def test_a_backend_of_another_distribution_executes(starter_environment: InstalledEnvironment, tmp_path: Path) -> None:
    """Its verdicts bear its name; each place that takes a backend's name takes it and lists it, and refuses others."""
    declared = ENTRY_POINT.splitlines()[-1].replace('"', "")
    for name, line in {"exclusive": declared, "broken": "broken = absent:SPEC"}.items():
        add_distribution(tmp_path, name, f"[bigcodeflow.backends]\n{line}\n")
    (tmp_path / "exclusive.py").write_text(PROGRAM)
    (tmp_path / "answers.jsonl").write_text(json.dumps(ANSWER))
    evaluate = partial(process_in(tmp_path), "evaluate", *_CHOSEN, PYTHONPATH=str(tmp_path))
    evaluate("--backend", "exclusive")
    tables = map(pq.read_table, (tmp_path / "store" / "execution").rglob("*.parquet"))
    assert {row["backend"] for table in tables for row in table.to_pylist()} == {"exclusive"}
    names = "'local', 'broken', 'docker', 'e2b', 'exclusive', 'gradio' or 'http'"
    assert names in evaluate("--set", "execution.backend=nonsense", check=False).stderr
    broken = evaluate("--backend", "broken", check=False).stderr
    assert "execution.backend broken is a plug-in, absent:SPEC, that cannot be loaded: No module named" in broken
    assert "Traceback" not in broken


@pytest.mark.parametrize(
    ("module", "words", "extra"),
    [
        ("docker", ("evaluate", "--backend", "docker", "--dataset", "starter"), "docker"),
        ("e2b", ("evaluate", "--backend", "e2b", "--dataset", "starter"), "e2b"),
        ("gradio_client", ("import", "--from-space", "o/n", "--split", "complete"), "gradio-client"),
    ],
)
def test_a_missing_package_names_its_extra(tmp_path: Path, module: str, words: tuple[str, ...], extra: str) -> None:
    """In one line, before anything is executed or sent."""
    (tmp_path / f"{module}.py").write_text(f"raise ModuleNotFoundError('absent', name='{module}')\n")
    (tmp_path / "answers.jsonl").write_text(json.dumps(ANSWER))
    path = {"PYTHONPATH": str(tmp_path)}
    done = process_in(tmp_path)(*words, "--samples", "answers.jsonl", check=False, **path)
    message = f"needs a package that is not installed ({module}): pip install 'bigcodeflow[{extra}]'"
    assert message in done.stderr
    assert "Traceback" not in done.stderr
