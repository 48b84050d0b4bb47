"""Sources that a build compiles: on all cores, kept when it is stopped, and exported for the builds of others."""

import hashlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from bigcodeflow.core.errors import ConfigError, EnvironmentUnusableError
from bigcodeflow.judge.environments import EnvironmentDefinition, InstalledEnvironment, remove_environment
from bigcodeflow.judge.environments.build import build_environment
from bigcodeflow.judge.environments.wheels import export_wheels

_PATIENCE_SECONDS = 240.0
_PYPROJECT = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
_EXTENSION = """
#include <Python.h>
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "NAME", NULL, -1, NULL};
PyMODINIT_FUNC PyInit_NAME(void) {
    PyObject *made = PyModule_Create(&module);
    PyModule_AddIntConstant(made, "answer", 42);
    return made;
}
"""
#: Build backend without requirements. It notes each build in a file, then waits until the file 'wait' is gone.
_BACKEND = """
import base64, configparser, hashlib, os, subprocess, sysconfig, time, zipfile
from pathlib import Path
NOTES = Path({notes!r})
def get_requires_for_build_wheel(config_settings=None):
    return []
def build_wheel(folder, config_settings=None, metadata_directory=None):
    config = configparser.ConfigParser()
    config.read(Path.home() / ".pydistutils.cfg")
    seen = [config["build_ext"]["parallel"], os.environ["CPPFLAGS"], (Path.home() / "mine").read_text()]
    with open(NOTES / "NAME", "a") as notes:
        print(*seen, sep="|", file=notes)
    while (NOTES / "wait-NAME").exists():
        time.sleep(0.05)
    library = "NAME" + sysconfig.get_config_var("EXT_SUFFIX")
    include = "-I" + sysconfig.get_path("include")
    subprocess.run(["gcc", "-shared", "-fPIC", "-g0", include, "NAME.c", "-o", library], check=True)
    tag = f"cp{{sysconfig.get_config_var('py_version_nodot')}}"
    tag = f"{{tag}}-{{tag}}-{{sysconfig.get_platform().replace('-', '_')}}"
    info = "NAME-1.0.dist-info"
    files = {{
        library: Path(library).read_bytes(),
        f"{{info}}/METADATA": b"Metadata-Version: 2.1\\nName: NAME\\nVersion: 1.0\\n",
        f"{{info}}/WHEEL": f"Wheel-Version: 1.0\\nGenerator: t\\nRoot-Is-Purelib: false\\nTag: {{tag}}\\n".encode(),
        f"{{info}}/entry_points.txt": b"[console_scripts]\\nNAME-command = NAME:answer\\n",
    }}
    def digest(data):
        return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
    record = [f"{{path}},sha256={{digest(data)}},{{len(data)}}" for path, data in files.items()]
    files[f"{{info}}/RECORD"] = "\\n".join([*record, f"{{info}}/RECORD,,", ""]).encode()
    with zipfile.ZipFile(Path(folder) / f"NAME-1.0-{{tag}}.whl", "w") as archive:
        for path, data in files.items():
            archive.writestr(path, data)
    return f"NAME-1.0-{{tag}}.whl"
"""


@pytest.fixture(autouse=True)
def _machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gives each test a home, a cache and environments of its own; the only index is a folder."""
    for name in ("home", "sources", "notes"):
        (tmp_path / name).mkdir()
    (tmp_path / "home" / "mine").write_text("mine", encoding="utf-8")
    variables = {"HOME": "home", "UV_CACHE_DIR": "uv", "BIGCODEFLOW_ENVIRONMENTS": "environments"}
    for name, folder in variables.items():
        monkeypatch.setenv(name, str(tmp_path / folder))
    monkeypatch.setenv("UV_FIND_LINKS", str(tmp_path / "sources"))
    monkeypatch.setenv("UV_NO_INDEX", "1")
    monkeypatch.setenv("UV_CONCURRENT_BUILDS", "2")
    monkeypatch.setenv("CPPFLAGS", "-DUSER")


def source(tmp_path: Path, name: str) -> str:
    """Make a source distribution with a C extension; return its line of a lock."""
    texts = {"pyproject.toml": _PYPROJECT, f"{name}.c": _EXTENSION, "PKG-INFO": "Metadata-Version: 2.1\nVersion: 1.0\n"}
    texts["backend.py"] = _BACKEND.format(notes=str(tmp_path / "notes"))
    path = tmp_path / "sources" / f"{name}-1.0.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for file, text in texts.items():
            content = text.replace("NAME", name).encode()
            entry = tarfile.TarInfo(f"{name}-1.0/{file}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    return f"{name}==1.0 \\\n    --hash=sha256:{sha256} \\\n    --hash=sha256:{'0' * 64}\n"


def definition(lock: str) -> EnvironmentDefinition:
    return EnvironmentDefinition(name="small", description="for tests", lock=lock)


def build(lock: str, **options: Any) -> tuple[InstalledEnvironment, list[str]]:
    said: list[str] = []
    return build_environment(definition(lock), on_line=said.append, **options), said


def notes(tmp_path: Path, name: str) -> list[str]:
    path = tmp_path / "notes" / name
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def answer(environment: InstalledEnvironment) -> str:
    return subprocess.check_output([environment.python, "-c", "import quick; print(quick.answer)"], text=True).strip()


def test_sources_are_compiled_on_all_cores_in_the_home_of_the_user(tmp_path: Path) -> None:
    built, said = build(source(tmp_path, "quick"))
    assert answer(built) == "42"
    assert notes(tmp_path, "quick") == [f"{len(os.sched_getaffinity(0))}|-DUSER -g0|mine"]
    assert any(line.startswith("libraries: built quick 1.0 in ") for line in said)
    assert not (tmp_path / "home" / ".pydistutils.cfg").exists()


def test_exported_wheels_spare_others_the_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They give the same environment on a machine that has neither source nor compiler, and are exported from it again."""
    lock, folder = source(tmp_path, "quick"), tmp_path / "exported"
    built, _ = build(lock)
    wheel, about = export_wheels(built, folder)
    first = wheel.read_bytes()
    remove_environment("small")
    shutil.rmtree(tmp_path / "sources")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "other"))
    monkeypatch.delenv("UV_FIND_LINKS")
    again, _ = build(lock, find_links=[str(folder)])
    assert answer(again) == "42"
    assert (again.environment_sha, again.lock_sha256) == (built.environment_sha, built.lock_sha256)
    assert len(notes(tmp_path, "quick")) == 1, "compiled once"
    assert (again.root / "venv/bin/quick-command").exists()
    assert export_wheels(again, folder) == [wheel, about]
    assert wheel.read_bytes() == first


