"""Routes that another distribution brings."""

from pathlib import Path

import pytest

from tests.command import add_distribution
from tests.serving.conftest import Serve
from tests.serving.services import KEY, RIGHT, TEST, client_of

pytestmark = pytest.mark.sandbox

PROGRAM = '''
from contextlib import ExitStack

from fastapi import APIRouter, Request
from pydantic import BaseModel
from starlette.responses import Response

from bigcodeflow.judge.remote.protocol import BatchRequest, Item
from bigcodeflow.judge.service.request_parsing import parsed_batch, validated
from bigcodeflow.judge.service.routes import OwnService, Routes, body_options, json_response, read_body


class Passable(BaseModel):
    """A program with its test."""

    program: str
    test: str


def parse(body, settings, environment):
    given = validated(body, Passable)
    item = Item(id="1", program=given.program, test=given.test)
    return parsed_batch(BatchRequest(items=[item]), settings, environment)


router = APIRouter()


@router.post("/passes", **body_options(Passable, 503))
async def passes(request: Request, service: OwnService) -> Response:
    with ExitStack() as held:
        batch = await service.read(await read_body(request, service, held), parse)
        verdict = await service.verdict_of(batch, request.is_disconnected)
        return json_response(verdict["status"] == "pass")


ROUTES = Routes(router, (Passable,))
BY_PASSWORD = ROUTES._replace(password=True)
'''


def test_a_route_of_another_distribution_is_served(
    serve_here: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It executes within the service's limits, asks for the key and is described; a broken plug-in is left out."""
    add_distribution(tmp_path, "mine", "[bigcodeflow.routes]\nmine = my_routes:ROUTES\nlost = absent:ROUTES\n")
    (tmp_path / "my_routes.py").write_text(PROGRAM)
    monkeypatch.syspath_prepend(tmp_path)
    with serve_here(max_body_mib=1) as served, client_of(served.url, "") as stranger:
        for program, passed in ((RIGHT, True), ("x = 1", False)):
            answer = served.client.post("/passes", json={"program": program, "test": TEST})
            assert (answer.status_code, answer.json()) == (200, passed)
        for body, status in (({"program": RIGHT}, 422), ({"program": "#" * (1 << 20), "test": TEST}, 413)):
            assert served.client.post("/passes", json=body).status_code == status
        assert served.service.budget._left == 8 << 20
        for given in (None, ("any", KEY)):
            assert stranger.post("/passes", json={}, auth=given).status_code == 401
        document = served.client.get("/openapi.json").json()
    described = document["paths"]["/passes"]["post"]
    assert described["requestBody"]["content"]["application/json"]["schema"]["$ref"].endswith("/Passable")
    assert {*described["responses"]} >= {"200", "400", "401", "408", "413", "415", "422", "429", "503"}
    assert document["components"]["schemas"]["Passable"]["required"] == ["program", "test"]
    assert {"/run_code", "/submit"} < {*document["paths"]}
    assert "plug-in lost (absent:ROUTES) is left out" in caplog.text


def test_a_route_may_take_the_key_as_a_password(
    serve_here: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For clients that know only a URL."""
    add_distribution(tmp_path, "mine", "[bigcodeflow.routes]\nmine = by_password:BY_PASSWORD\n")
    (tmp_path / "by_password.py").write_text(PROGRAM)
    monkeypatch.syspath_prepend(tmp_path)
    with serve_here() as served, client_of(served.url, "") as stranger:
        body = {"program": RIGHT, "test": TEST}
        assert [stranger.post("/passes", json=body, auth=("any", key)).status_code for key in (KEY, "")] == [200, 401]


ODD = """
from fastapi import APIRouter
from pydantic import BaseModel

from bigcodeflow.judge.service.routes import Routes

async def plain(request):
    raise AssertionError("answered without a key")

def with_routes(*adds):
    router = APIRouter()
    for add in adds:
        add(router)
    return router

BatchRequest = type("BatchRequest", (BaseModel,), {})
STARLETTE = Routes(with_routes(lambda router: router.add_route("/plain", plain)))
MOUNTED = Routes(with_routes(lambda router: router.mount("/mounted", plain)))
SOCKET = Routes(with_routes(lambda router: router.add_websocket_route("/socket", plain)))
SUBMIT = Routes(with_routes(lambda router: router.add_api_route("/submit", plain, methods=["POST"])))
BODY = Routes(APIRouter(), (BatchRequest,))
ROUTER = APIRouter()
"""


def test_routes_that_cannot_be_guarded_or_exist_are_left_out(
    serve_here: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The service starts without them; ours answer as before, whatever the other's name."""
    names = ["STARLETTE", "MOUNTED", "SOCKET", "SUBMIT", "BODY", "ROUTER"]
    declared = "".join(f"aa_{name.lower()} = odd_routes:{name}\n" for name in names)
    add_distribution(tmp_path, "odd", f"[bigcodeflow.routes]\n{declared}")
    (tmp_path / "odd_routes.py").write_text(ODD)
    monkeypatch.syspath_prepend(tmp_path)
    with serve_here() as served:
        assert served.client.get("/plain").status_code == served.client.get("/mounted/x").status_code == 404
        assert served.client.post("/submit", json={}).status_code == 422
        assert "items" in str(served.client.get("/openapi.json").json()["components"]["schemas"]["BatchRequest"])
    reasons = ["other routes than FastAPI's"] * 3 + ["has POST /submit", "has BatchRequest", "it is a APIRouter"]
    for name, reason in zip(names, reasons, strict=True):
        [line] = [one.getMessage() for one in caplog.records if f"odd_routes:{name}" in one.getMessage()]
        assert reason in line
