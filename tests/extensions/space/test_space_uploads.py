"""The space opens what was uploaded to it, and no other file of its user."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from tests.serving.space_process import SpaceProcess

pytestmark = [pytest.mark.slow, pytest.mark.sandbox]

SECRET = "the secret of this machine's user"
_LIMITS = ["1", -1, 1, 30720, 30720, 10, True, False, False, "0"]
_FILE = {"meta": {"_type": "gradio.FileData"}}


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SpaceProcess]:
    """A space without a key."""
    folder = tmp_path_factory.mktemp("space")
    (folder / "secret.txt").write_text(f"{SECRET}\n")
    (folder / "uploads").mkdir()
    (folder / "uploads" / "link.txt").symlink_to(folder / "secret.txt")
    one = SpaceProcess(folder)
    yield one
    one.stop()


def answer(space: SpaceProcess, path: str, body: bytes = b"", **headers: str) -> str:
    """What comes back, status and body."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(space.url + path, body or None, {"Content-Type": "application/json"} | named)
    try:
        with urllib.request.urlopen(request, timeout=120) as found:
            return f"{found.status} {found.read().decode()}"
    except urllib.error.HTTPError as error:
        with error:
            return f"{error.code} {error.read().decode()}"


def called(space: SpaceProcess, name: str, *data: Any) -> str:
    """All that an endpoint answers."""
    begun = answer(space, f"/gradio_api/call/{name}", json.dumps({"data": data}).encode())
    event = json.loads(begun.removeprefix("200 "))["event_id"]
    return answer(space, f"/gradio_api/call/{name}/{event}")


@pytest.mark.slow
@pytest.mark.parametrize(
    "named",
    [
        {"path": "{folder}/secret.txt"},
        {"path": "{folder}/secret.txt", "is_stream": True},
        {"path": "{folder}/uploads/../secret.txt"},
        {"path": "{folder}/uploads/link.txt"},
        {"path": "{folder}/uploads/link.txt", "is_stream": True},
        {"path": "{folder}/uploads", "is_stream": True},
        {"path": "file://{folder}/secret.txt"},
        {"path": "http://127.0.0.1:9/secret.txt"},
        {"path": "http://127.0.0.1:9/secret.txt", "is_stream": True},
    ],
)
def test_a_path_that_a_call_names_is_not_opened(space: SpaceProcess, named: dict[str, Any]) -> None:
    """Neither copied, nor read, nor removed; links, streams and addresses are no way around it."""
    folder = space.log.parent
    value = named | _FILE | {"path": named["path"].format(folder=folder)}
    calls = [("complete", "full", value, *_LIMITS)]
    if not value.get("is_stream"):  # Gradio copies what any parameter names, of whatever kind it is
        calls += [(value, "full", None, *_LIMITS), ("complete", "full", None, *_LIMITS[:-1], value)]
    for call in calls:
        reply = called(space, "predict", *call)
        assert "this file was not uploaded to the space" in reply
        assert SECRET not in reply
    assert (folder / "secret.txt").read_text() == f"{SECRET}\n"
    files = [file for file in (folder / "uploads").rglob("*") if file.is_file() and not file.is_symlink()]
    assert not [file for file in files if SECRET in file.read_text()]


def test_what_was_uploaded_is_read_and_not_shown(space: SpaceProcess) -> None:
    """An upload is taken; what is wrong with it is said without its content."""
    head = '--b\r\nContent-Disposition: form-data; name="files"; filename="m.jsonl"\r\n\r\n'
    body = f"{head}{SECRET}\r\n--b--\r\n".encode()
    sent = answer(space, "/gradio_api/upload", body, Content_Type="multipart/form-data; boundary=b")
    (path,) = json.loads(sent.removeprefix("200 "))
    reply = called(space, "predict", "complete", "full", {"path": path} | _FILE, *_LIMITS)
    assert "m.jsonl, line 1" in reply
    assert SECRET not in reply


def test_files_of_the_machine_are_not_served(space: SpaceProcess) -> None:
    """By Gradio's own address for files either."""
    for path in ("secret.txt", "uploads/link.txt", f"space-{space.port}.log"):
        assert answer(space, f"/gradio_api/file={space.log.parent / path}").startswith("403")


def test_a_page_of_another_site_gets_nothing(space: SpaceProcess) -> None:
    """Whatever it asks for: its own name, resolved to loopback, opens no space without a key."""
    for path, body in (("/", b""), ("/gradio_api/info", b""), ("/gradio_api/call/predict", b'{"data": [null]}')):
        assert answer(space, path, body, Host="attacker.example").startswith("403")
        assert answer(space, path, body, Host=f"localhost:{space.port}").startswith("200")
        own = {"Host": f"localhost:{space.port}"}
        for origin in ("http://attacker.example", "http://127.0.0.1:1", "null"):
            assert answer(space, path, body, **own, Origin=origin).startswith("403")
        assert answer(space, path, body, **own, Origin=f"http://127.0.0.1:{space.port}").startswith("200")


def test_a_length_that_is_stated_twice_is_refused(space: SpaceProcess) -> None:
    """Before the page or an endpoint sees the request."""
    reply = answer(space, "/gradio_api/call/predict", b"0\r\n\r\n", Transfer_Encoding="chunked", Content_Length="5")
    assert reply.startswith("400")
    assert "send one of them" in reply
