"""Samples that are forked from warm processes: like cold ones in everything that a program can see, and as replaceable."""

import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from bigcodeflow.config import LimitsConfig
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.judge.guest import kernel
from bigcodeflow.judge.host import warm as warm_module
from bigcodeflow.judge.host.cgroups import SlotGroupPool
from bigcodeflow.judge.host.local import LocalBackend
from bigcodeflow.judge.host.warm import WarmSandbox, WarmStartError, readable
from bigcodeflow.judge.items import WorkItem
from bigcodeflow.judge.verdicts import worth_repeating
from tests.serving.services import until

from .conftest import LIMITS, RIGHT, TEST, item, judged

pytestmark = pytest.mark.sandbox

LIBRARIES = ("numpy", "pandas")
ROOMY = LIMITS.model_copy(update={"output_kib": 64})


@pytest.fixture(scope="module")
def cold(starter_environment: InstalledEnvironment) -> LocalBackend:
    return LocalBackend(starter_environment, ROOMY)


@pytest.fixture(scope="module")
def warm(starter_environment: InstalledEnvironment) -> Iterator[LocalBackend]:
    with closing(LocalBackend(starter_environment, ROOMY, warm=True)) as backend:
        assert backend.check().warm
        yield backend


def _with(libraries: tuple[str, ...], program: str = RIGHT, test: str = TEST) -> WorkItem:
    return replace(item(program, test), preload=libraries, zygote=(libraries,) if libraries else ())


def _status(backend: LocalBackend, work: WorkItem) -> str:
    return str(judged(backend, work)["status"])


def _look(backend: LocalBackend, expression: str, libraries: tuple[str, ...] = ()) -> object:
    """Value of an expression inside a sample."""
    imports = "import ctypes, gc, json, os, random, signal, socket, sys, threading, time, warnings\n"
    work = _with(libraries, f"{imports}print(json.dumps({expression}))\n{RIGHT}")
    outcome = backend.execute(work)
    assert outcome.stdout, (outcome.stderr, outcome.exit, outcome.frames)
    return json.loads(outcome.stdout)


def _descendants(pid: int) -> list[int]:
    parent = psutil.Process(pid)
    return sorted(process.pid for process in (parent, *parent.children(recursive=True)))


#: PID namespaces that a process of a sample is in: the machine's, bubblewrap's, the supervisor's and the sample's.
_SAMPLE_DEPTH = 4


def _samples(backend: LocalBackend, *, first: bool = False) -> list[int]:
    """Processes of samples that run, without each sample's first; or only those."""
    found = []
    for pid in _descendants(backend.kept_warm()._process.pid):
        with suppress(OSError):  # it has ended meanwhile
            ids = Path(f"/proc/{pid}/status").read_text().split("NSpid:")[1].split("\n")[0].split()
            if len(ids) == _SAMPLE_DEPTH and (ids[-1] == "1") is first:
                found.append(pid)
    return found


@pytest.mark.parametrize(
    "expression",
    [
        "os.getcwd()",
        "os.listdir('.')",
        "sorted(os.listdir('/tmp'))",
        "sorted(os.listdir('/dev/shm'))",
        "dict(os.environ)",
        "[str(entry) for entry in warnings.filters]",
        "[os.getpid(), len([name for name in os.listdir('/proc') if name.isdigit()])]",
        "[signal.getsignal(number) is None or str(signal.getsignal(number)) for number in range(1, 32)]",
        "[name for _, name in socket.if_nameindex()]",
        "[sys.argv, sys.path, sys.flags.isolated, sys.getrecursionlimit()]",
        "[sys.stdin.read(), sys.stdout.encoding, sys.stdout.isatty(), sys.stdout.seekable(), sys.stdout.line_buffering]",
        "[gc.isenabled(), gc.get_threshold(), threading.active_count(), os.umask(0o22)]",
        "[__import__('resource').getrlimit(kind) for kind in range(16)]",
        "sorted(os.listdir('/etc')) + sorted(os.listdir('/dev')) + sorted(os.listdir('/'))",
        "[open('/proc/self/status').read().split(name)[1].split()[0] for name in ('CapPrm:', 'CapBnd:', 'NoNewPrivs:', 'Seccomp:')]",
        "sorted(os.listdir('/proc/self/fd'))",
        "[open('/proc/self/oom_score_adj').read(), os.access('/proc/self/mem', os.R_OK), os.getpgrp() == os.getsid(0)]",
    ],
)
def test_a_warm_start_looks_like_a_cold_one(warm: LocalBackend, cold: LocalBackend, expression: str) -> None:
    """What a program can see of its surroundings does not depend on how it was started."""
    assert _look(warm, expression) == _look(cold, expression)


