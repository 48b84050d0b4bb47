"""A proxy on loopback that stands before a real service and does what networks and proxies do to it."""

import json
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx2

#: Faults before the service hears of the request.
BEFORE = {
    "busy": (429, {"Retry-After": "0"}),
    "busy until a date": (429, {"Retry-After": formatdate(0, usegmt=True)}),
    "busy until no date": (429, {"Retry-After": "Mon, 01 Jan 99999999999 00:00:00 GMT"}),
    "busy without a word": (429, {}),
    "busy with a word that says nothing": (429, {"Retry-After": "soon"}),
    "error": (500, {}),
    "bad gateway": (502, {}),
    "unavailable": (503, {"Retry-After": "0"}),
    "gateway timeout": (504, {}),
    "request timeout": (408, {}),
}
#: Faults after the service has executed.
AFTER = (
    "cut in the middle of a line",
    "cut after the head",
    "cut before an answer",
    "ended without a line",
    "garbage",
    "binary garbage",
    "a result of another item",
    "an outcome of another form",
    "deep nesting",
)
_HOP_BY_HOP = ("content-length", "content-encoding", "transfer-encoding", "connection", "date", "server")


class FaultyProxy:
    """Forwards what it is asked, but for the requests that `fault` names a fault for."""

    def __init__(self, target: str) -> None:
        self.fault: Callable[[str, str], str] = self._next_of_batch
        """Told method and path of a request; empty forwards it."""
        self.faults: deque[str] = deque()
        """Those of the next batches."""
        self.batches = 0
        self.seen: list[tuple[str, str]] = []
        self.released = threading.Event()
        self.info: dict = {}
        """What the service's own information is changed to."""
        self.client = httpx2.Client(base_url=target, trust_env=False, timeout=60)
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"owner": self}))
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # a client that was killed is no error of the proxy's
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def _next_of_batch(self, _method: str, path: str) -> str:
        if path != "/v1/batches":
            return ""
        self.batches += 1
        return self.faults.popleft() if self.faults else ""


@contextmanager
def faulty_proxy(target: str) -> Iterator[FaultyProxy]:
    proxy = FaultyProxy(target)
    thread = threading.Thread(target=proxy.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.released.set()
        proxy.server.shutdown()
        thread.join()
        proxy.server.server_close()
        proxy.client.close()


class _Handler(BaseHTTPRequestHandler):
    owner: FaultyProxy
    protocol_version = "HTTP/1.1"

    def handle_any(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.owner.seen.append((self.command, self.path))
        fault = self.owner.fault(self.command, self.path)
        if fault in BEFORE:
            status, headers = BEFORE[fault]
            self._say(status, headers, b"no")
        elif fault == "cut before the request":
            self.close_connection = True
        elif fault == "hang":
            self.owner.released.wait(60)
            self.close_connection = True
        else:
            headers = {name: value for name, value in self.headers.items() if name.lower() != "accept-encoding"}
            answer = self.owner.client.request(self.command, self.path, content=body, headers=headers)
            self._answer(fault, answer)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = handle_any  # noqa: N815 - http.server's names

    def _answer(self, fault: str, answer: httpx2.Response) -> None:
        kept = {name: value for name, value in answer.headers.items() if name not in _HOP_BY_HOP}
        content = answer.content
        if self.command == "HEAD":
            kept["Content-Length"] = answer.headers.get("content-length", "0")
        if self.command == "GET" and answer.status_code == 200 and self.owner.info:
            content = json.dumps(answer.json() | self.owner.info).encode()
        lines = {
            "": content,
            "ended without a line": b"\n",
            "garbage": b"<html>hello</html>\n",
            "binary garbage": bytes(range(256)) + b"\n",
            "a result of another item": b'{"id":"another","outcome":{}}\n',
            "an outcome of another form": b'{"id":"item","outcome":{"frames":[{"event":"end","and":1},{}]}}\n',
            "deep nesting": b"[" * 100_000 + b"\n",
            "endless": b"x" * (1 << 20),
        }
        if fault in lines:
            self._say(answer.status_code, kept, lines[fault])
            return
        self.close_connection = True
        if fault == "cut before an answer":
            return
        half = answer.content[: len(answer.content) // 2] if "middle" in fault else b""
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        if half:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(half), half))

    def _say(self, status: int, headers: dict[str, str], content: bytes) -> None:
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(content))} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""
