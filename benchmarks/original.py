"""Run the unchanged original evaluator, bigcodebench 0.2.5 from PyPI, in the pinned environment, without network.

`run_original` runs ``bigcodebench.evaluate`` itself with ``execution="local"`` and its defaults for every limit: its
process pool, and for each sample a separate manager and process. The package, and the imports of its evaluating module
that the pinned environment lacks, are put into a folder next to that environment, which stays unchanged; e2b, which
cannot be imported together with the pinned TensorFlow and has no part in local execution, is an empty module. The
samples of one call share one temporary folder and one PID namespace, as they do in the original's image.
"""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from measuring import Measured, measure

from bigcodeflow import datasets
from bigcodeflow.config import DatasetConfig
from bigcodeflow.core.errors import EnvironmentUnusableError, ExecutionError
from bigcodeflow.judge.environments import InstalledEnvironment, find_environment
from bigcodeflow.judge.host.bubblewrap import find_bubblewrap

VERSION = "0.2.5"
#: Packages that bigcodebench.evaluate needs beyond the pinned environment, in the versions of the original's time.
REQUIREMENTS = (
    f"bigcodebench=={VERSION}",
    "aiohappyeyeballs==2.6.1",
    "aiohttp==3.12.15",
    "aiosignal==1.4.0",
    "anyio==4.10.0",
    "appdirs==1.4.4",
    "async-timeout==5.0.1",
    "bounded-pool-executor==0.0.3",
    "datasets==2.17.0",
    "dill==0.3.8",
    "filelock==3.19.1",
    "frozenlist==1.7.0",
    "fsspec==2023.10.0",
    "gradio-client==1.12.1",
    "httpcore==1.0.9",
    "httpx==0.28.1",
    "huggingface-hub==0.34.4",
    "markdown-it-py==4.0.0",
    "mdurl==0.1.2",
    "multidict==6.6.4",
    "multiprocess==0.70.16",
    "pqdm==0.2.0",
    "propcache==0.3.2",
    "pyarrow==14.0.1",
    "pyarrow-hotfix==0.7",
    "rich==14.1.0",
    "safetensors==0.6.2",
    "tokenizers==0.22.0",
    "transformers==4.56.0",
    "tree-sitter==0.25.1",
    "tree-sitter-python==0.23.6",
    "websockets==15.0.1",
    "xxhash==3.5.0",
    "yarl==1.20.1",
)
_HUB_COLUMNS = ("task_id", "complete_prompt", "instruct_prompt", "canonical_solution", "code_prompt", "test")
_OUT = "/out"
_SCRIPT = "/original_inside.py"
_UNPRIVILEGED_UID = 65_534
_DISK_BYTES = 4 << 30
#: Its limit for a sample, and the most seconds that it takes to kill one.
_SAMPLE_SECONDS = 240.0 + 10.0
_SYSTEM = ("/etc/alternatives", "/etc/fonts", "/etc/ld.so.cache", "/etc/localtime", "/etc/magic", "/etc/mime.types")
_NAMES = ("/bin", "/lib", "/lib32", "/lib64", "/sbin")


class OriginalRun(NamedTuple):
    """One call of the original's evaluate."""

    measured: Measured
    start_seconds: float
    """Import time of the evaluator: once per call."""
    start_cpu_seconds: float
    tasks: list[dict[str, Any]]
    """task_id, status, wall_seconds and cpu_seconds of each check, in the order in which they ended."""


