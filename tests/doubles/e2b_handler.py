"""The double's answers to E2B's control plane and to the processes' part of envd."""

import base64
import json
import re
import struct
import time
import uuid
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
    ("request_build", "POST", r"/v3/templates"),
    ("upload_link", "GET", r"/templates/([^/]+)/files/([^/]+)"),
    ("upload", "PUT", r"/uploads/([^/]+)/([^/]+)"),
    ("start_build", "POST", r"/v2/templates/([^/]+)/builds/([^/]+)"),
    ("build_status", "GET", r"/templates/([^/]+)/builds/([^/]+)/status"),
    ("health", "GET", r"/health"),
    ("Start", "POST", r"/process\.Process/Start"),
    ("Connect", "POST", r"/process\.Process/Connect"),
    ("SendInput", "POST", r"/process\.Process/SendInput"),
    ("SendSignal", "POST", r"/process\.Process/SendSignal"),
    ("CloseStdin", "POST", r"/process\.Process/CloseStdin"),
    ("List", "POST", r"/process\.Process/List"),
]
_ENVD = ("health", "Start", "Connect", "SendInput", "SendSignal", "CloseStdin", "List")
#: What needs no key: uploads carry their right in the address.
_KEYLESS = (*_ENVD, "upload")
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

    do_GET = do_POST = do_PUT = do_DELETE = _route  # noqa: N815 - http.server's names

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
        if name not in _KEYLESS and self.headers.get("X-API-KEY") != self.double.key:
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
            message = "you have reached the maximum number of concurrent sandboxes"
            return self._say(429, {"code": 429, "message": message})
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
        sandbox.ends_at = time.time() + json.loads(self.body)["timeout"] / self.double.pace
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

    # builds

    def _request_build(self) -> None:
        from .e2b import Template

        body = json.loads(self.body)
        template = self.double.templates.get(body["name"]) or Template(uuid.uuid4().hex[:20], body["name"])
        template.cores, template.memory_mib = body.get("cpuCount", 2), body.get("memoryMB", 1024)
        build = self.double.new_build(template, "waiting")
        names = {"public": False, "names": [template.name], "tags": [], "aliases": [template.name]}
        self._say(202, {"templateID": template.template_id, "buildID": build.build_id} | names)

    def _upload_link(self, template_id: str, sha: str) -> None:
        present = sha in self.double.templates[template_id].files
        self._say(201, {"present": present, "url": f"{self.double.url}/uploads/{template_id}/{sha}"})

    def _upload(self, template_id: str, sha: str) -> None:
        self.double.templates[template_id].files[sha] = self.body
        self._say(200)

    def _start_build(self, template_id: str, build_id: str) -> None:
        template = self.double.templates[template_id]
        build = next(one for one in template.builds if one.build_id == build_id)
        body = json.loads(self.body)
        build.steps, build.image = body["steps"], body.get("fromImage", "")
        build.logs = [f"{step['type']} {' '.join(step['args'])}"[:200] for step in build.steps]
        build.status, build.reason = "building", self.double.build_fails_with
        self._say(202)

    def _build_status(self, template_id: str, build_id: str) -> None:
        template = self.double.templates[template_id]
        build = next(one for one in template.builds if one.build_id == build_id)
        offset = int(dict(parse_qsl(self.query)).get("logsOffset", 0))
        now = datetime.now(UTC).isoformat()
        lines = [{"timestamp": now, "message": line, "level": "info"} for line in build.logs[offset : offset + 100]]
        answer: dict[str, Any] = {"logs": [], "logEntries": lines, "templateID": template_id, "buildID": build_id}
        if offset and build.status == "building":
            build.status = "error" if build.reason else "ready"
        if build.reason and build.status == "error":
            answer["reason"] = {"message": build.reason, "step": "1", "logEntries": []}
        self._say(200, answer | {"status": build.status})

    # envd

    def _envd(self, name: str) -> None:
        sandbox = self.double.sandboxes.get(self.headers.get("E2b-Sandbox-Id", ""))
        if not sandbox or sandbox.state != "running":
            found = {"sandboxId": self.headers.get("E2b-Sandbox-Id"), "code": 502}
            return self._say(502, found | {"message": "The sandbox was not found"})
        if name != "health" and self.headers.get("X-Access-Token") != sandbox.token:
            return self._say(401, {"code": "unauthenticated", "message": "invalid access token"})
        if name == "health":
            return self._say(204)
        if name in ("Start", "Connect"):
            return self._stream(name, sandbox)
        return self._unary(name, sandbox, json.loads(self.body or b"{}"))

    def _unary(self, name: str, sandbox: "Sandbox", body: dict[str, Any]) -> None:
        if name == "List":
            return self._say(200, {"processes": [{"pid": pid} for pid in sandbox.machine.commands]})
        command = sandbox.machine.commands.get(body["process"].get("pid", 0))
        if not command or command.process.poll() is not None:
            return self._say(404, {"code": "not_found", "message": "process not found"})
        try:
            if name == "SendInput":
                command.write(base64.b64decode(body["input"]["stdin"]))
            elif name == "CloseStdin":
                command.process.stdin.close()
            else:
                command.kill()
        except OSError as error:
            return self._say(500, {"code": "internal", "message": f"error writing to stdin: {error}"})
        return self._say(200, {})

    def _stream(self, name: str, sandbox: "Sandbox") -> None:
        body = json.loads(self.body[5:])
        if name == "Start":
            process = body["process"]
            arguments = [process["cmd"], *process.get("args", [])]
            command = sandbox.machine.run(arguments, process.get("envs", {}), stdin=body.get("stdin", False))
        else:
            command = sandbox.machine.commands[body["process"]["pid"]]
        events = command.listen()
        self._begin_stream()
        self._frame({"event": {"start": {"pid": command.pid}}})
        while (event := events.get()) is not None:
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

    def _begin_stream(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/connect+json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

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
