"""E2B on the loopback interface, for the real SDK to talk to.

Its control plane keeps sandboxes with metadata and time-outs, pages of them, templates with tags and builds; its envd
speaks Connect (streams of JSON frames) and files. Sandboxes are real: what is started in one runs, in a process tree
that ends with it. Failures are E2B's: rate limits, gateways, sandboxes that expire or vanish, streams that break off.
"""

import shutil
import tempfile
import threading
import time
import uuid
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from .e2b_handler import handler
from .e2b_machine import Machine

_STEP_SECONDS = 0.02


@dataclass(frozen=True)
class Fault:
    """An answer that a request gets instead of its own."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    message: str = "told to fail"
    applies: bool = False
    """The request is done all the same, and only its answer is lost."""


@dataclass
class Build:
    """One build of a template."""

    build_id: str
    opt: Path
    status: str = "ready"


@dataclass
class Template:
    """A name with its builds; the last finished one is the default."""

    template_id: str
    name: str
    cores: int = 2
    memory_mib: int = 8192
    builds: list[Build] = field(default_factory=list)
    public: bool = False


@dataclass
class Sandbox:
    """One sandbox, running or paused."""

    sandbox_id: str
    template: Template
    build: Build
    metadata: dict[str, str]
    timeout_seconds: float
    machine: Machine
    token: str
    started_at: float = field(default_factory=time.time)
    ends_at: float = 0.0
    state: str = "running"
    extensions: int = 0


class E2BDouble:
    """Sandboxes and templates, and the failures that a test asks for."""

    key = "e2b_double"
    """The only API key that it takes."""

    def __init__(self) -> None:
        """Nothing runs before it is entered."""
        self.requests: list[tuple[str, str]] = []
        """Method and path of each that came in."""
        self.faults: dict[str, list[Fault]] = defaultdict(list)
        """Name of a call, such as create, timeout or SendInput → what its next ones get instead."""
        self.drop_streams = 0
        """So many of the streams now open, or opened next, break off at their next event."""
        self.chunk_bytes = 0
        """Output is cut into pieces of so many bytes; 0 leaves it as the process wrote it."""
        self.page = 100
        self.most_sandboxes = 1000
        self.disk_mib = 1024
        self.created: list[Sandbox] = []
        """All that there ever were."""
        self.sandboxes: dict[str, Sandbox] = {}
        self.templates: dict[str, Template] = {}
        self.created_keys: dict[str, str] = {}
        self.lock = threading.RLock()
        self._reserved = 0
        self._folder = Path(tempfile.mkdtemp(prefix="e2b-double-", dir="/var/tmp"))
        # The kernel ends a machine with the thread that started it: one thread for all, as long as the double lives.
        self._starter = ThreadPoolExecutor(1, "machines")
        self._ended = threading.Event()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler(self))
        self.server.daemon_threads = True
        self._threads = [
            threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True),
            threading.Thread(target=self._keep_time, daemon=True),
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._ended.set()
        self.server.shutdown()
        for thread in self._threads:
            thread.join()
        for sandbox in list(self.sandboxes.values()):
            self.end(sandbox)
        self._starter.shutdown()
        self.server.server_close()
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server.server_port}"

    @property
    def variables(self) -> dict[str, str]:
        """What the SDK has to be given to talk to it."""
        return {"E2B_API_KEY": self.key, "E2B_API_URL": self.url, "E2B_SANDBOX_URL": self.url}

    def calls(self, name: str) -> int:
        """How many requests there were whose path holds the name."""
        return sum(name in path for _, path in self.requests)

    def add_template(self, name: str, launcher: str) -> None:
        """Finish a build of a template, whose /opt/bigcodeflow/bin/python is the given shell script."""
        template = self.templates.get(name) or Template(uuid.uuid4().hex[:20], name)
        build = Build(str(uuid.uuid4()), self._folder / uuid.uuid4().hex)
        python = build.opt / "bigcodeflow" / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.write_text(launcher)
        python.chmod(0o755)
        template.builds.append(build)
        self.templates[name] = self.templates[template.template_id] = template

    def find_build(self, reference: str) -> tuple[Template, Build] | None:
        """Template and build that a name, an id, NAME:default or NAME:BUILD stands for."""
        name, _, tag = reference.partition(":")
        template = self.templates.get(name)
        ready = [build for build in template.builds if build.status == "ready"] if template else []
        if tag not in ("", "default"):
            ready = [build for build in ready if build.build_id == tag]
        return (template, ready[-1]) if template and ready else None

    def reserve(self) -> bool:
        """Whether another sandbox may be created now; the place is taken then."""
        with self.lock:
            free = self._reserved < self.most_sandboxes
            self._reserved += free
        return free

    def create(self, template: Template, build: Build, body: dict[str, Any]) -> Sandbox:
        """Start a sandbox."""
        machine = self._starter.submit(Machine, build.opt, disk_mib=self.disk_mib).result()
        sandbox = Sandbox(
            sandbox_id=uuid.uuid4().hex[:20],
            template=template,
            build=build,
            metadata=body.get("metadata") or {},
            timeout_seconds=float(body.get("timeout", 15)),
            machine=machine,
            token=uuid.uuid4().hex,
        )
        sandbox.ends_at = time.time() + sandbox.timeout_seconds
        with self.lock:
            self.created.append(sandbox)
            self.sandboxes[sandbox.sandbox_id] = sandbox
        return sandbox

    def end(self, sandbox: Sandbox) -> None:
        """Kill a sandbox, as a time-out, a failing node and DELETE do."""
        with self.lock:
            if self.sandboxes.pop(sandbox.sandbox_id, None) is None:
                return
            self._reserved -= 1
        sandbox.machine.end()

    def described(self, sandbox: Sandbox) -> dict[str, Any]:
        """A sandbox as the API shows it."""

        def stamp(seconds: float) -> str:
            return datetime.fromtimestamp(seconds, UTC).isoformat()

        return {
            "sandboxID": sandbox.sandbox_id,
            "templateID": sandbox.template.template_id,
            "alias": sandbox.template.name,
            "clientID": "node",
            "startedAt": stamp(sandbox.started_at),
            "endAt": stamp(sandbox.ends_at),
            "cpuCount": sandbox.template.cores,
            "memoryMB": sandbox.template.memory_mib,
            "diskSizeMB": self.disk_mib,
            "metadata": sandbox.metadata,
            "state": sandbox.state,
            "envdVersion": "0.6.4",
        }

    def _keep_time(self) -> None:
        while not self._ended.wait(_STEP_SECONDS):
            for sandbox in list(self.sandboxes.values()):
                if time.time() > sandbox.ends_at:
                    self.end(sandbox)
