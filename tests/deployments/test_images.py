"""The Dockerfiles build what the repository holds now, from pinned bases, and say what can be set."""

import fnmatch
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from bigcodeflow.judge.environments import definition_names, environment_folder, load_definition
from bigcodeflow_hosts.images import BASE_IMAGES
from tests.conftest import ROOT
from tests.deployments.files import DEPLOYMENTS, DOCKERFILES, GUIDE, arguments_of, instructions, program

SANDBOX = DEPLOYMENTS / "sandbox" / "Dockerfile"
SERVER = DEPLOYMENTS / "server" / "Dockerfile"
per_dockerfile = pytest.mark.parametrize("dockerfile", DOCKERFILES, ids=lambda path: path.parent.name)


def copied_from_context(dockerfile: Path) -> list[str]:
    """Paths that a Dockerfile takes from the repository."""
    copies = (shlex.split(item.text) for item in instructions(dockerfile) if item.name == "COPY")
    return [source for words in copies if not words[0].startswith("--from=") for source in words[:-1]]


@per_dockerfile
def test_bases_are_pinned_to_a_release_and_a_distribution(dockerfile: Path) -> None:
    """A base is Python of an exact version on Debian bookworm, or the services' image; an argument replaces it.

    By default an image holds environments of configs/environments.
    """
    arguments = arguments_of(dockerfile)
    assert set((arguments.get("ENVIRONMENTS") or arguments["ENVIRONMENT"]).split()) <= set(definition_names())
    bases = [re.split(r"\s+", item.text)[0] for item in instructions(dockerfile) if item.name == "FROM"]
    assert bases
    for base in bases:
        assert base.startswith("${"), f"{base} cannot be replaced"
        assert re.fullmatch(r"python:3\.\d+\.\d+-slim-bookworm|bigcodeflow:\d+\.\d+\.\d+", arguments[base[2:-1]])


@per_dockerfile
def test_a_build_gets_what_it_names_and_ends_without_privilege(dockerfile: Path) -> None:
    """Arguments have a comment and a row in the guide; copied paths exist and are sent; the last USER is not root."""
    ignored = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and line[0] != "#"]
    for item in instructions(dockerfile):
        if item.name == "ARG":
            assert item.comment, f"{item.text} has no comment"
            assert f"`{item.text.partition('=')[0]}`" in GUIDE
    for source in copied_from_context(dockerfile):
        assert (ROOT / source).exists(), source
        top = source.split("/")[0]
        assert not [pattern for pattern in ignored if fnmatch.fnmatch(top, pattern)], source
    users = [item.text for item in instructions(dockerfile) if item.name == "USER"]
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", users[-1])


