"""Control groups of slots: found where the kernel has them, real ones where this machine lets us."""

import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigcodeflow.config import LimitsConfig
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.judge.host import bubblewrap, cgroups
from bigcodeflow.judge.host.cgroups import CgroupDir, SlotGroup

LIMITS = LimitsConfig(time_seconds=4, memory_mib=64, processes=8, disk_mib=4)
_MOUNT_LINES = """22 1 8:1 / / rw - ext4 /dev/sda rw
30 22 0:26 / {root}/memory rw,relatime shared:9 - cgroup cgroup rw,memory
31 22 0:27 / {root}/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
32 22 0:28 /docker/abc {root}/pids rw,relatime - cgroup cgroup rw,pids
33 22 0:29 / {root}/unified rw,relatime - cgroup2 cgroup2 rw
"""


_V2 = ("", "memory", "pids")


def _description() -> str:
    parent = cgroups.find_cgroup_dir()
    return parent.description if parent else ""


@pytest.fixture
def group() -> Iterator[SlotGroup]:
    made = SlotGroup.create("test", LIMITS)
    if made is None:
        pytest.skip("control groups cannot be written here")
    try:
        yield made
    finally:
        made.close()


def member(group: SlotGroup, *words: str, stdout: int | None = None) -> "subprocess.Popen[bytes]":
    """A process that was in the group before its program began."""
    enter = 'while [ "$1" != -- ]; do echo 0 >"$1"; shift; done; shift; exec "$@"'
    command = ["/bin/sh", "-c", enter, "sh", *group.entries, "--", *words]
    return subprocess.Popen(command, stdout=stdout, start_new_session=True)


def python(group: SlotGroup, program: str) -> int:
    """Exit code of a Python program in the group."""
    return member(group, sys.executable, "-c", program).wait()


def test_cpu_time_of_all_processes_is_counted(group: SlotGroup) -> None:
    """Also that of children that nobody waited for; and begin() starts from nothing."""
    burn = "import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass"
    for _ in range(2):
        group.begin()
        assert (group.usage().cpu_seconds or 0) < 0.5
        assert python(group, f"import os\nos.fork()\n{burn}") == 0
        while group.pids():
            time.sleep(0.01)
        cpu_seconds = group.usage().cpu_seconds
        if cpu_seconds is None:
            pytest.skip("no controller here counts CPU time")
        assert cpu_seconds > 0.55


def test_the_kernel_ends_what_takes_too_much_memory(group: SlotGroup) -> None:
    """Memory that no process has mapped counts too, and the kill is counted."""
    if "memory" not in _description():
        pytest.skip("no memory controller here")
    for files, expected in ((40, (-9, 1)), (0, (0, 0))):
        group.begin()
        program = f"import os\n[(f := os.memfd_create('x'), os.write(f, bytes(8 << 20))) for _ in range({files})]"
        assert (python(group, program), group.usage().oom_kills) == expected


def test_forks_beyond_the_limit_are_refused(group: SlotGroup) -> None:
    """The limit holds for the whole group; the sandbox's own processes have room beside it."""
    if "pids" not in _description():
        pytest.skip("no pids controller here")
    program = "import os, time\ntry:\n    for _ in range(60):\n        os.fork() or time.sleep(60)\nexcept OSError:\n    print(flush=True)\n    time.sleep(60)"
    with member(group, sys.executable, "-c", program, stdout=subprocess.PIPE) as started:
        assert started.stdout
        assert started.stdout.readline() == b"\n"
        assert len(group.pids()) == LIMITS.processes + 8
        assert group.kill_all()
    assert group.pids() == set()


@pytest.mark.slow
def test_a_bomb_that_keeps_forking_is_ended(group: SlotGroup) -> None:
    """Nothing can fork faster than it is killed; afterwards the group serves the next sample."""
    bomb = "import os, signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass"
    started = member(group, sys.executable, "-c", bomb)
    while len(group.pids()) < LIMITS.processes:
        time.sleep(0.01)
    assert group.kill_all()
    started.wait()
    while python(group, "import os\nos.fork()") != 0:
        pass  # the dead count until init has waited for them


