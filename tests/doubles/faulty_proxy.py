"""A proxy on loopback that stands before a real service and does what networks and proxies do to it."""

import json
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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


class FaultyProxy:
    """Forwards what it is asked, but for the faults that wait for the next batches."""

    def __init__(self, target: str) -> None:
        self.faults: deque[str] = deque()
        self.batches = 0
        self.released = threading.Event()
        self.info: dict = {}
        """What the service's own information is changed to."""
        self.client = httpx2.Client(base_url=target, trust_env=False, timeout=60)
        proxy = self

        class Handler(_Handler):
            owner = proxy

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"


@contextmanager
def faulty_proxy(target: str) -> Iterator[FaultyProxy]:
    proxy = FaultyProxy(target)
    thread = threading.Thread(target=proxy.server.serve_forever, kwargs={"poll_interval": 0.05})
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

    def do_GET(self) -> None:
        answer = self.owner.client.get(self.path, headers=self._headers())
        content = answer.content
        if answer.status_code == 200 and self.owner.info:
            content = json.dumps(answer.json() | self.owner.info).encode()
        self._say(answer.status_code, {}, content)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        fault = ""
        if self.path == "/v1/batches":
            self.owner.batches += 1
            with suppress(IndexError):
                fault = self.owner.faults.popleft()
        if fault in BEFORE:
            status, headers = BEFORE[fault]
            self._say(status, headers, b"no")
        elif fault == "cut before the request":
            self.close_connection = True
        elif fault == "hang":
            self.owner.released.wait(60)
            self.close_connection = True
        else:
            answer = self.owner.client.post(self.path, content=body, headers=self._headers())
            self._answer(fault, answer)

    def _answer(self, fault: str, answer: httpx2.Response) -> None:
        lines = {
            "": answer.content,
            "ended without a line": b"\n",
            "garbage": b"<html>hello</html>\n",
            "binary garbage": bytes(range(256)) + b"\n",
            "a result of another item": b'{"id":"another","outcome":{}}\n',
            "an outcome of another form": b'{"id":"item","outcome":{"frames":[{"event":"end","and":1},{}]}}\n',
            "deep nesting": b"[" * 100_000 + b"\n",
            "endless": b"x" * (1 << 20),
        }
        if fault in lines:
            self._say(answer.status_code, {}, lines[fault])
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

    def _headers(self) -> dict[str, str]:
        return {name: self.headers[name] for name in ("Authorization", "Content-Type") if name in self.headers}

    def _say(self, status: int, headers: dict[str, str], content: bytes) -> None:
        self.send_response(status)
        for name, value in (headers | {"Content-Length": str(len(content))}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""
