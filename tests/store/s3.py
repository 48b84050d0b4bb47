"""A real S3 API on loopback."""

import logging
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import fsspec
from moto.server import ThreadedMotoServer

SECRET = "a-secret-that-must-not-be-stored"


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