def test_the_first_process_of_a_sample_keeps_one_capability(warm: LocalBackend) -> None:
    """The one that does nothing, and that takes the process out of the reach of the sample, which has none."""
    status = "open('/proc/%s/status').read().split('CapPrm:')[1].split()[0]"
    found = _look(warm, f"[{status % 1}, {status % 'self'}]")
    assert found == [f"{1 << kernel.IDLE_CAPABILITY:016x}", f"{0:016x}"]


def test_a_sample_finds_no_library_that_it_did_not_ask_for(warm: LocalBackend, cold: LocalBackend) -> None:
    """Modules that other samples' zygotes hold are not there, and those of its own are exactly the cold ones."""
    assert _status(warm, _with(LIBRARIES)) == "pass"
    names = "sorted(name for name in sys.modules if not name.startswith('_'))"
    helpers = {"ctypes", "ctypes._endian"}  # the supervisor calls the kernel through ctypes
    for libraries in ((), ("json",), LIBRARIES):
        found, expected = _look(warm, names, libraries), _look(cold, names, libraries)
        assert isinstance(found, list)
        assert isinstance(expected, list)
        assert set(found) - helpers == set(expected) - helpers


@pytest.mark.slow
def test_matplotlib_is_as_after_a_cold_import(warm: LocalBackend, cold: LocalBackend) -> None:
    """Settings, backend, figures, fonts and colour maps do not tell that the library was there before."""
    asked = (
        "[[(key, str(value)) for key, value in __import__('matplotlib').rcParams.copy().items() if ' at 0x' not in str(value)], __import__('matplotlib').get_backend(),"
        " __import__('matplotlib.pyplot').pyplot.get_fignums(), sorted(__import__('matplotlib').colormaps),"
        " len(__import__('matplotlib.font_manager').font_manager.fontManager.ttflist),"
        " [str(entry) for entry in warnings.filters]]"
    )
    libraries = ("matplotlib", "matplotlib.pyplot")
    assert _look(warm, asked, libraries) == _look(cold, asked, libraries)


def test_random_generators_differ_from_sample_to_sample(warm: LocalBackend) -> None:
    """Forks of one process do not share the state of Python's or numpy's generator."""
    draws = [_look(warm, "[random.random(), __import__('numpy').random.rand()]", LIBRARIES) for _ in range(3)]
    assert isinstance(draws[0], list)
    assert len({draw[0] for draw in draws}) == len({draw[1] for draw in draws}) == 3  # type: ignore[index]


def test_samples_leave_nothing_for_the_next(warm: LocalBackend) -> None:
    """Files, shared memory, changed libraries and variables are gone with the sample."""
    spoil = (
        "[open(place, 'w').close() for place in ('/tmp/left', '/dev/shm/left')] and os.environ.update(LEFT='1') or "
        "setattr(json, 'left', 1) or setattr(__import__('numpy'), 'left', 1)"
    )
    _look(warm, spoil, LIBRARIES)
    look = (
        "[os.path.exists(place) for place in ('/tmp/left', '/dev/shm/left')] + ['LEFT' in os.environ,"
        " hasattr(json, 'left'), hasattr(__import__('numpy'), 'left')]"
    )
    assert _look(warm, look, LIBRARIES) == [False] * 5


