"""What a program inside the sandbox can see and change; and what happens where no sandbox can be had."""

import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bigcodeflow.config import LimitsConfig
from bigcodeflow.core.errors import SandboxUnavailableError
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.judge.host import bubblewrap
from bigcodeflow.judge.host.local import LocalBackend

from .conftest import RIGHT, item, judged

pytestmark = pytest.mark.sandbox

Judge = Callable[..., dict]


def _look(judge: Judge, expression: str) -> object:
    """Value of an expression inside the sandbox."""
    found = judge(f"import json, os, socket, sys\nprint(json.dumps({expression}))\ndef task_func():\n    return 42\n")
    assert found["status"] == "pass", found
    return json.loads(found["stdout"])


def test_the_environment_is_empty(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable of the executor reaches the program."""
    monkeypatch.setenv("OPENAI_API_KEY", "canary")
    variables = _look(judge, "dict(os.environ)")
    assert isinstance(variables, dict)
    assert "canary" not in str(variables)
    assert variables["TZ"] == "UTC"
    assert variables["OMP_NUM_THREADS"] == "1"


def test_the_program_is_nobody_without_capabilities(judge: Judge) -> None:
    """Neither root nor any capability, and no way to gain one."""
    status = _look(judge, "open('/proc/self/status').read()")
    assert isinstance(status, str)
    lines = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert set(lines["Uid"].split()) & {"0", str(os.getuid())} == set()
    assert {lines[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0000000000000000"}
    assert lines["NoNewPrivs"] == "1"


def test_only_the_temporary_folder_is_writable(judge: Judge) -> None:
    """Every other place refuses to be written."""
    places = "['/', '/usr', '/etc', '/harness', '/dev', '/proc/sys', os.path.dirname(os.__file__), sys.prefix]"
    assert _look(judge, f"[place for place in {places} if os.access(place, os.W_OK)]") == []
    assert _look(judge, "[os.getcwd(), os.listdir('.'), os.access('.', os.W_OK)]") == ["/tmp/work", [], True]


def test_the_machine_is_not_visible(judge: Judge, tmp_path: Path) -> None:
    """No host process, file of the user, or network interface but loopback."""
    (tmp_path / "secret").write_text("x")
    assert _look(judge, f"os.path.exists({str(tmp_path / 'secret')!r})") is False
    assert _look(judge, f"os.path.exists('/proc/{os.getpid()}/cmdline') and {os.getpid()} > 50") is False
    assert _look(judge, "[name for _, name in socket.if_nameindex()]") == ["lo"]
    assert _look(judge, "sorted(os.listdir('/etc'))") != sorted(path.name for path in Path("/etc").iterdir())


def test_the_program_gets_no_open_file_of_the_executor(judge: Judge) -> None:
    """Beside the standard streams only the report pipe is open, and children do not inherit that."""
    program = (
        "[sum(1 for fd in os.listdir('/proc/self/fd') if int(fd) > 2),"
        " __import__('subprocess').run(['ls', '/proc/self/fd'], capture_output=True, text=True, close_fds=False).stdout.split()]"
    )
    mine, childs = _look(judge, program)
    assert mine == 2  # the report, and the listing itself
    assert childs == ["0", "1", "2", "3"]


def test_sandboxes_at_the_same_time_have_users_of_their_own(judge: Judge) -> None:
    """The process limit of one is not used up by another."""
    program = "import os, time\nprint(os.getuid())\ntime.sleep(1)\ndef task_func():\n    return 42\n"
    with ThreadPoolExecutor(3) as pool:
        users = {found["stdout"] for found in pool.map(judge, [program] * 3)}
    assert len(users) == 3


def test_without_bubblewrap_nothing_runs(
    starter_environment: InstalledEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The refusal says what to install, and how to run all the same."""
    monkeypatch.setenv("PATH", "/nowhere")
    bubblewrap.find_bubblewrap.cache_clear()
    try:
        refused = LocalBackend(starter_environment, LimitsConfig())
        with pytest.raises(SandboxUnavailableError, match=r"bubblewrap.*--allow-unisolated"):
            refused.check()
        allowed = LocalBackend(starter_environment, LimitsConfig(time_seconds=5))
        assert not allowed.check(allow_unisolated=True).isolated
        assert judged(allowed, item(RIGHT))["status"] == "pass"
    finally:
        bubblewrap.find_bubblewrap.cache_clear()
