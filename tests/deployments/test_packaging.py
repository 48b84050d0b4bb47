"""The wheel is the product: built, installed elsewhere, and run from there."""

import ast
import os
import re
import site
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import packages_distributions
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from uv import find_uv_bin

from tests.conftest import ROOT

pytestmark = pytest.mark.sandbox
SANDBOX = ROOT / "src" / "bigcodeflow" / "judge" / "guest"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel, and this environment's dependencies on its path."""
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    packages = next(folder.glob("lib/python*/site-packages"))
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    # A plain path line: the editable checkout's own .pth beside the dependencies is not read.
    (packages / "dependencies.pth").write_text(site.getsitepackages()[0] + "\n")
    return folder / "bin" / "python"


def _imported(path: Path) -> set[str]:
    """Absolute names of the modules that a file imports, wherever it does."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return names | {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}


def test_every_file_names_the_version_of_the_package() -> None:
    """The changelog, the citation, and tags of images in deployments and docs."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    paths = [ROOT / "CITATION.cff", *(ROOT / "deployments").rglob("*"), *(ROOT / "docs").glob("*.md")]
    text = "\n".join(path.read_text() for path in paths if path.is_file())
    named = re.findall(r"(?m)(?:^version: |bigcodeflow[a-z-]*:|BIGCODEFLOW_TAG(?:=|:-))(\d+\.\d+\.\d+)", text)
    assert {*named, re.findall(r"(?m)^## (\d\S*)", (ROOT / "CHANGELOG.md").read_text())[0]} == {version}


@pytest.mark.slow
def test_every_import_is_a_declared_dependency() -> None:
    """Whoever installs the package, with its extras, has what it imports, whatever its dependencies drop."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = [*project["dependencies"], *chain.from_iterable(project["optional-dependencies"].values())]
    declared = {canonicalize_name(Requirement(line).name) for line in lines}
    apart = (SANDBOX, ROOT / "extensions" / "bigcodeflow_engines" / "workers")  # other interpreters execute these
    files = [path for folder in ("src", "extensions", "flows", "tasks") for path in (ROOT / folder).rglob("*.py")]
    modules = {name.partition(".")[0] for path in files if path.parent not in apart for name in _imported(path)}
    extensions = {path.name for path in (ROOT / "extensions").iterdir()}
    foreign = modules - sys.stdlib_module_names - extensions - {"", "bigcodeflow", "flows", "tasks"}
    distributions = packages_distributions()
    # A trainer's library has an environment of its own; its module has its name.
    names = {module: {canonicalize_name(name) for name in distributions.get(module, [module])} for module in foreign}
    assert {module: found for module, found in names.items() if not found & declared} == {}


@pytest.mark.parametrize("path", sorted(SANDBOX.glob("*.py")), ids=lambda path: path.stem)
def test_the_sandbox_needs_the_standard_library_and_itself(path: Path) -> None:
    """Its files run in any environment's interpreter, where neither the rest of ours nor what we depend on is."""
    allowed = {*sys.stdlib_module_names, *(other.stem for other in SANDBOX.glob("*.py"))}
    foreign = {name for name in _imported(path) if name.partition(".")[0] not in allowed}
    assert {name for name in foreign if not f"{name}.".startswith("bigcodeflow.judge.guest.")} == set()


def test_the_wheel_holds_packages_presets_and_the_starter_set(wheel: Path) -> None:
    """What is imported and what is shipped is in; tests and benchmarks are not."""
    names = zipfile.ZipFile(wheel).namelist()
    for name in (
        "flows/benchmark.py",
        "tasks/stages.py",
        "bigcodeflow/judge/guest/harness.py",
        "bigcodeflow/configs/starter.yaml",
        "bigcodeflow/configs/sweeps/starter.yaml",
        "bigcodeflow/configs/environments/bigcodebench.lock",
        "bigcodeflow/data/starter/tasks.jsonl",
        "bigcodeflow/data/bigcodebench/hard_task_ids.json",
        "bigcodeflow/data/bigcodebench/solve_rates.jsonl",
        "bigcodeflow/prefect.yaml",
    ):
        assert name in names
    assert not [name for name in names if name.startswith(("tests/", "benchmarks/", "docs/"))]


@pytest.mark.slow
def test_the_wheel_runs_without_the_checkout(installed: Path, tmp_path: Path, starter_environment: object) -> None:
    """Modules and shipped files come from the wheel; Dask's worker processes find them too."""
    program = (
        "import bigcodeflow, flows; print(bigcodeflow.__file__, flows.__file__)\n"
        "from bigcodeflow.cli.main import main; main()"
    )
    arguments = ["evaluate", "--samples", "oracle", "--dataset", "starter", "--ids", "0", "--workers", "1"]
    variables = os.environ | {"NO_COLOR": "1"}
    variables.pop("PYTHONPATH", None)
    done = subprocess.run(
        [installed, "-c", program, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False, env=variables
    )
    assert done.returncode == 0, done.stderr
    assert str(ROOT) not in done.stdout
    assert "100.0 %" in done.stdout


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.timeout(1800)
def test_uv_installs_the_wheel_as_a_tool_that_runs_the_starter_set(wheel: Path, tmp_path: Path) -> None:
    """In an empty HOME, far from the checkout: the command answers, builds its environment and scores the answers."""
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    ours = ("PYTHON", "VIRTUAL_ENV", "XDG_", "BIGCODEFLOW_", "PREFECT_", "UV_", "PYTEST_")
    cache = os.environ.get("UV_CACHE_DIR") or str(Path("~/.cache/uv").expanduser())  # packages, and nothing of ours
    variables = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    variables |= {"HOME": str(home), "UV_CACHE_DIR": cache, "NO_COLOR": "1", "COLUMNS": "120"}

    def call(*command: str | Path) -> str:
        done = subprocess.run(
            command, cwd=work, env=variables, capture_output=True, text=True, timeout=1500, check=False
        )
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done.stdout

    call(find_uv_bin(), "tool", "install", "--quiet", "--python", sys.executable, wheel)
    command = home / ".local" / "bin" / "bigcodeflow"
    assert "Run BigCodeBench as a resumable pipeline" in call(command, "--help")
    tool = home / ".local" / "share" / "uv" / "tools" / "bigcodeflow" / "bin" / "python"
    place = call(tool, "-c", "import bigcodeflow, flows; print(bigcodeflow.__file__, flows.__file__)")
    assert str(ROOT) not in place
    call(command, "env", "build", "starter")
    assert "pass@1" in call(command, "run", "starter")
    [results] = (work / "results" / "runs").iterdir()
    assert {"run.json", "metrics.parquet", "verdicts.parquet"} <= {path.name for path in results.iterdir()}
    assert (work / "results" / "store" / "results.duckdb").is_file()
    call(command, "report", "latest")
    assert call(command, "leaderboard", "show", "--top", "1")
    [log] = call(command, "export", "inspect", "latest").splitlines()
    assert (work / log).is_file()
