"""A real S3 API on loopback, and a proxy in front of it that fails on demand."""

import http.client
import logging
import os
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from unittest import mock

import fsspec
from moto.server import ThreadedMotoServer

SECRET = "a-secret-that-must-not-be-stored"

Fault = Callable[[str, str], str]
"""Told method and path of a request; says 'pass', 'unavailable' (503), 'drop' (no answer) or 'hold' (none for long)."""


@contextmanager
def s3_server(replicas: Path) -> Iterator[str]:
    """Start the server, point the process and its children at it, and yield its address."""
    logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    forget_servers()
    try:
        with mock.patch.dict(os.environ, variables(f"http://{host}:{port}", replicas)):
            yield f"http://{host}:{port}"
    finally:
        forget_servers()
        server.stop()


def forget_servers() -> None:
    """fsspec keeps its clients, and with them the address of a server that another test has ended."""
    fsspec.get_filesystem_class("s3").clear_instance_cache()


def variables(endpoint: str, replicas: Path) -> dict[str, str]:
    """What makes a process find the server, with a replica folder of its own."""
    return {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": "tests",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_MAX_ATTEMPTS": "1",  # the store's own retries are what is tested; botocore's wait for seconds
        "BIGCODEFLOW_REPLICAS": str(replicas),
    }


def new_bucket() -> str:
    """Make a bucket and return its name."""
    name = f"bucket-{uuid.uuid4().hex[:12]}"
    fsspec.filesystem("s3").mkdir(name)
    return name


class FaultyProxy(ThreadingHTTPServer):
    """Hands requests on to the server, unless `fault` says otherwise."""

    daemon_threads = True

    def __init__(self, endpoint: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.upstream = endpoint.removeprefix("http://")
        self.fault: Fault = lambda _method, _path: "pass"
        self.seen: list[tuple[str, str]] = []
        self.released = threading.Event()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that was killed is no error of the proxy's."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: FaultyProxy

    def handle_any(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.seen.append((self.command, self.path))
        match self.server.fault(self.command, self.path):
            case "unavailable":
                self.send_response(503)
                self.send_header("Content-Length", "0")
                self.end_headers()
            case "drop":
                self.close_connection = True
                self.connection.close()
            case "hold":
                self.server.released.wait(60)
                self.close_connection = True
            case _:
                self._hand_on(body)

    def _hand_on(self, body: bytes) -> None:
        upstream = http.client.HTTPConnection(self.server.upstream, timeout=60)
        upstream.request(self.command, self.path, body, dict(self.headers.items()))
        answer = upstream.getresponse()
        content = answer.read()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("content-length", "transfer-encoding", "connection", "date", "server"):
                self.send_header(name, value)
        length = answer.getheader("Content-Length") if self.command == "HEAD" else str(len(content))
        self.send_header("Content-Length", length or "0")
        self.end_headers()
        self.wfile.write(content)
        upstream.close()

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = handle_any  # noqa: N815 - http.server's names

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def faulty_proxy(endpoint: str) -> Iterator[FaultyProxy]:
    """A running proxy in front of the server."""
    proxy = FaultyProxy(endpoint)
    thread = threading.Thread(target=proxy.serve_forever, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.released.set()
        proxy.shutdown()
        proxy.server_close()
        thread.join()
