"""A provider that another distribution brings: the example of docs/generation.md."""

import json
import re
from pathlib import Path

from tests.command import process_in
from tests.conftest import ROOT
from tests.generation.providers.double import Completion, model_server

PROGRAM, ENTRY_POINT = (
    re.search(
        rf"## Providers of your own\n.*?```{kind}\n(.*?)```", (ROOT / "docs/generation.md").read_text(), re.DOTALL
    )[1]
    for kind in ("python", "toml")
)
_CHOSEN = ("--dataset", "starter", "--ids", "0-1", "--out", "out")


def test_a_provider_of_another_distribution_is_asked(tmp_path: Path) -> None:
    """Its models answer, its limits hold before anything is sent; a broken distribution is named and left out."""
    declared = ENTRY_POINT.splitlines()[-1].replace('"', "")
    for name, line in {"lab": declared, "broken": "broken = absent:LAB"}.items():
        metadata = tmp_path / f"{name}-1.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        (metadata / "entry_points.txt").write_text(f"[bigcodeflow.providers]\n{line}\n")
    (tmp_path / "lab.py").write_text(PROGRAM)
    command, path = process_in(tmp_path), {"PYTHONPATH": str(tmp_path)}
    with model_server(lambda _: Completion("```python\ndef task_func():\n    return 1\n```")) as server:
        own = ("generate", "--model", "lab:m", "--base-url", server.url("openai"), *_CHOSEN)
        done = command(*own, **path)
        refused = command(*own, "--set", "generation.sampling.top_k=3", check=False, **path)
        assert len(server.requests) == 2
    assert "plug-in broken (absent:LAB) is left out" in done.stderr
    [file] = (tmp_path / "out").glob("*.jsonl")
    assert len([json.loads(line) for line in file.read_text().splitlines()]) == 2
    assert "generation.sampling.top_k: the lab takes none" in refused.stderr
    unknown = command("generate", "--model", "labb:m", *_CHOSEN, check=False, **path)
    assert "did you mean lab?" in unknown.stderr
