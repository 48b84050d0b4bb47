"""Rendering of pages to HTML, with templates that escape all texts, and the assets of the pages."""

import hashlib
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import cache
from http import HTTPStatus
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

from starlette.responses import HTMLResponse, Response

import bigcodeflow
from bigcodeflow.explorer.catalog import utc
from bigcodeflow.explorer.pages import own_pages
from bigcodeflow.report.overview import duration
from bigcodeflow.report.writer import asset, charting_library, template_environment
from bigcodeflow.results.formatting import percent, percent_range

if TYPE_CHECKING:
    from jinja2 import Environment

_HERE = Path(__file__).parent
#: Scripts of the report, whose style and elements the pages share.
_SHARED_SCRIPTS = ("dom.js", "code.js", "charts.js", "theme.js")
#: Content security policy: only files of this server, nothing inline, no frames, no markup made by scripts.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
    "trusted-types default"
)


class Asset(NamedTuple):
    """A file that pages load."""

    content: bytes
    media_type: str


@cache
def _environment() -> "Environment":
    """Return the Jinja environment of the pages, with the filters and globals of all templates."""
    plug_ins = [page.templates for page in own_pages().values()]
    environment = template_environment(_HERE / "templates", *plug_ins, place=_place)
    environment.filters |= {
        "percent": _known(percent),
        "ends": percent_range,
        "moment": _known(lambda moment: f"{utc(moment):%Y-%m-%d %H:%M}"),
        "day": _known(lambda moment: f"{utc(moment):%Y-%m-%d}"),
        "duration": duration,
        "number": lambda value, digits=0: "" if value is None else f"{value:,.{digits}f}",
        "worded": lambda text: text.replace("_", " "),
        "money": _known("{:,.2f}".format),
    }
    environment.globals |= {"link": link, "versions": asset_versions(), "version": bigcodeflow.__version__}
    return environment


def compile_templates() -> None:
    """Compile all templates, which takes some tenths of a second."""
    for name in _environment().list_templates(extensions=["html"]):
        _environment().get_template(name)


def rendered(template: str, context: Mapping[str, Any], status: int = HTTPStatus.OK) -> Response:
    """Render a template to an HTML response."""
    return HTMLResponse(_environment().get_template(template).render(context), status)


@cache
def assets() -> Mapping[str, Asset]:
    """Return the assets of the pages by name, without the charting library."""
    own = _HERE / "assets"
    script = "\n".join([*map(asset, _SHARED_SCRIPTS), (own / "explorer.js").read_text(encoding="utf-8")])
    style = asset("report.css") + (own / "explorer.css").read_text(encoding="utf-8")
    return {
        "explorer.js": Asset(script.encode(), "text/javascript"),
        "explorer.css": Asset(style.encode(), "text/css"),
    }


@cache
def asset_versions() -> Mapping[str, str]:
    """Return the version for each asset's address; it changes with the content, so that browsers may cache assets."""
    found = {name: hashlib.sha256(file.content).hexdigest()[:12] for name, file in assets().items()}
    return found | {"vega.js": metadata.version("vl-convert-python")}


@cache
def vega() -> Asset:
    """Return the charting library; a child process bundles it once per machine (2 s of CPU), so that no page waits."""
    make = "from bigcodeflow.report.writer import charting_library; charting_library()"
    subprocess.run([sys.executable, "-P", "-c", make], stdin=subprocess.DEVNULL, check=False)
    return Asset(charting_library().encode(), "text/javascript")


def link(path: str, given: Mapping[str, object] | None = None, /, **query: object) -> str:
    """Return ``path`` with query parameters; ``query`` overrides ``given``, and empty parameters are left out."""
    found = {name: value for name, value in {**(given or {}), **query}.items() if value not in (None, "", False)}
    return f"{path}?{urlencode(found, doseq=True)}" if found else path


def _place(href: str) -> str:
    """Convert a link in the report's tables to an address of the explorer; empty if there is no such page."""
    shown, _, filters = href.partition("view=samples")
    return f"/samples?{filters.lstrip('&')}" if shown == "#" else href if href.startswith("/") else ""


def _known(form: Callable[[Any], str]) -> Callable[[Any], str]:
    """Make a template filter that formats a value with ``form``, and None as ''."""
    return lambda value: "" if value is None else form(value)