def folder_of_package() -> Path:
    """Return the folder of the original after its installation."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser().resolve()
    return cache / "bigcodeflow" / "original" / f"bigcodebench-{VERSION}"


def install() -> Path:
    """Return the folder of the original and of its imports; fill it on the first call.

    Raises:
        EnvironmentUnusableError: the pinned environment is not built, or pip cannot get the packages.
    """
    environment = find_environment("bigcodebench")
    folder = folder_of_package()
    if folder.is_dir():
        return folder
    partial = folder.with_name(f"{folder.name}.{os.getpid()}.partial")
    options = ["--quiet", "--no-deps", "--only-binary", ":all:", "--target", str(partial)]
    try:
        done = subprocess.run(
            [str(environment.python), "-m", "pip", "install", *options, *REQUIREMENTS],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            errors = " ".join(done.stderr.split())[-300:]
            raise EnvironmentUnusableError(f"pip cannot install bigcodebench {VERSION} ({errors}): check pip's index")
        partial.rename(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return folder


def run_original(
    tasks: Sequence[dict[str, Any]],
    *,
    workers: int,
    solutions: Mapping[str, str] | None = None,
    ground_truths: bool = False,
) -> OriginalRun:
    """Run the original's evaluate on one sample of each of these tasks, in this order.

    Args:
        tasks: rows of the tasks table.
        workers: processes of its pool.
        solutions: programs by task_id, which it calibrates; None takes the ground truths.
        ground_truths: True if it executes all ground truths first, as by default; its caches are empty.

    Raises:
        ExecutionError: it ended with an error, or checked other tasks than these.
    """
    environment = find_environment("bigcodebench")
    package = install()
    with tempfile.TemporaryDirectory(prefix="original-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        out = folder / "out"
        out.mkdir()
        out.chmod(0o777)  # the sandbox's user can write only here
        solutions = solutions or {
            task["task_id"]: task["complete_prompt"] + task["canonical_solution"] for task in tasks
        }
        _write_job(out, tasks, solutions, {"workers": workers, "no_gt": not ground_truths})
        log = folder / "log"
        variables = _variables(environment, package)
        command = _command(environment, package, out, variables, as_root=os.getuid() == 0)
        timeout_seconds = _SAMPLE_SECONDS * (2 * len(tasks) + 1)
        measured = measure(command, log=log, timeout_seconds=timeout_seconds)
        return _read_run(out, tasks, measured, log)


def _write_job(
    out: Path, tasks: Sequence[dict[str, Any]], solutions: Mapping[str, str], job: Mapping[str, float]
) -> None:
    problems = [{name: task[name] for name in (*_HUB_COLUMNS, "entry_point")} for task in tasks]
    samples = [{"task_id": task["task_id"], "solution": solutions[task["task_id"]]} for task in tasks]
    for name, rows in (("problems", problems), ("samples", samples)):
        (out / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (out / "job.json").write_text(json.dumps(job))


def _read_run(out: Path, tasks: Sequence[dict[str, Any]], measured: Measured, log: Path) -> OriginalRun:
    output = " ".join(log.read_text(errors="replace").split())[-400:]
    if measured.exit_code:
        raise ExecutionError(f"the original ended with exit code {measured.exit_code} ({output}): run it again")
    checks = [json.loads(line) for line in (out / "checks.jsonl").read_text().splitlines()]
    if sorted(check["task_id"] for check in checks) != sorted(task["task_id"] for task in tasks):
        raise ExecutionError(f"the original checked {len(checks)} of {len(tasks)} tasks ({output}): run it again")
    started = json.loads((out / "started.json").read_text())
    return OriginalRun(measured, started["seconds"], started["cpu_seconds"], checks)


def _command(
    environment: InstalledEnvironment, package: Path, out: Path, variables: Mapping[str, str], *, as_root: bool
) -> list[str]:
    arguments = [find_bubblewrap(), "--die-with-parent", "--new-session", "--clearenv", "--hostname", "sandbox"]
    arguments += ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
    if as_root:
        arguments += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--cap-add", "CAP_SETPCAP"]
    else:
        arguments += ["--unshare-user", "--uid", str(_UNPRIVILEGED_UID), "--gid", str(_UNPRIVILEGED_UID)]
    arguments += [*_mounts(environment, package, out)]
    for name, value in variables.items():
        arguments += ["--setenv", name, value]
    arguments += ["--chdir", "/tmp", "--"]
    if as_root:
        arguments += ["/usr/bin/setpriv", f"--reuid={_UNPRIVILEGED_UID}", f"--regid={_UNPRIVILEGED_UID}"]
        arguments += ["--clear-groups", "--no-new-privs", "--inh-caps=-all", "--bounding-set=-all"]
    return [*arguments, str(environment.python), _SCRIPT, _OUT]


def _mounts(environment: InstalledEnvironment, package: Path, out: Path) -> list[str]:
    arguments = ["--ro-bind", "/usr", "/usr", "--perms", "0755", "--dir", "/etc"]
    for name in _NAMES:
        path = Path(name)
        if path.is_symlink():
            arguments += ["--symlink", str(path.readlink()), name]
        elif path.is_dir():
            arguments += ["--ro-bind", name, name]
    arguments += [word for name in _SYSTEM if Path(name).exists() for word in ("--ro-bind", name, name)]
    arguments += ["--proc", "/proc", "--dev", "/dev"]
    for name in ("/dev/shm", "/tmp"):
        arguments += ["--size", str(_DISK_BYTES), "--perms", "1777", "--tmpfs", name]
    for path in (*environment.mounts, package):
        for parent in reversed(path.parents[:-1]):  # root's own folders would be closed to the sandbox's user
            arguments += ["--perms", "0755", "--dir", str(parent)]
        arguments += ["--ro-bind", str(path), str(path)]
    inside = Path(__file__).with_name("original_inside.py")
    return [*arguments, "--ro-bind", str(inside), _SCRIPT, "--bind", str(out), _OUT]


def _variables(environment: InstalledEnvironment, package: Path) -> dict[str, str]:
    template = environment.home_template
    return {
        "BIGCODEBENCH_OVERRIDE_PATH": f"{_OUT}/problems.jsonl",
        "HOME": "/tmp/home",
        "HOME_TEMPLATE": str(template) if template else "",
        "LANG": "C.UTF-8",
        "PATH": f"{environment.python.parent}:/usr/local/bin:/usr/bin:/bin",
        "PYTHONPATH": str(package),
        "TMPDIR": "/tmp",
    } | dict(environment.variables)


def load_tasks(data: Path, ids: str = "", subset: Literal["full", "hard"] = "full") -> list[dict[str, Any]]:
    """Return rows of the tasks table, in the dataset's order.

    Args:
        data: folder of the reference data.
        ids: task numbers and ranges, such as '1,5-9'; empty takes all of the subset.
    """
    config = DatasetConfig(source=str(data / "data" / "bigcodebench-v0.1.4.parquet"), ids=ids, subset=subset)
    rows: list[dict[str, Any]] = datasets.load_tasks(config, datasets.resolve(config)).to_pylist()
    return rows
