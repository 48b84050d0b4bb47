"""Building templates with E2B's own SDK, against the double."""

import io
import tarfile
from pathlib import Path

import pytest
from e2b.template.types import BuildInfo

from bigcodeflow.core.errors import EnvironmentUnusableError
from bigcodeflow.judge.environments import RemoteEnvironment, images, load_definition
from bigcodeflow.judge.environments.images import (
    DOCKERFILE,
    TemplateRecord,
    build_context,
    build_template,
    dockerfile_of,
    read_record,
    template_name,
    write_record,
)
from tests.doubles.e2b import E2BDouble


@pytest.fixture
def double(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    with E2BDouble() as double:
        for name, value in double.variables.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        yield double


@pytest.fixture
def context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small tree with a Dockerfile of the same kind, in the place of the checkout."""
    monkeypatch.setattr(images, "build_context", lambda: tmp_path / "tree")
    folder = tmp_path / "tree" / "deployments" / "sandbox"
    folder.mkdir(parents=True)
    (tmp_path / "tree" / "src").mkdir()
    (tmp_path / "tree" / "src" / "one.py").write_text("1\n")
    steps = ["ARG BASE_IMAGE=python:3.10", "FROM ${BASE_IMAGE}", "ARG ENVIRONMENT=other", "COPY src /src", "RUN true"]
    (folder / "Dockerfile").write_text("\n".join([*steps, "USER 1000:1000", 'CMD ["python"]', ""]))
    return tmp_path / "tree"


def _names(archive: bytes) -> list[str]:
    with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
        return opened.getnames()


def _build(environment: str = "starter", **options: object) -> BuildInfo:
    return build_template(load_definition(environment), on_line=lambda _: None, **options)


@pytest.mark.parametrize(
    ("environment", "image"),
    [
        ("starter", "python:3.11.14-slim-bookworm"),
        pytest.param("bigcodebench", "python:3.10.19-slim-bookworm", marks=pytest.mark.slow),
    ],
)
def test_the_image_s_dockerfile_becomes_a_template(
    environment: str, image: str, double: E2BDouble, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every step of the Dockerfile reaches E2B: the right Python, the files, and a build of this environment."""
    said: list[str] = []
    built = build_template(load_definition(environment), on_line=said.append, cores=4, memory_mib=4096)
    template = double.templates[template_name(environment)]
    build = template.builds[-1]
    assert (built.template_id, built.build_id) == (template.template_id, build.build_id)
    assert (build.image, build.status, template.cores, template.memory_mib) == (image, "ready", 4, 4096)
    runs = [" ".join(step["args"]) for step in build.steps if step["type"] == "RUN"]
    assert any("bigcodeflow env build" in run for run in runs)
    assert {"ENVIRONMENT", environment} <= {
        word for step in build.steps if step["type"] == "ENV" for word in step["args"]
    }
    assert not any("--mount" in run or "useradd" in run for run in runs)
    assert any(line.startswith("RUN PYTHON=python3.11") for line in said)
    assert capsys.readouterr().out == ""  # the SDK's parser prints what it does not know
    members = {name for content in template.files.values() for name in _names(content)}
    assert {f"configs/environments/{environment}.lock", "src/bigcodeflow/judge/remote/host.py"} <= members
    assert not any(".git/" in name or ".venv" in name for name in members)


def test_nothing_runs_while_a_template_is_built() -> None:
    """A last command would be started and frozen into every sandbox; the host is started by its client instead."""
    text = dockerfile_of((build_context() / DOCKERFILE).read_text(), load_definition("starter"))
    words = [line.split()[0] for line in text.splitlines() if line.strip()]
    assert not {*words} & {"CMD", "ENTRYPOINT", "USER"}
    assert words.count("FROM") == 1
    assert "${BASE_IMAGE}" not in text


def test_files_that_are_there_are_not_sent_again(double: E2BDouble, context: Path) -> None:
    """A second build sends only what changed, and is another build."""
    first, again = _build(), _build()
    assert double.calls("/uploads/") == 1
    assert again.template_id == first.template_id
    assert again.build_id != first.build_id
    (context / "src" / "one.py").write_text("2\n")
    _build()
    assert double.calls("/uploads/") == 2


def test_data_files_that_are_here_are_sent(double: E2BDouble, context: Path, tmp_path: Path) -> None:
    """A folder of data files reaches E2B with the build, and leaves nothing in the checkout."""
    (tmp_path / "data" / "corpora").mkdir(parents=True)
    (tmp_path / "data" / "corpora" / "words.zip").write_bytes(b"words")
    recipe = context / "deployments" / "sandbox" / "Dockerfile"
    recipe.write_text(recipe.read_text().replace("COPY src /src", "COPY deployments/sandbox /sandbox"))
    _build("bigcodebench", data_folder=tmp_path / "data")
    template = double.templates[template_name("bigcodebench")]
    members = {name for content in template.files.values() for name in _names(content)}
    assert "deployments/sandbox/data/corpora/words.zip" in members
    assert [path.name for path in recipe.parent.iterdir()] == ["Dockerfile"]


def test_a_build_that_fails_says_why(double: E2BDouble, context: Path) -> None:
    """The step's own words are in the message, and nothing is the new default."""
    double.build_fails_with = "pip: no matching distribution"
    with pytest.raises(EnvironmentUnusableError, match=r"could not be built.*no matching distribution"):
        _build()
    assert double.find_build(template_name("starter")) is None


def test_a_wrong_key_is_named_in_one_line(double: E2BDouble, context: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also a missing one."""
    for key in ("e2b_other", ""):
        monkeypatch.setenv("E2B_API_KEY", key)
        with pytest.raises(EnvironmentUnusableError, match="E2B_API_KEY"):
            _build()


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
