"""A study that another distribution brings: the example of docs/studies.md."""

import re
from pathlib import Path

from tests.command import add_distribution, process_in
from tests.conftest import ROOT

PROGRAM, ENTRY_POINT = (
    re.search(rf"```{kind}\n(.*?)```", (ROOT / "docs/studies.md").read_text(), re.DOTALL)[1]
    for kind in ("python", "toml")
)


def test_a_study_of_another_distribution_has_a_command_and_a_view(tmp_path: Path) -> None:
    """Its settings are options, its table is shown, its rows are in the catalog; a broken distribution is named."""
    declared = ENTRY_POINT.splitlines()[-1].replace('"', "")
    broken = declared.replace("length", "broken").replace("my_studies", "absent")
    for name, line in {"my_studies": declared, "broken": broken}.items():
        add_distribution(tmp_path, name, f"[bigcodeflow.studies]\n{line}\n")
    (tmp_path / "my_studies.py").write_text(PROGRAM)

    def command(*words: str) -> str:
        done = process_in(tmp_path)(*words, PYTHONPATH=str(tmp_path))
        assert "plug-in broken (absent:Length) is left out" in done.stderr
        return done.stdout

    assert "How many lines the tests of tasks have." in command("--help")
    shown = command("length", "--help")
    assert "Measure the tests of tasks." in shown
    assert "Dataset to measure." in shown
    assert "Starter/0" in command("length", "--source", "starter", "--store", "store")
    assert "one row an artifact and task" in command("catalog", "length", "--store", "store")


def test_commands_and_exports_that_cannot_be_loaded_are_named(tmp_path: Path) -> None:
    """All others stay."""
    lost = "[bigcodeflow.commands]\nlost = absent:run\n[bigcodeflow.exporters]\nlost = absent:write\n"
    add_distribution(tmp_path, "broken", lost)

    def said(*words: str) -> str:
        done = process_in(tmp_path)(*words, check=False, PYTHONPATH=str(tmp_path))
        assert "Traceback" not in done.stderr
        return f"{done.returncode} {done.stdout} {done.stderr}"

    assert "audit" in said("--help")
    assert said("lost").startswith("1 ")
    assert "absent:run" in said("lost")
    shown = said("export", "--help")
    assert "plug-in lost (absent:write) is left out" in shown
    assert "every-eval-ever" in shown
