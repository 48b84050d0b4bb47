"""Web application of the explorer: pages and forms, only for requests that use this machine's own name."""

import ipaddress
import logging
import socket
from collections.abc import Callable, Iterator
from functools import partial
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl

import duckdb
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

import bigcodeflow
from bigcodeflow.core.errors import BigCodeFlowError, error_message
from bigcodeflow.core.listening import is_loopback, is_own_name, is_same_site, name_of
from bigcodeflow.explorer import actions, changes, comparison_pages, run_pages, sample_pages, study_pages
from bigcodeflow.explorer.actions import Action
from bigcodeflow.explorer.catalog import Catalog
from bigcodeflow.explorer.pages import AddressError, NotThereError, Page, Visit, now, own_pages
from bigcodeflow.explorer.rendering import POLICY, assets, compile_templates, rendered, vega
from bigcodeflow.pipeline.live_files import live_runs

#: Headers of all responses.
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    # With "no-referrer", browsers would send "Origin: null" with the forms of these pages.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
#: Cache-Control of assets, whose addresses change with their content.
_KEPT = "private, max-age=31536000, immutable"
_STATUSES = {NotThereError: HTTPStatus.NOT_FOUND, AddressError: HTTPStatus.UNPROCESSABLE_ENTITY}

logger = logging.getLogger(__name__)


def warm_up(catalog: Catalog) -> Iterator[None]:
    """Prepare for the first requests: read the catalog, compile templates, and make pages and charts once.

    The function yields between its steps, so that the caller can stop early.
    """
    compile_templates()
    yield
    try:
        version = catalog.version()
        _ = version.by_record, version.series, version.tasks, version.pass_shares
        yield
        # Make a page of each costly kind, to import its modules; runs of the same series are always comparable.
        nights = next((runs for runs in version.series.values() if len(runs) > 1), version.runs)
        records = [run.record for run in nights[:2]]
        visit = Visit(catalog, version, QueryParams([("run", record) for record in records]), now())
        changes.changes_of(catalog, version)
        for record in records:
            yield
            run_pages.one_run(visit, record)
        yield
        comparison_pages.compare_page(visit)
    except BigCodeFlowError as error:  # the pages will show it too
        logger.warning("%s", error)
    yield
    vega()