def test_samples_at_the_same_time_cannot_reach_one_another(warm: LocalBackend) -> None:
    """Neither through processes, nor through sockets on loopback, nor through abstract ones."""
    serve = (
        "import socket, time\ns = socket.create_server(('127.0.0.1', 5123))\n"
        "a = socket.socket(socket.AF_UNIX)\na.bind('\\0meet')\na.listen()\ntime.sleep(2)\n"
    )
    with ThreadPoolExecutor() as pool:
        served = pool.submit(warm.execute, _with((), serve + RIGHT))
        time.sleep(0.7)
        reached = _look(
            warm,
            "[socket.socket().connect_ex(('127.0.0.1', 5123)), socket.socket(socket.AF_UNIX).connect_ex('\\0meet'),"
            " [name for name in os.listdir('/proc') if name.isdigit() and int(name) > 50]]",
        )
        assert reached == [111, 111, []]
        assert served.result().frames[-1]["event"] == "end"


def test_a_zygote_that_was_killed_is_replaced(warm: LocalBackend) -> None:
    """A whole report of its samples counts, one that breaks off is repeated; those that come after find another."""
    assert _status(warm, _with(LIBRARIES)) == "pass"
    sleep = "import os, time\ntime.sleep(1)\n"
    stopped: set[int] = set()

    def stop() -> int:
        for pid in {*_samples(warm)} - stopped:
            os.kill(pid, signal.SIGSTOP)
            stopped.add(pid)
        return len(stopped)

    with ThreadPoolExecutor() as pool:
        finishing = pool.submit(_status, warm, _with(LIBRARIES, sleep + RIGHT))
        breaking_off = pool.submit(warm.execute, _with(LIBRARIES, f"{sleep}os._exit(0)\n"))
        assert until(lambda: stop() == 2)
        zygote = warm.kept_warm().zygotes[(LIBRARIES,)]
        os.kill(zygote.pid, signal.SIGKILL)
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
        assert finishing.result() == "pass"
        assert worth_repeating(breaking_off.result())
    assert _status(warm, _with(LIBRARIES)) == "pass"


