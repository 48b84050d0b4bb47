"""What a program inside the sandbox can see and change; and what happens where no sandbox can be had."""

import json
import os
import subprocess
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bigcodeflow.config import LimitsConfig
from bigcodeflow.core.errors import SandboxUnavailableError
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.judge.host import bubblewrap
from bigcodeflow.judge.host.local import LocalBackend

from .conftest import RIGHT, as_ordinary_user, item, judged

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


def test_samples_do_not_see_one_another(judge: Judge) -> None:
    """What one sample leaves in its folders, or in shared memory, is gone for the next."""
    write = "[open(os.path.expanduser(p), 'w').close() for p in ('/tmp/left', '~/left', '/dev/shm/left', 'left')]"
    look = "[os.path.exists(os.path.expanduser(p)) for p in ('/tmp/left', '~/left', '/dev/shm/left', 'left')]"
    assert _look(judge, write) == [None] * 4
    assert _look(judge, look) == [False] * 4


def test_sandboxes_at_the_same_time_have_users_of_their_own(judge: Judge) -> None:
    """The process limit of one is not used up by another."""
    program = "import os, time\nprint(os.getuid())\ntime.sleep(1)\ndef task_func():\n    return 42\n"
    with ThreadPoolExecutor(3) as pool:
        users = {found["stdout"] for found in pool.map(judge, [program] * 3)}
    assert len(users) == 3


def test_nothing_is_left_on_the_machine(judge: Judge) -> None:
    """No process and no mount outlives a sample that tried to stay."""
    mounts = Path("/proc/self/mounts").read_text()
    stay = (
        "import os, time\nfor _ in range(5):\n    if os.fork() == 0:\n        os.setsid()\n        time.sleep(4321)\n"
    )
    judge(stay + RIGHT)
    processes = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert "/harness/harness.py" not in processes
    assert Path("/proc/self/mounts").read_text() == mounts


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


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_an_ordinary_user_gets_the_same_isolation(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command line for an ordinary user starts, drops every privilege and forbids further user namespaces."""
    # Root's caches are closed to other users, so this user runs the system's own interpreter.
    python = Path("/usr/bin/python3")
    if not python.exists():
        pytest.skip("no system interpreter that an ordinary user can reach")
    program = (
        "import ctypes, os; status = open('/proc/self/status').read();"
        "print(os.getuid(), status.split('CapEff:')[1].split()[0], ctypes.CDLL(None).unshare(0x10000000))"
    )
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        monkeypatch.setattr(bubblewrap, "HOST_HARNESS_FOLDER", Path(folder))
        command = bubblewrap.command(
            environment=InstalledEnvironment("system", Path("/usr"), python, (), {}, "sha", ()),
            limits=LimitsConfig(),
            uid=4242,
            data_fds={},
            as_root=False,
        )
        become = ["setpriv", "--reuid=12345", "--regid=12345", "--clear-groups"]
        isolated = [*command[: command.index(str(python))], str(python), "-I", "-c", program]
        done = subprocess.run([*become, *isolated], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["4242", "0000000000000000", "-1"], done.stderr


_AS_ORDINARY_USER = """
import sys
from pathlib import Path
from bigcodeflow.config import LimitsConfig
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.judge.host.local import LocalBackend
from bigcodeflow.judge.items import WorkItem
from bigcodeflow.judge.verdicts import verdict

limits = LimitsConfig(time_seconds=2, memory_mib=200, processes=24, disk_mib=8)
system = InstalledEnvironment("system", Path("/usr"), Path("/usr/bin/python3"), (), {}, "sha", ())
backend = LocalBackend(system, limits)
print(backend.check().layers[0])
test = "import unittest\\nclass TestCases(unittest.TestCase):\\n    def test_a(self):\\n        self.assertEqual(task_func(), 42)\\n"
for body in sys.argv[1:]:
    item = WorkItem("key", f"import os, time\\ndef task_func():\\n{body}\\n    return 42\\n", test, ("test_a",), 2.0, frozenset())
    print(verdict(item, backend.execute(item), backend="local", environment_sha="sha")["status"])
"""

_BODIES = {
    "    pass": "pass",
    "    while True: pass": "timeout",
    "    time.sleep(60)": "timeout",
    "    x = [bytearray(b'x') * (10 << 20) for _ in range(60)]; time.sleep(1)": "out_of_memory",
    "    [os.fork() or time.sleep(9) for _ in range(99)]": "fail",
    "    open('x', 'wb').write(bytes(20 << 20))": "fail",
}


@pytest.mark.slow
@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_every_limit_holds_for_an_ordinary_user() -> None:
    """Time, memory, processes and disk are bounded for a user without any privilege, by the system's own interpreter."""
    done = as_ordinary_user(12345, _AS_ORDINARY_USER, *_BODIES)
    assert done.stdout.splitlines() == ["user namespace", *_BODIES.values()], done.stderr
