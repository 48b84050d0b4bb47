"""Fixtures that several folders of tests share: real environments, real data, and a command line to call."""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling

from bigcodeflow.core.errors import EnvironmentUnusableError
from bigcodeflow.core.listening import reach_loopback_directly
from bigcodeflow.judge.environments import InstalledEnvironment, find_environment
from tests.command import Command, command_in, process_in
from tests.examples import examples

ROOT = Path(__file__).parents[1]
REFERENCE_DATA = ROOT.parent / "shared" / "data"
CHROMIUM_FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

# Servers of the tests are asked directly, also on a machine that has a proxy.
reach_loopback_directly(os.environ)
# Checks draw the same examples each time, and fail for what was changed; `--hypothesis-profile search` draws new ones.
fixed = {"derandomize": True, "deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("check", max_examples=examples(100), **fixed)
settings.register_profile("search", settings.get_profile("check"), derandomize=False)
settings.load_profile("check")

_SLOW_MODULE = re.compile(r"^pytestmark = (\[[^\]]*)?pytest\.mark\.slow", re.MULTILINE)
#: Folders in the order in which workers of pytest-xdist take them. The first compares what its own process has open
#: before and after; then come long tests, then all others.
_FIRST = (
    "attacks/containment",
    "flows",
    ".",
    "attacks",
    "store",
    "cli",
    "scaleout",
    "pipeline",
    "serving",
    "execution",
    "remote",
    "extensions",
    "conformance",
)
#: Beginnings of files that share what takes long to make: a Prefect server, local verdicts, a container engine.
_TOGETHER = {
    "tests/flows/": "flows",
    "tests/conformance/test_docker": "engine",
    "tests/extensions/hosts/test_docker": "engine",
    "tests/deployments/test_engine": "engine",
    "tests/conformance/": "conformance",
}


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out modules that hold slow tests alone where none runs: importing them takes seconds in each worker."""
    if config.option.markexpr != "not slow" or not collection_path.name.startswith("test_"):
        return None
    return bool(_SLOW_MODULE.search(collection_path.read_text(encoding="utf-8"))) or None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Order what several workers run."""
    if hasattr(config, "workerinput"):
        items.sort(key=_turn)


def _turn(item: pytest.Item) -> int:
    folder = item.path.relative_to(ROOT / "tests").parent.as_posix()
    turns = (turn for turn, first in enumerate(_FIRST) if folder.startswith(first))
    return next(turns, len(_FIRST))


class _Scheduling(LoadScopeScheduling):
    """Keeps on one worker what shares fixtures; whoever has done its part takes the next in the order of collection."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        together = (unit for beginning, unit in _TOGETHER.items() if file.startswith(beginning))
        return next(together, file)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    """What `pytest --numprocesses N` distributes by."""
    config.option.loadscopereorder = False
    return _Scheduling(config, log)


def _environment(name: str) -> InstalledEnvironment:
    try:
        return find_environment(name)
    except EnvironmentUnusableError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def starter_environment() -> InstalledEnvironment:
    return _environment("starter")


@pytest.fixture(scope="session")
def bigcodebench_environment() -> InstalledEnvironment:
    return _environment("bigcodebench")


@pytest.fixture(scope="session")
def reference_data() -> Path:
    if not REFERENCE_DATA.is_dir():
        pytest.skip("the reference data is not beside this checkout")
    return REFERENCE_DATA


@pytest.fixture(scope="module")
def s3_endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of an S3 server that the process and its children are pointed at."""
    pytest.importorskip("s3fs")
    from tests.store.s3 import s3_server

    with s3_server(tmp_path_factory.mktemp("replicas")) as address:
        yield address


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """A headless Chromium with an empty profile; one for all tests, since a process may start Playwright once."""
    executable = shutil.which("chromium")
    if executable is None:
        pytest.skip("chromium is not installed: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=CHROMIUM_FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def bigcodeflow(tmp_path: Path) -> Command:
    """Calls the command in this process, with an empty folder as its working directory."""
    return command_in(tmp_path)


@pytest.fixture
def bigcodeflow_process(tmp_path: Path) -> Command:
    """Starts the installed command in an empty folder, as a user would."""
    return process_in(tmp_path)
