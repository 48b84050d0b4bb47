"""The double's answers to E2B's control plane and to the processes' part of envd."""

import base64
import json
import re
import struct
import time
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, parse_qsl, unquote, urlsplit

from .e2b_machine import Command

if TYPE_CHECKING:
    from .e2b import E2BDouble, Sandbox

_ROUTES = [
    ("create", "POST", r"/v2/sandboxes"),
    ("list", "GET", r"/v2/sandboxes"),
    ("info", "GET", r"/sandboxes/([^/]+)"),
    ("kill", "DELETE", r"/sandboxes/([^/]+)"),
    ("timeout", "POST", r"/sandboxes/([^/]+)/timeout"),
    ("tags", "GET", r"/templates/([^/]+)/tags"),
    ("health", "GET", r"/health"),
    ("Start", "POST", r"/process\.Process/Start"),
    ("SendInput", "POST", r"/process\.Process/SendInput"),
]
_ENVD = ("health", "Start", "SendInput")
_END_OF_STREAM = 2


def handler(double: "E2BDouble") -> type[BaseHTTPRequestHandler]:
    """The request handler of one double."""
    return type("Handler", (_Handler,), {"double": double})


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else each answer waits 40 ms for an acknowledgement
    double: "E2BDouble"

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self._route()

    def do_POST(self) -> None:
        self._route()

    def do_DELETE(self) -> None:
        self._route()

    def _route(self) -> None:
        split = urlsplit(self.path)
        self.query = split.query
        self.double.requests.append((self.command, split.path))
        self.body = self._read()
        for name, method, pattern in _ROUTES:
            found = re.fullmatch(pattern, split.path)
            if found and method == self.command:
                return self._answer_or_fail(name, [unquote(part) for part in found.groups()])
        return self._say(404, {"code": 404, "message": f"no route {split.path}"})

    def _answer_or_fail(self, name: str, parts: list[str]) -> None:
        with self.double.lock:
            fault = self.double.faults[name].pop(0) if self.double.faults[name] else None
        if fault and fault.applies:
            self._quiet = True
            self._answer(name, parts)
            self._quiet = False
        if fault:
            self._say(fault.status, {"code": fault.status, "message": fault.message}, fault.headers)
        else:
            self._answer(name, parts)

    _quiet = False

    def _answer(self, name: str, parts: list[str]) -> None:
        if name not in _ENVD and self.headers.get("X-API-KEY") != self.double.key:
            self._say(401, {"code": 401, "message": "Invalid API key"})
        elif name in _ENVD:
            self._envd(name)
        else:
            getattr(self, f"_{name}")(*parts)

    # control plane

    def _create(self) -> None:
        body = json.loads(self.body)
        key = self.headers.get("Idempotency-Key", "")
        known = self.double.sandboxes.get(self.double.created_keys.get(key, ""))
        if known:
            return self._say(201, self._created(known))
        found = self.double.find_build(body["templateID"])
        if not found:
            return self._say(404, {"code": 404, "message": f"template '{body['templateID']}' not found"})
        if not self.double.reserve():
            return self._say(
                429, {"code": 429, "message": "you have reached the maximum number of concurrent sandboxes"}
            )
        sandbox = self.double.create(*found, body)
        if key:
            self.double.created_keys[key] = sandbox.sandbox_id
        return self._say(201, self._created(sandbox))

    def _created(self, sandbox: "Sandbox") -> dict[str, Any]:
        shown = self.double.described(sandbox)
        names = ("sandboxID", "templateID", "alias", "clientID", "envdVersion")
        return {name: shown[name] for name in names} | {"envdAccessToken": sandbox.token}

    def _list(self) -> None:
        query = {name: values[0] for name, values in parse_qs(self.query).items()}
        wanted = {unquote(name): unquote(value) for name, value in parse_qsl(query.get("metadata", ""))}
        states = query.get("state", "running,paused").split(",")
        found = [
            one
            for one in list(self.double.sandboxes.values())
            if one.state in states and wanted.items() <= one.metadata.items()
        ]
        start = int(query.get("nextToken", 0))
        size = min(int(query.get("limit", 100)), self.double.page)
        more = {"X-Next-Token": str(start + size)} if len(found) > start + size else {}
        self._say(200, [self.double.described(one) for one in found[start : start + size]], more)

    def _info(self, sandbox_id: str) -> None:
        sandbox = self.double.sandboxes.get(sandbox_id)
        self._say(200, self.double.described(sandbox)) if sandbox else self._no_sandbox(sandbox_id)

    def _kill(self, sandbox_id: str) -> None:
        sandbox = self.double.sandboxes.get(sandbox_id)
        if not sandbox:
            return self._no_sandbox(sandbox_id)
        self.double.end(sandbox)
        return self._say(204)

    def _timeout(self, sandbox_id: str) -> None:
        sandbox = self.double.sandboxes.get(sandbox_id)
        if not sandbox:
            return self._no_sandbox(sandbox_id)
        sandbox.ends_at = time.time() + json.loads(self.body)["timeout"]
        sandbox.extensions += 1
        return self._say(204)

    def _no_sandbox(self, sandbox_id: str) -> None:
        self._say(404, {"code": 404, "message": f"sandbox {sandbox_id} not found"})

    def _tags(self, name: str) -> None:
        template = self.double.templates.get(name)
        if not template:
            return self._say(404, {"code": 404, "message": f"template '{name}' not found"})
        if template.public:
            return self._say(403, {"code": 403, "message": "you do not own this template"})
        found = self.double.find_build(name)
        now = datetime.now(UTC).isoformat()
        tags = [{"tag": "default", "buildID": found[1].build_id, "createdAt": now}] if found else []
        return self._say(200, tags)

    # envd

    def _envd(self, name: str) -> None:
        sandbox = self.double.sandboxes.get(self.headers.get("E2b-Sandbox-Id", ""))
        if not sandbox or sandbox.state != "running":
            answer = {
                "sandboxId": self.headers.get("E2b-Sandbox-Id"),
                "message": "The sandbox was not found",
                "code": 502,
            }
            return self._say(502, answer)
        if name != "health" and self.headers.get("X-Access-Token") != sandbox.token:
            return self._say(401, {"code": "unauthenticated", "message": "invalid access token"})
        if name == "health":
            return self._say(204)
        return self._stream(sandbox) if name == "Start" else self._send_input(sandbox, json.loads(self.body))

    def _send_input(self, sandbox: "Sandbox", body: dict[str, Any]) -> None:
        command = sandbox.machine.commands.get(body["process"].get("pid", 0))
        if not command or command.process.poll() is not None:
            return self._say(404, {"code": "not_found", "message": "process not found"})
        try:
            command.write(base64.b64decode(body["input"]["stdin"]))
        except OSError as error:
            return self._say(500, {"code": "internal", "message": f"error writing to stdin: {error}"})
        return self._say(200, {})

    def _stream(self, sandbox: "Sandbox") -> None:
        process = json.loads(self.body[5:])["process"]
        command = sandbox.machine.run([process["cmd"], *process.get("args", [])], process.get("envs", {}))
        self.send_response(200)
        self.send_header("Content-Type", "application/connect+json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self._frame({"event": {"start": {"pid": command.process.pid}}})
        while (event := command.events.get()) is not None:
            if self._drops():
                return
            for piece in self._pieces(event["chunk"]):
                self._frame({"event": {"data": {event["name"]: base64.b64encode(piece).decode()}}})
        if sandbox.sandbox_id in self.double.sandboxes:
            self._finish(command)
        else:
            self._break_off()

    def _drops(self) -> bool:
        with self.double.lock:
            drops = self.double.drop_streams > 0
            self.double.drop_streams -= drops
        if drops:
            self._break_off()
        return drops

    def _pieces(self, chunk: bytes) -> list[bytes]:
        size = self.double.chunk_bytes or len(chunk)
        return [chunk[start : start + size] for start in range(0, len(chunk), size)]

    def _finish(self, command: Command) -> None:
        code = command.process.returncode
        self._frame({"event": {"end": {"exitCode": code, "exited": code >= 0, "status": f"exit status {code}"}}})
        self._frame({}, flag=_END_OF_STREAM)
        self._chunk(b"")

    def _frame(self, message: dict[str, Any], flag: int = 0) -> None:
        data = json.dumps(message).encode()
        self._chunk(struct.pack(">BI", flag, len(data)) + data)

    def _chunk(self, data: bytes) -> None:
        try:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.flush()
        except OSError:  # nobody listens any more; the process goes on, as in a sandbox
            self.close_connection = True

    def _break_off(self) -> None:
        self.close_connection = True
        self.connection.shutdown(2)

    # both

    def _read(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _say(self, status: int, answer: object = None, headers: dict[str, str] | None = None) -> None:
        if self._quiet:
            return
        body = b"" if answer is None else json.dumps(answer).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
