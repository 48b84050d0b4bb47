"""A PostgreSQL server for the tests that Prefect keeps its records in."""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.prefect_service.services import free_port, wait_for

PASSWORD = "kept-to-ourselves"


def _program(name: str) -> str:
    """A program of PostgreSQL; Debian keeps them beside the path."""
    debian = [str(folder) for folder in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)]
    found = shutil.which(name, path=os.pathsep.join([*debian, os.environ["PATH"]]))
    return found or pytest.skip(f"PostgreSQL's {name} is not installed")


@contextmanager
def postgresql_server() -> Iterator[str]:
    """URL of an empty database on the loopback interface, which ends with the block."""
    # PostgreSQL refuses to run as root, and its user cannot enter root's temporary folders.
    user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.geteuid() == 0 else []
    with tempfile.TemporaryDirectory(prefix="postgresql-") as name:
        folder, port = Path(name), free_port()
        (folder / "password").write_text(PASSWORD)
        if user:
            for path in (folder, folder / "password"):
                shutil.chown(path, "postgres", "postgres")
        options = ["--username=owner", "--auth=scram-sha-256", f"--pwfile={folder}/password", "--no-sync"]
        subprocess.run([*user, _program("initdb"), *options, f"{folder}/data"], check=True, capture_output=True)
        listening = ["-p", str(port), "-k", str(folder), "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"]
        server = subprocess.Popen(
            [*user, _program("postgres"), "-D", f"{folder}/data", *listening], stderr=subprocess.DEVNULL
        )
        ready = [_program("pg_isready"), "--quiet", "--host=127.0.0.1", f"--port={port}"]
        try:
            wait_for(lambda: subprocess.run(ready, check=False).returncode == 0, "PostgreSQL")
            yield f"postgresql://owner:{PASSWORD}@127.0.0.1:{port}/postgres"
        finally:
            server.send_signal(signal.SIGINT)  # without waiting for clients to leave
            server.wait(timeout=60)