@pytest.mark.parametrize("dockerfile", [SANDBOX, SERVER], ids=["sandbox", "server"])
def test_images_get_all_that_the_wheel_is_made_of(dockerfile: Path) -> None:
    """A file that packaging starts to need is missed here, not in the middle of a build."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = [*wheel["packages"], *wheel["force-include"], project["project"]["readme"]]
    copied = copied_from_context(dockerfile)
    for path in needed + project["project"]["license-files"]:
        assert any(Path(path).is_relative_to(source) for source in copied), f"{path} is not copied"


def test_the_sandbox_image_can_be_read_by_e2b() -> None:
    """E2B makes templates of one stage, knows no SHELL, and expands no argument in COPY."""
    names = [item.name for item in instructions(SANDBOX)]
    assert names.count("FROM") == 1
    assert set(names) <= {"ARG", "FROM", "COPY", "RUN", "ENV", "USER", "WORKDIR", "CMD"}
    assert not [source for source in copied_from_context(SANDBOX) if "$" in source]


@per_dockerfile
def test_dockerfiles_are_lint_clean(dockerfile: Path) -> None:
    """hadolint has nothing to say."""
    done = subprocess.run([program("hadolint"), dockerfile], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_container_filter_leaves_what_sandboxes_are_made_with() -> None:
    """Namespaces, mounts and filters stay possible; what the kernel keeps for its administrator does not."""
    profile = json.loads((DEPLOYMENTS / "server" / "seccomp.json").read_text())
    refused = {name for rule in profile["syscalls"] for name in rule["names"]}
    assert profile["defaultAction"] == "SCMP_ACT_ALLOW"
    assert {rule["action"] for rule in profile["syscalls"]} == {"SCMP_ACT_ERRNO"}
    assert not refused & {"clone", "clone3", "unshare", "setns", "mount", "umount2", "pivot_root", "seccomp", "prctl"}
    assert refused >= {"bpf", "init_module", "io_uring_setup", "kexec_load", "keyctl", "perf_event_open", "userfaultfd"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("missing", "code", "message"),
    [
        ((), 0, ""),
        (
            ("corpora/words.zip", "taggers/one"),
            1,
            "lack corpora/words.zip, taggers/one: put each file below deployments/sandbox/data",
        ),
    ],
)
def test_a_sandbox_image_that_would_lack_data_is_not_built(
    tmp_path: Path, missing: tuple[str, ...], code: int, message: str
) -> None:
    """The program at the end of the build names each data file that the environment lacks, and says what to do."""
    root = tmp_path / environment_folder(load_definition("starter")).name
    (root / "venv" / "bin").mkdir(parents=True)
    (root / "venv" / "bin" / "python").symlink_to(sys.executable)
    manifest = {"name": "starter", "base_prefix": sys.base_prefix, "variables": {}, "environment_sha": "sha"}
    (root / "environment.json").write_text(json.dumps(manifest | {"missing_data": missing}))
    command = [sys.executable, DEPLOYMENTS / "sandbox" / "require_data.py", "starter"]
    environment = os.environ | {"BIGCODEFLOW_ENVIRONMENTS": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, bool(done.stderr)) == (code, bool(message))
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_the_sandbox_image_installs_what_its_programs_import() -> None:
    """Of the lock what the host and `env build` import, and no more; one more import than that is missed here."""
    run = next(item.text for item in instructions(SANDBOX) if "--constraint" in item.text)
    installed = set(run.partition("requirements.lock         ")[2].split()) | {"uv", "bigcodeflow"}
    assert {"pydantic", "typer"} <= installed
    program = (
        "import sys, bigcodeflow.judge.remote.host, bigcodeflow.cli.main, bigcodeflow.cli.env\n"
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    of_module = packages_distributions()
    imported = {name for module in done.stdout.split() for name in of_module.get(module, ())}
    lacking = {canonicalize_name(name) for name in imported} - _closure(installed) - _OF_TESTS
    assert not lacking, f"{lacking}: name what is imported directly in {SANDBOX.name}, or import it lazily"
    needless = installed - {"uv"} - {canonicalize_name(name) for name in imported}
    assert not needless, f"{needless}: nothing that runs in the image imports it"


#: What the tests' own environment puts beside them: hooks of start files, and what a library takes where it is there.
_OF_TESTS = {"coverage", "setuptools", "numpy", "cloudpickle", "cython"}


def _closure(names: set[str]) -> set[str]:
    """The distributions and all that they need here, extras apart."""
    found, todo = set[str](), list(names)
    while todo:
        if (name := todo.pop()) not in found:
            found.add(name)
            needed = map(Requirement, [] if name == "bigcodeflow" else requires(name) or [])
            here = (one for one in needed if one.marker is None or one.marker.evaluate({"extra": ""}))
            todo += [canonicalize_name(one.name) for one in here]
    return found


def test_known_bases_are_those_of_the_dockerfiles() -> None:
    """For the Python of every environment there is one, and both Dockerfiles start from the same."""
    server = arguments_of(SERVER)
    assert arguments_of(SANDBOX)["BASE_IMAGE"] == server["SANDBOX_PYTHON_IMAGE"] == BASE_IMAGES["3.10"]
    assert server["BASE_IMAGE"] == BASE_IMAGES[""]
    assert {load_definition(name).python for name in definition_names()} <= BASE_IMAGES.keys()


def test_programs_that_tasks_call_are_installed() -> None:
    """By the one script that machines and images run; what is not in it would be missing in images only."""
    listed = re.search(r"^for pair in (.*); do$", (DEPLOYMENTS / "system-packages.sh").read_text(), re.MULTILINE)
    assert listed
    installed = {pair.partition(":")[2] for pair in listed[1].split()}
    for name in definition_names():
        assert set(load_definition(name).system_packages) <= installed, name


def test_extras_that_are_named_exist() -> None:
    """Dockerfiles, the Makefile, messages and guides name no extra that pyproject.toml lacks."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    files = [*DOCKERFILES, ROOT / "Makefile", *(ROOT / "docs").glob("*.md"), *(ROOT / "src").rglob("*.py")]
    texts = {path: path.read_text() for path in files}
    named = {
        (path.name, extra)
        for path, text in texts.items()
        for found in re.findall(r"--extra ([a-z0-9-]+)|bigcodeflow\[([a-z0-9,-]+)\]", text)
        for extra in "".join(found).split(",")
    }
    assert len(named) > len(declared)
    assert not {(name, extra) for name, extra in named if extra not in declared}