def test_a_running_process_can_be_put_in(group: SlotGroup) -> None:
    """enter() takes a process id; a process that is gone is a refusal, not an error."""
    sleeper = subprocess.Popen(["sleep", "60"])
    assert group.enter(sleeper.pid)
    assert group.pids() == {sleeper.pid}
    assert group.kill_all()
    sleeper.wait()
    assert not group.enter(sleeper.pid)


def test_closing_leaves_nothing(group: SlotGroup) -> None:
    """Processes and folders are gone, and closing twice is no error."""
    started = member(group, "sleep", "60")
    while not group.pids():
        time.sleep(0.01)
    group.close()
    started.wait()
    assert not [entry for entry in group.entries if Path(entry).parent.exists()]
    group.close()


def test_groups_of_ended_processes_are_removed() -> None:
    """A worker that was killed leaves its groups behind; the next one takes them away, and no one else's."""
    parent = cgroups.find_cgroup_dir()
    if parent is None:
        pytest.skip("control groups cannot be written here")
    program = (
        "import os, signal\nfrom bigcodeflow.config import LimitsConfig\n"
        "from bigcodeflow.judge.host.cgroups import SlotGroup\n"
        "print(os.path.dirname(SlotGroup.create('lost', LimitsConfig()).entries[0]), flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    left = Path(done.stdout.strip())
    assert left.is_dir()
    first, second = SlotGroup.create("a", LIMITS), SlotGroup.create("b", LIMITS)
    assert first
    assert second
    try:
        assert not left.exists()
        assert Path(first.entries[0]).exists()
    finally:
        first.close()
        second.close()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can make groups in every hierarchy")
def test_version_2_ends_a_group_at_once_and_counts_its_time() -> None:
    """In a real hierarchy of version 2, here without controllers: what every group of that version can do works."""
    mounts = (line.split() for line in Path("/proc/self/mounts").read_text().splitlines())
    root = next((Path(words[1]) for words in mounts if words[2] == "cgroup2"), None)
    if root is None or not os.access(root, os.W_OK):
        pytest.skip("no writable hierarchy of version 2 here")
    group = SlotGroup(CgroupDir(2, {"": root}), f"bigcodeflow-test-{os.getpid()}", LIMITS)
    try:
        group.begin()
        program = "import os, time\nfor _ in range(3): os.fork()\nend = time.process_time() + 0.1\nwhile time.process_time() < end: pass\ntime.sleep(60)"
        started = member(group, sys.executable, "-c", program)
        give_up_at = time.monotonic() + 120
        while (group.usage().cpu_seconds or 0) < 0.8 and time.monotonic() < give_up_at:
            time.sleep(0.02)
        assert len(group.pids()) == 8
        assert group.kill_all()
        assert started.wait() == -9
        used = group.usage()
        assert (used.cpu_seconds or 0) >= 0.8
        assert used.oom_kills == 0
    finally:
        group.close()
    assert not list(root.glob(f"bigcodeflow-test-{os.getpid()}"))


@pytest.mark.sandbox
def test_a_sandbox_is_in_its_group_from_birth(group: SlotGroup, starter_environment: InstalledEnvironment) -> None:
    """The command line enters before anything foreign starts; a group that is gone costs the sandbox nothing else."""
    command = bubblewrap.command(
        environment=starter_environment,
        limits=LIMITS,
        uid=4242,
        data_fds={},
        as_root=os.getuid() == 0,
        group_entries=("/nowhere/cgroup.procs", *group.entries),
    )
    program = "print(open('/proc/self/oom_score_adj').read(), flush=True); import time; time.sleep(60)"
    with subprocess.Popen([*command[:-1], "-c", program], stdout=subprocess.PIPE, text=True) as started:
        assert started.stdout
        assert started.stdout.readline() == "1000\n"
        assert started.pid in group.pids()
        assert len(group.pids()) == 3  # bubblewrap outside, bubblewrap as process 1, and the program
        assert group.kill_all()


def hierarchy(root: Path, *groups: str, controllers: str = "") -> None:
    """Folders that look like groups, for what is only looked up."""
    for group in groups:
        folder = root / group
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "cgroup.procs").touch()
        (folder / "cgroup.subtree_control").write_text(controllers)


def found(tmp_path: Path, groups: str, mounts: str) -> CgroupDir | None:
    (tmp_path / "groups").write_text(groups)
    (tmp_path / "mounts").write_text(mounts.format(root=tmp_path))
    return cgroups.find_cgroup_dir(tmp_path / "groups", tmp_path / "mounts")