@pytest.mark.slow
def test_a_zygote_that_hangs_is_replaced(warm: LocalBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who does not answer in time is given up, and the sample is forked from another."""
    monkeypatch.setattr(warm_module, "_START_SECONDS", 3.0)
    assert _status(warm, _with(LIBRARIES)) == "pass"
    stopped = warm.kept_warm().zygotes[(LIBRARIES,)]
    os.kill(stopped.pid, signal.SIGSTOP)
    assert _status(warm, _with(LIBRARIES)) == "pass"
    assert warm.kept_warm().zygotes[(LIBRARIES,)] is not stopped


def test_the_kernel_tells_that_a_sample_has_ended(starter_environment: InstalledEnvironment) -> None:
    """The end is seen while the zygote cannot say a word, and no program can write what is looked at."""
    with closing(LocalBackend(starter_environment, LIMITS, warm=True)) as backend:
        warm = backend.kept_warm()
        with warm.process(()) as process:
            assert not readable(process.ended, 0.2)
            os.kill(warm.zygotes[()].pid, signal.SIGSTOP)
            process.kill()
            assert readable(process.ended, 120)


def test_nothing_is_left_when_a_backend_closes(starter_environment: InstalledEnvironment) -> None:
    """Supervisor, zygotes, sample namespaces and what a sample left behind all end."""
    backend = LocalBackend(starter_environment, LIMITS, warm=True)
    daemon = "import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(4321)\n"
    assert _status(backend, _with(LIBRARIES, daemon + RIGHT)) == "pass"
    supervisor = backend.kept_warm()._process.pid
    inside = _descendants(supervisor)
    assert len(inside) >= 3
    backend.close()
    assert until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in inside))  # noqa: PTH110


def test_the_first_process_of_a_sample_holds_no_file_of_the_supervisor(warm: LocalBackend) -> None:
    """Of all that the supervisor has open, it keeps the standard streams."""
    held: set[str] = set()
    sleeping = replace(_with((), "import time\ntime.sleep(9999)\n" + RIGHT), time_seconds=300.0)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(warm.execute, sleeping)
        while held != {"0", "1", "2"}:  # until it has closed the others
            assert not running.done()
            time.sleep(0.02)
            with suppress(OSError, psutil.Error):
                for pid in _samples(warm, first=True):
                    held = set(os.listdir(f"/proc/{pid}/fd"))  # noqa: PTH208
        for pid in _samples(warm):
            os.kill(pid, signal.SIGKILL)


@pytest.fixture
def environment_with(starter_environment: InstalledEnvironment) -> Iterator[Callable[..., InstalledEnvironment]]:
    """Make an environment with one module that samples can read; a sandbox has its own /tmp, so it lies elsewhere."""
    before = os.umask(0o022)
    with tempfile.TemporaryDirectory(dir=starter_environment.root.parent) as name:
        folder = Path(name)
        folder.chmod(0o755)

        def make(module: str, text: str) -> InstalledEnvironment:
            venv = [str(starter_environment.python), "-m", "venv", "--without-pip", str(folder / "venv")]
            subprocess.run(venv, check=True)
            (libraries,) = folder.glob("venv/lib/python3.*/site-packages")
            (libraries / f"{module}.py").write_text(text)
            mounts = (*starter_environment.mounts, folder)
            return InstalledEnvironment(module, folder, folder / "venv" / "bin" / "python", mounts, {}, "sha", ())

        yield make
    os.umask(before)


def test_a_library_that_starts_threads_is_not_forked(environment_with: Callable[..., InstalledEnvironment]) -> None:
    """A fork of a process with threads can hang, so its samples start bare and import the library themselves."""
    starts = "import threading, time\nthreading.Thread(target=time.sleep, args=(3600,), daemon=True).start()\n"
    with closing(LocalBackend(environment_with("restless", starts), LIMITS, warm=True)) as backend:
        threads = "import restless, threading\nprint(threading.active_count())\n"
        outcome = backend.execute(_with(("restless",), threads + RIGHT))
        assert outcome.stdout == "2\n"
        assert list(backend.kept_warm().zygotes) == [()]


def test_a_zygote_is_forked_from_the_zygote_with_the_layers_before(
    environment_with: Callable[..., InstalledEnvironment],
) -> None:
    """The process with fewer libraries is made first, and imports of a later layer do not repeat its imports."""
    environment = environment_with("counted", "import os\nPID = os.getpid()\n")
    look = "import counted, os\nprint(counted.PID)\n" + RIGHT
    with closing(LocalBackend(environment, LIMITS, warm=True)) as backend:
        layers = (("counted",), ("json",), ("csv", "fractions"))
        deep, shallow = (replace(item(look), zygote=layers[:end]) for end in (3, 1))
        pids = {backend.execute(work).stdout for work in (deep, shallow)}
        assert len(pids) == 1
        assert set(backend.kept_warm().zygotes) == {(), layers[:1], layers[:2], layers}


def test_a_sample_is_forked_from_the_last_layer_without_threads(
    environment_with: Callable[..., InstalledEnvironment],
) -> None:
    """Layers after one that starts threads are left to the sample, whichever it asked for first."""
    starts = "import threading, time\nthreading.Thread(target=time.sleep, args=(3600,), daemon=True).start()\n"
    layers = (("json",), ("restless",), ("csv",))
    with closing(LocalBackend(environment_with("restless", starts), LIMITS, warm=True)) as backend:
        for end in (3, 2, 1):
            work = replace(item(RIGHT), preload=("json", "restless", "csv"), zygote=layers[:end])
            assert backend.execute(work).frames[-1]["event"] == "end"
        assert set(backend.kept_warm().zygotes) == {(), layers[:1]}


def test_every_sample_has_a_home_of_its_own(environment_with: Callable[..., InstalledEnvironment]) -> None:
    """It holds what the template holds, folders in folders, whatever the sample before has done to it."""
    environment = environment_with("homely", "")
    (environment.root / "home" / "cache" / "fonts").mkdir(parents=True)
    (environment.root / "home" / "cache" / "fonts" / "list").write_bytes(b"one\0two")
    spoil = "[os.remove(os.path.expanduser('~/cache/fonts/list')), open(os.path.expanduser('~/left'), 'w').close()]"
    look = "[os.listdir(os.path.expanduser('~')), open(os.path.expanduser('~/cache/fonts/list')).read()]"
    for is_warm in (True, False):
        with closing(LocalBackend(environment, ROOMY, warm=is_warm)) as backend:
            assert _look(backend, spoil) == [None, None]
            assert _look(backend, look) == [["cache"], "one\0two"]


def test_generators_of_libraries_have_seeds_of_their_own(
    environment_with: Callable[..., InstalledEnvironment],
) -> None:
    """What a library made without a seed when it was imported differs from sample to sample; what it seeded does not."""
    drawing = environment_with("drawing", "import random\nFREE, FIXED = random.Random(), random.Random(7)\n")
    with closing(LocalBackend(drawing, ROOMY, warm=True)) as backend:
        asked = "[__import__('drawing').FREE.random(), __import__('drawing').FIXED.random()]"
        draws = [_look(backend, asked, ("drawing", "random")) for _ in range(3)]
    assert isinstance(draws[0], list)
    assert [len(set(column)) for column in zip(*draws, strict=True)] == [3, 1]  # type: ignore[call-overload]


def test_an_environment_below_tmp_starts_cold(starter_environment: InstalledEnvironment, tmp_path: Path) -> None:
    """The samples' own temporary folder would hide it from a warm start, so there is none."""
    hidden = replace(starter_environment, mounts=(*starter_environment.mounts, tmp_path))
    with closing(LocalBackend(hidden, LIMITS, warm=True)) as backend:
        assert not backend.check().warm
        assert _status(backend, _with(())) == "pass"


def test_without_a_supervisor_samples_start_cold(
    starter_environment: InstalledEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine that does not allow nested namespaces is slower and no less safe."""

    def refuse(*_arguments: object) -> None:
        raise WarmStartError("no namespaces here")

    monkeypatch.setattr(WarmSandbox, "__init__", refuse)
    with closing(LocalBackend(starter_environment, LimitsConfig(time_seconds=10), warm=True)) as backend:
        capabilities = backend.check()
        assert capabilities.isolated
        assert not capabilities.warm
        assert _status(backend, _with(LIBRARIES)) == "pass"


def test_a_supervisor_whose_first_zygote_fails_is_ended(
    starter_environment: InstalledEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A start that is given up leaves no process behind."""
    monkeypatch.setattr(warm_module, "_IMPORT_SECONDS", 0.0)
    before = set(psutil.Process().children(recursive=True))
    with pytest.raises(WarmStartError, match="ended before it was ready"):
        WarmSandbox(starter_environment, LIMITS, SlotGroupPool(LIMITS))
    # What is inside ends a moment after the outermost process.
    assert until(lambda: not set(psutil.Process().children(recursive=True)) - before)


@pytest.mark.slow
def test_memory_that_forks_share_counts_once(warm: LocalBackend) -> None:
    """Thirty forks of a process that holds half of the limit fit in it; thirty that each fill their own do not."""
    held = f"x = bytearray(b'x') * ({LIMITS.memory_mib // 2} << 20)"
    forks = "import os, time\n    pids = [os.fork() or ({}, time.sleep(1.5), os._exit(0)) for _ in range(30)]"
    wait = "[os.waitpid(pid, 0) for pid in pids]"
    for each, status in (("None", "pass"), (f"bytearray(b'x') * ({LIMITS.memory_mib // 10} << 20)", "out_of_memory")):
        body = f"{held}\n    {forks.format(each)}\n    {wait}"
        assert _status(warm, _with((), f"def task_func():\n    {body}\n    return 42\n")) == status