def _damage_hash(about: dict[str, Any]) -> None:
    about["wheels"] = dict.fromkeys(about["wheels"], "1" * 64)


def _damage_lock(about: dict[str, Any]) -> None:
    about["lock_sha256"] = "1" * 64


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_damage_hash, rf"(?s)Hash mismatch for `quick==1\.0`.*{'1' * 64}"),
        (_damage_lock, r"small-\w+\.json is for another lock file of small: run `bigcodeflow env export small FOLDER`"),
        (dict.clear, r"small-\w+\.json is not a file that `env export` wrote"),
    ],
)
def test_other_wheels_than_the_exported_are_refused(
    tmp_path: Path, damage: Callable[[dict[str, Any]], None], message: str
) -> None:
    lock, folder = source(tmp_path, "quick"), tmp_path / "exported"
    built, _ = build(lock)
    *_, path = export_wheels(built, folder)
    remove_environment("small")
    about = json.loads(path.read_bytes())
    damage(about)
    path.write_text(json.dumps(about), encoding="utf-8")
    with pytest.raises(EnvironmentUnusableError, match=message):
        build(lock, find_links=[str(folder)])


def test_places_without_exported_wheels_are_told(tmp_path: Path) -> None:
    """A folder that is not there is an error; a folder of ordinary files is used as it is."""
    lock = source(tmp_path, "quick")
    with pytest.raises(EnvironmentUnusableError, match="nowhere"):
        build(lock, find_links=[str(tmp_path / "nowhere")])
    _, said = build(lock, find_links=[str(tmp_path / "sources")])
    assert any("only files whose hashes the lock has are taken" in line for line in said)


def test_what_was_not_compiled_or_was_changed_is_not_exported(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentUnusableError, match="no compiled packages"):
        export_wheels(build("")[0], tmp_path / "exported")
    built, _ = build(source(tmp_path, "quick"))
    library = next(built.root.rglob("quick*.so"))
    library.write_bytes(library.read_bytes() + b"\0")
    with pytest.raises(EnvironmentUnusableError, match=r"quick-1\.0 cannot be exported: .*quick.*\.so .*changed"):
        export_wheels(built, tmp_path / "exported")
    assert not (tmp_path / "exported").exists()


def test_images_take_no_wheels() -> None:
    from bigcodeflow.cli.env import build as command

    with pytest.raises(ConfigError, match="--backend docker"):
        command("starter", backend="docker", find_links=["wheels"])


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_build_keeps_what_is_built(tmp_path: Path, sent: signal.Signals) -> None:
    """Ctrl-C says what is kept, without a traceback, and ends the compilers; the next build compiles only the rest."""
    lock = source(tmp_path, "quick") + source(tmp_path, "slow")
    (tmp_path / "notes" / "wait-slow").touch()
    program = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from bigcodeflow.cli.main import main\nfrom bigcodeflow.judge import environments\n"
        f"made = environments.EnvironmentDefinition(name='small', description='', lock={lock!r})\n"
        "environments.load_definition = lambda name: made\nmain()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, "env", "build", "small"], stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr
        assert any("built quick" in line for line in iter(process.stderr.readline, ""))
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not notes(tmp_path, "slow"):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        children = psutil.Process(process.pid).children(recursive=True)
        for stopped in [process] if sent == signal.SIGINT else [process, *children]:
            stopped.send_signal(sent)
        rest = process.stderr.read()
    _, alive = psutil.wait_procs(children, _PATIENCE_SECONDS)
    assert alive == []
    if sent == signal.SIGINT:
        assert process.returncode == 130
        assert "with quick 1.0 built: run the same command" in rest
        assert "Traceback" not in rest
    (tmp_path / "notes" / "wait-slow").unlink()
    built, _ = build(lock)
    assert answer(built) == "42"
    assert len(notes(tmp_path, "quick")) == 1