@pytest.mark.parametrize(
    ("plain", "handing_on", "own_groups", "parent"),
    [
        # Controllers that share a hierarchy share a folder, and a container's mount point stands for the container.
        (
            ["memory/user/me", "cpu,cpuacct/me", "pids"],
            [],
            "4:memory:/user/me\n3:cpu,cpuacct:/me\n2:pids:/docker/abc\n0::/\n",
            (1, {"memory": "memory/user/me", "pids": "pids", "cpuacct": "cpu,cpuacct/me"}),
        ),
        # One controller is better than none.
        (["pids"], [], "2:pids:/docker/abc\n", (1, {"pids": "pids"})),
        # Version 2 comes first where the own group can have groups below it.
        (["pids"], ["unified/me"], "2:pids:/docker/abc\n0::/me\n", (2, dict.fromkeys(_V2, "unified/me"))),
        # A group with processes cannot hand on controllers: the workers' group lies beside, in a place given to them.
        (["unified/workers"], ["unified"], "0::/workers\n", (2, dict.fromkeys(_V2, "unified"))),
    ],
)
def test_groups_are_made_where_this_process_may(
    tmp_path: Path, plain: list[str], handing_on: list[str], own_groups: str, parent: tuple[int, dict[str, str]]
) -> None:
    """Version 2 before version 1, each as far as its controllers go."""
    hierarchy(tmp_path, *handing_on, controllers="cpu memory pids")
    hierarchy(tmp_path, *plain)
    version, folders = parent
    made = found(tmp_path, own_groups, _MOUNT_LINES)
    assert made == CgroupDir(version, {name: tmp_path / folder for name, folder in folders.items()})
    assert made.description == f"cgroup v{version}: {', '.join(filter(None, folders))}"


def test_where_there_are_no_groups_none_is_found(tmp_path: Path) -> None:
    """Neither a hierarchy without a folder, nor files without a line, nor files that are not there."""
    hierarchy(tmp_path, "pids")
    assert found(tmp_path, "4:memory:/\n", _MOUNT_LINES) is None
    assert found(tmp_path, "", "") is None
    assert cgroups.find_cgroup_dir(tmp_path / "none", tmp_path / "none") is None


def test_version_2_is_not_taken_where_others_are_masters(tmp_path: Path) -> None:
    """Groups of other services lie beside ours unless their parent was delegated."""
    hierarchy(tmp_path, "unified/system", controllers="memory pids")
    hierarchy(tmp_path, "unified/system/ours")
    assert found(tmp_path, "0::/system/ours\n", _MOUNT_LINES) is None
    os.setxattr(tmp_path / "unified/system", "user.delegate", b"1")
    parent = found(tmp_path, "0::/system/ours\n", _MOUNT_LINES)
    assert parent is not None
    assert parent.version == 2


@given(st.text(alphabet="0123456789:/,. \nabc-", max_size=60))
def test_garbage_is_no_group(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    """What looks like nothing the kernel writes means that there are no groups; nothing is raised."""
    assert found(tmp_path_factory.mktemp("garbage"), text, text) is None


@pytest.mark.skipif(os.getuid() == 0 and cgroups.find_cgroup_dir() is None, reason="no control groups here")
def test_a_file_that_refuses_costs_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Limits and counts that a group's files do not take or tell are done without."""
    hierarchy(tmp_path, "unified", controllers="memory pids")
    group = SlotGroup(CgroupDir(2, dict.fromkeys(_V2, tmp_path / "unified")), "slot", LIMITS)
    (tmp_path / "unified/slot/cgroup.procs").mkdir()
    with caplog.at_level(logging.WARNING):
        assert not group.enter(1)
    assert "refuses value" in caplog.text
    group.begin()
    assert group.usage() == (None, 0)
    assert group.kill_all()


def test_where_no_group_can_be_made_there_is_none(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A slot without a group runs all the same, and one line says so."""
    parent = CgroupDir(1, {"memory": Path("/proc/self")})
    monkeypatch.setattr(cgroups, "find_cgroup_dir", lambda: parent)
    assert SlotGroup.create("slot", LIMITS) is None
    assert "no control group for slot slot" in caplog.text
