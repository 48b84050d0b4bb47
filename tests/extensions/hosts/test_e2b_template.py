"""What is given to E2B's own SDK to build a template, up to its calls of the cloud."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from e2b import AuthenticationException, BuildException, Template

from bigcodeflow.core.errors import EnvironmentUnusableError
from bigcodeflow.judge.environments import RemoteEnvironment, load_definition
from bigcodeflow_hosts import images
from bigcodeflow_hosts.e2b import TemplateRecord, read_record, write_record
from bigcodeflow_hosts.images import (
    DOCKERFILE,
    build_context,
    build_template,
    dockerfile_of,
    template_name,
)


@dataclass
class Builds:
    """Builds that the cloud was asked for, and why it refuses them."""

    asked: list[dict[str, Any]] = field(default_factory=list)
    error: Exception | None = None


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> Builds:
    """Takes the place of the cloud: what would be sent to it is kept."""
    made = Builds()

    def build(template: Any, name: str, *, on_build_logs: Any, **options: Any) -> SimpleNamespace:
        made.asked.append(json.loads(Template.to_json(template)) | options | {"name": name})
        for level in ("debug", "info"):
            on_build_logs(SimpleNamespace(level=level, message=f" {level}: RUN\n"))
        if made.error:
            raise made.error
        return SimpleNamespace(template_id="t", build_id="b")

    monkeypatch.setattr(Template, "build", build)
    return made


@pytest.mark.parametrize(
    ("environment", "image"),
    [("starter", "python:3.11.14-slim-bookworm"), ("bigcodebench", "python:3.10.19-slim-bookworm")],
)
def test_the_image_s_dockerfile_becomes_a_template(
    environment: str, image: str, builds: Builds, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every step of the Dockerfile reaches E2B: the right Python, the files, and a build of this environment."""
    said: list[str] = []
    built = build_template(load_definition(environment), on_line=said.append, cores=4, memory_mib=4096)
    [asked] = builds.asked
    assert (built.template_id, said) == ("t", ["info: RUN"])
    assert (asked["name"], asked["fromImage"]) == (template_name(environment), image)
    assert (asked["cpu_count"], asked["memory_mb"], asked["skip_cache"]) == (4, 4096, False)
    words = {kind: [step["args"] for step in asked["steps"] if step["type"] == kind] for kind in ("RUN", "ENV", "COPY")}
    runs = [" ".join(arguments) for arguments in words["RUN"]]
    assert any("bigcodeflow env build" in run for run in runs)
    assert ["ENVIRONMENT", environment] in words["ENV"]
    assert not any("--mount" in run or "useradd" in run for run in runs)
    assert any(arguments[0].startswith("src") for arguments in words["COPY"])
    assert capsys.readouterr().out == ""  # the SDK's parser prints what it does not know


def test_nothing_runs_while_a_template_is_built() -> None:
    """A last command would be started and frozen into every sandbox; the host is started by its client instead."""
    text = dockerfile_of((build_context() / DOCKERFILE).read_text(), load_definition("starter"))
    words = [line.split()[0] for line in text.splitlines() if line.strip()]
    assert not {*words} & {"CMD", "ENTRYPOINT", "USER"}
    assert words.count("FROM") == 1
    assert "${BASE_IMAGE}" not in text


def test_data_files_that_are_here_are_sent(builds: Builds, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of data files is part of the build, and leaves nothing in the checkout."""
    recipe = tmp_path / "tree" / DOCKERFILE
    recipe.parent.mkdir(parents=True)
    recipe.write_text("FROM ${BASE_IMAGE}\nCOPY deployments/sandbox /sandbox\n")
    (tmp_path / "data" / "corpora").mkdir(parents=True)
    (tmp_path / "data" / "corpora" / "words.zip").write_bytes(b"words")
    monkeypatch.setattr(images, "build_context", lambda: tmp_path / "tree")
    hashes = []
    for folder in (None, tmp_path / "data"):
        build_template(load_definition("bigcodebench"), on_line=lambda _: None, data_folder=folder)
        hashes += [step["filesHash"] for step in builds.asked[-1]["steps"] if step["type"] == "COPY"]
    assert len(set(hashes)) == 2
    assert [path.name for path in recipe.parent.iterdir()] == ["Dockerfile"]


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (BuildException("pip: no matching distribution"), r"could not be built.*no matching distribution"),
        (AuthenticationException("Invalid API key"), "E2B_API_KEY"),
    ],
)
def test_a_build_that_fails_says_why(builds: Builds, error: Exception, message: str) -> None:
    """In one line, with the step's own words or the variable of the key."""
    builds.error = error
    with pytest.raises(EnvironmentUnusableError, match=message):
        build_template(load_definition("starter"), on_line=lambda _: None)


def test_a_record_comes_back_as_it_was_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One file a build; what cannot be read is as if it were not there."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    environment = RemoteEnvironment("starter", "sha", ("corpora/words.txt",), "lock")
    record = TemplateRecord("b-1", environment, cores=2, memory_mib=8192)
    write_record(record)
    assert read_record("b-1") == record
    assert read_record("b-2") is None
    (tmp_path / "bigcodeflow" / "e2b" / "b-1.json").write_text("{}")
    assert read_record("b-1") is None