def make_app(catalog: Catalog, *, host: str = "127.0.0.1") -> ASGIApp:
    """Create the application; ``host`` is the address on which it listens."""

    def health(_request: Request) -> Response:
        # The store is named, so that `up` can distinguish this explorer from other programs on the port.
        return PlainTextResponse(f"bigcodeflow {bigcodeflow.__version__} {catalog.store.location}")

    def refused(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else HTTPStatus.INTERNAL_SERVER_ERROR
        return _problem(catalog, request, "There is no such page.", status)

    pages: dict[str, Callable[..., Page]] = {
        "/": run_pages.all_runs,
        "/live": run_pages.live_page,
        "/changes": changes.changes_page,
        "/trends": changes.trends,
        "/compare": comparison_pages.compare_page,
        "/samples": sample_pages.samples,
        "/sample": sample_pages.sample,
        "/studies": study_pages.all_studies,
        "/runs/{record}": run_pages.one_run,
        "/runs/{record}/delete": actions.delete_page,
        "/runs/{record}/retry": actions.retry_page,
        "/studies/{study}/{key}": study_pages.one_study,
    }
    own = {address: page for address, page in own_pages().items() if address not in pages}
    for address in own_pages().keys() - own.keys():
        logger.warning("plug-in %s of bigcodeflow.pages is left out: the explorer uses this name itself", address[1:])
    pages |= {address: page.make for address, page in own.items()}
    # Starlette calls these functions in threads, so that no page has to wait for another.
    routes = [Route(path, partial(_answer, catalog, make)) for path, make in pages.items()]
    may_change = is_loopback(host)
    if may_change:
        routes += [Route(path, partial(_act, catalog, act), methods=["POST"]) for path, act in actions.ACTIONS.items()]
    routes += [Route("/assets/{name}", _asset), Route("/health", health), Route("/runs.csv", partial(_csv, catalog))]
    app = Starlette(routes=routes, exception_handlers={HTTPException: refused})
    app.state.may_change = may_change
    app.state.own_pages = {address: page.title for address, page in own.items()}
    return OwnNameOnly(app, host)


def _answer(catalog: Catalog, make: Callable[..., Page], request: Request) -> Response:
    """Return the page that ``make`` makes, or a page that describes the problem with the address or the store.

    ``make`` receives the visit and the values in the path, such as a run's record.
    """
    try:
        visit = Visit(catalog, catalog.version(), request.query_params, now())
        template, context = make(visit, **request.path_params)
        return rendered(template, {**_common(catalog, request), **context})
    except BigCodeFlowError as error:
        return _problem(catalog, request, str(error), _STATUSES.get(type(error), HTTPStatus.CONFLICT))
    except duckdb.Error as error:
        logger.warning("%s: %s", request.url.path, error_message(error))
        message = f"A table of the store cannot be read ({error_message(error)}): repeat the command that wrote it."
        return _problem(catalog, request, message, HTTPStatus.INTERNAL_SERVER_ERROR)


def _problem(catalog: Catalog, request: Request, message: str, status: int) -> Response:
    context = {**_common(catalog, request), "message": message, "is_action": request.method == "POST"}
    return rendered("problem.html", context, status)


def _common(catalog: Catalog, request: Request) -> dict[str, Any]:
    """Return the template variables that all pages need."""
    moment = now()
    return {
        "path": request.url.path,
        "query": request.query_params,
        "n_live": len(live_runs(catalog.store.root, moment)),
        "location": catalog.store.location,
        "now": moment,
        "may_change": request.app.state.may_change,
        "own_pages": request.app.state.own_pages,
    }


async def _act(catalog: Catalog, action: Action, request: Request) -> Response:
    """Perform the action of an explorer's form, and redirect the browser to the address that the action returns."""
    if not is_same_site(request.headers.get("origin", ""), request.headers.get("host", "")):
        return PlainTextResponse("only this explorer's own pages may change runs", HTTPStatus.FORBIDDEN)
    form = dict(parse_qsl((await request.body()).decode(errors="replace")))
    try:
        place = await run_in_threadpool(action, catalog, form, **request.path_params)
    except BigCodeFlowError as error:
        return _problem(catalog, request, str(error), _STATUSES.get(type(error), HTTPStatus.CONFLICT))
    return RedirectResponse(place, HTTPStatus.SEE_OTHER)


def _csv(catalog: Catalog, request: Request) -> Response:
    try:
        text = run_pages.runs_csv(Visit(catalog, catalog.version(), request.query_params, now()))
    except BigCodeFlowError as error:
        return PlainTextResponse(str(error), _STATUSES.get(type(error), HTTPStatus.CONFLICT))
    return Response(text, media_type="text/csv", headers={"Content-Disposition": 'attachment; filename="runs.csv"'})


def _asset(request: Request) -> Response:
    name = request.path_params["name"]
    found = vega() if name == "vega.js" else assets().get(name)
    if found is None:
        return PlainTextResponse("There is no such file.", HTTPStatus.NOT_FOUND)
    return Response(found.content, media_type=found.media_type, headers={"Cache-Control": _KEPT})


class OwnNameOnly(BaseHTTPMiddleware):
    """Middleware that answers only requests with this machine's name as host, and adds security headers to answers.

    A page of another site can make a browser here send requests, and can read the answers if the site's name resolves
    to 127.0.0.1 (DNS rebinding). Such a page cannot use this machine's own name.
    """

    def __init__(self, app: ASGIApp, host: str) -> None:
        super().__init__(app)
        self._is_loopback = is_loopback(host)
        self._names = {host.lower(), socket.gethostname().lower(), "localhost"}

    async def dispatch(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
        """Answer the request, or refuse it with status 403."""
        if self._is_own(request.headers.get("host", "")):
            response = await call_next(request)
        else:
            names = "127.0.0.1 and localhost" if self._is_loopback else "the address and the name of its machine"
            response = PlainTextResponse(f"this explorer answers only requests to {names}", HTTPStatus.FORBIDDEN)
        response.headers.update(_HEADERS)
        response.headers.setdefault("Cache-Control", "no-store")
        return response

    def _is_own(self, host: str) -> bool:
        if self._is_loopback:
            return is_own_name(host)
        name = name_of(host).lower()
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return name in self._names
        return True  # an IP address cannot be resolved to another machine
