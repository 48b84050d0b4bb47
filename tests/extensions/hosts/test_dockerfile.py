"""What the builds of images and templates share: the base image, and data files lent to the checkout."""

import os
from pathlib import Path

import pytest

from bigcodeflow.core.errors import EnvironmentUnusableError
from bigcodeflow.judge.environments import load_definition
from bigcodeflow_hosts.images import base_image_of, copied_data
from tests.command import process_in

WORDS, STOPWORDS = "corpora/words.zip", "corpora/stopwords.zip"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Holds one data file of bigcodebench, and one that nobody asked for."""
    (tmp_path / "nltk_data" / "corpora").mkdir(parents=True)
    (tmp_path / "nltk_data" / WORDS).write_bytes(b"lent")
    (tmp_path / "nltk_data" / "corpora" / "brown.zip").write_bytes(b"not asked for")
    return tmp_path / "nltk_data"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "deployments" / "sandbox" / "data"


def _files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def test_data_files_are_lent_for_the_time_of_a_build(tmp_path: Path, folder: Path, place: Path) -> None:
    """Only those that the environment asks for; a build that fails leaves nothing behind either."""
    place.parent.mkdir(parents=True)
    definition = load_definition("bigcodebench")
    with copied_data(tmp_path, definition, folder):
        assert _files(place) == {WORDS: b"lent"}
    assert not place.exists()
    with pytest.raises(RuntimeError), copied_data(tmp_path, definition, folder):
        raise RuntimeError
    assert not place.exists()
    assert place.parent.is_dir()


def test_data_files_that_lie_there_stay(tmp_path: Path, folder: Path, place: Path) -> None:
    """A file that somebody has put into the checkout is neither replaced nor removed."""
    (place / "corpora").mkdir(parents=True)
    (place / STOPWORDS).write_bytes(b"theirs")
    (folder / STOPWORDS).write_bytes(b"lent")
    with copied_data(tmp_path, load_definition("bigcodebench"), folder):
        assert _files(place) == {STOPWORDS: b"theirs", WORDS: b"lent"}
    assert _files(place) == {STOPWORDS: b"theirs"}
    with copied_data(tmp_path, load_definition("bigcodebench"), None):
        assert _files(place) == {STOPWORDS: b"theirs"}


def test_a_python_that_no_base_has_is_refused() -> None:
    """Templates too would otherwise be built on another Python than the environment's."""
    definition = load_definition("bigcodebench").model_copy(update={"python": "3.8"})
    with pytest.raises(EnvironmentUnusableError, match=r"bigcodebench needs Python 3\.8, .* --base-image"):
        base_image_of(definition)


@pytest.fixture
def without_packages(tmp_path: Path) -> dict[str, str]:
    """Variables of a command that has neither Docker's nor E2B's package, and a client of Docker that fails."""
    for module in ("docker", "e2b"):
        (tmp_path / f"{module}.py").write_text(f"raise ModuleNotFoundError('absent', name='{module}')\n")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "docker").write_text('#!/bin/sh\necho "asked: $*"\nexit 3\n')
    (tmp_path / "bin" / "docker").chmod(0o755)
    return {"PYTHONPATH": str(tmp_path), "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}


def test_the_command_builds_an_image_with_docker_s_own_client(tmp_path: Path, without_packages: dict[str, str]) -> None:
    """It needs no package for that; each option reaches the client."""
    (tmp_path / "pip.conf").touch()
    options = (
        "--engine-url",
        "tcp://nobody:1",
        "--base-image",
        "mine",
        "--network",
        "host",
        "--secret",
        "pip=pip.conf",
    )
    build = process_in(tmp_path)
    done = build("env", "build", "starter", "--backend", "docker", *options, check=False, **without_packages)
    assert "the image could not be built (docker build): asked: --host tcp://nobody:1 build" in done.stderr
    for option in ("BASE_IMAGE=mine", "ENVIRONMENT=starter", "--network=host", "--secret=id=pip,src=pip.conf"):
        assert option in done.stderr
    assert "Traceback" not in done.stderr


def test_the_command_names_the_package_of_templates(tmp_path: Path, without_packages: dict[str, str]) -> None:
    """In one line."""
    done = process_in(tmp_path)("env", "build", "starter", "--backend", "e2b", check=False, **without_packages)
    assert "a template needs a package that is not installed (e2b): pip install 'bigcodeflow[e2b]'" in done.stderr
    assert "Traceback" not in done.stderr
