"""The parts of CI: which run, what is recorded, and that the table leaves out no slow test and no package."""

import json
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.conftest import ROOT

TABLE = tomllib.loads((ROOT / ".ci" / "parts.toml").read_text())
SUITES = {name: part for name, part in TABLE["part"].items() if "paths" in part}
#: Two suites, of which one fails where the file `broken` lies, and a part that always runs.
SMALL_TABLE = """
[every_suite]
paths = ["lock"]
[part.lint]
run = "echo linted"
[part.judge]
run = "echo judged; test ! -e broken"
paths = ["judge"]
[part.pages]
run = "echo shown"
paths = ["pages/a.py"]
"""


class Checkout:
    """A git checkout with CI of its own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name in ("lock", "judge/a.py", "pages/a.py", "pages/b.py", ".ci/parts.toml", ".gitignore"):
            self.write(name, {".ci/parts.toml": SMALL_TABLE, ".gitignore": "results\n"}.get(name, name))
        shutil.copy(ROOT / ".ci" / "parts.py", root / ".ci")
        subprocess.run(["git", "init", "-q"], cwd=root, check=True)
        self.commit()

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def commit(self) -> None:
        identity = ["-c", "user.name=a", "-c", "user.email=a@localhost"]
        subprocess.run(["git", "add", "-A"], cwd=self.root, check=True)
        subprocess.run(["git", *identity, "commit", "-q", "--allow-empty", "-m", "x"], cwd=self.root, check=True)

    def call(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, ".ci/parts.py", *arguments]
        return subprocess.run(command, cwd=self.root, capture_output=True, text=True, check=False)

    def ran(self, *arguments: str) -> set[str]:
        """Names of the parts that a call ran."""
        shown = self.call(*arguments).stdout
        return {name for name in ("lint", "judge", "pages") if f"== {name}: passed" in shown}


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_a_suite_runs_until_it_is_recorded_and_again_when_its_files_change(checkout: Checkout) -> None:
    """Contents count: of every suite's files, and of files that are not committed."""
    assert checkout.ran() == checkout.ran("--all") == {"lint", "judge", "pages"}
    assert "unchanged" in checkout.call("--list").stdout
    assert len(checkout.ran()) == 2
    checkout.write("pages/b.py", "new")
    assert "judge         unchanged" in checkout.call("--list").stdout
    checkout.write("judge/new.py", "new")
    assert "judge         changed" in checkout.call("--list").stdout
    assert "pages         unchanged" in checkout.call("--list").stdout
    checkout.write("lock", "new")
    assert "pages         changed" in checkout.call("--list").stdout


def test_unchanged_suites_run_in_turn(checkout: Checkout) -> None:
    """One of them with every commit, so that none is trusted for ever."""
    checkout.call("--all")
    seen = set()
    for _ in range(2):
        checkout.commit()
        ran = checkout.ran()
        assert len(ran) == 2
        seen |= ran
    assert seen == {"lint", "judge", "pages"}


def test_a_failure_is_shown_and_not_recorded(checkout: Checkout) -> None:
    """The others run all the same and are recorded."""
    checkout.write("broken", "")
    ended = checkout.call("--all")
    assert ended.returncode == 1
    assert "== judge: failed" in ended.stdout
    assert "judged" in ended.stdout
    assert [*json.loads((checkout.root / ".ci/passed.json").read_text())] == ["pages"]


def test_only_a_whole_run_records(checkout: Checkout) -> None:
    """What passed by itself, or because it was due, is no proof of the whole."""
    checkout.call()
    checkout.call("judge")
    assert not (checkout.root / ".ci/passed.json").exists()


def test_a_part_that_does_not_exist_is_named(checkout: Checkout) -> None:
    ended = checkout.call("nonsense")
    assert ended.returncode == 1
    assert ended.stderr == "no such part: nonsense; there are lint, judge, pages\n"


def test_every_slow_test_is_in_one_suite() -> None:
    """A slow test that no suite names would never run."""
    covered = [place for suite in SUITES.values() for place in suite.get("slow_tests", ())]
    assert len(covered) == len(set(covered))
    files = (path for path in (ROOT / "tests").rglob("test_*.py") if "mark.slow" in path.read_text())
    for name in (path.relative_to(ROOT).as_posix() for path in files):
        owners = [place for place in covered if name == place or name.startswith(f"{place}/")]
        assert len(owners) == 1 or name == "tests/test_ci_parts.py", f"{name}: {owners}"


def test_every_path_exists_and_every_package_belongs_to_a_suite() -> None:
    """A path with a typing error would hold nothing, a package without a suite would never be checked slowly."""
    paths = {path for suite in [TABLE["every_suite"], *SUITES.values()] for path in suite["paths"]}
    assert [path for path in paths if not (ROOT / path).exists()] == []
    packages = {f"src/bigcodeflow/{path.name}" for path in (ROOT / "src/bigcodeflow").iterdir() if path.is_dir()}
    whole = {"cli", "prefect_service"}  # what depends on these depends on the whole package
    assert packages - paths <= {f"src/bigcodeflow/{name}" for name in ("__pycache__", *whole)}


@pytest.mark.parametrize("suite", SUITES)
def test_a_suite_depends_on_its_own_tests(suite: str) -> None:
    """A changed test runs."""
    assert {*SUITES[suite].get("slow_tests", ())} <= {*SUITES[suite]["paths"]}
