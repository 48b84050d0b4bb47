"""From what pages show to HTML: templates, in which every text is text, and the files beside them."""

import hashlib
import math
import subprocess
import sys
from collections.abc import Mapping
from datetime import datetime
from functools import cache, cached_property
from http import HTTPStatus
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

from starlette.responses import HTMLResponse, Response

import bigcodeflow
from bigcodeflow.core.display_text import visible
from bigcodeflow.explorer.catalog import utc
from bigcodeflow.report.writer import asset, charting_library
from bigcodeflow.results.formatting import percent, percent_range

if TYPE_CHECKING:
    from jinja2 import Environment

_HERE = Path(__file__).parent
#: Of the report, whose look and parts the pages share.
_SHARED_SCRIPTS = ("dom.js", "code.js", "charts.js")
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
#: What a page may load and do: files of this address, nothing inline, no frame around it, no markup made by scripts.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
    "trusted-types default"
)


class Asset(NamedTuple):
    """A file beside the pages."""

    content: bytes
    media_type: str


class Renderer:
    """Templates with what all of them need."""

    @cached_property
    def _environment(self) -> "Environment":
        from jinja2 import Environment, FileSystemLoader, StrictUndefined

        environment = Environment(
            loader=FileSystemLoader(_HERE / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            # Models, files and other people's runs wrote these texts: no control character and no mark that turns the
            # direction of reading round reaches a page.
            finalize=lambda value: visible(value) if type(value) is str else value,
        )
        environment.filters |= {
            "percent": _percent, "ends": percent_range, "moment": _moment, "day": _day, "duration": duration,
            "number": _number, "worded": lambda text: text.replace("_", " "), "money": _money,
        }  # fmt: skip
        environment.globals |= {"link": link, "place": _place, "versions": asset_versions()}
        environment.globals["version"] = bigcodeflow.__version__
        return environment

    def compile(self) -> None:
        """Compile every template, which takes tenths of a second."""
        for name in self._environment.list_templates():
            self._environment.get_template(name)

    def page(self, template: str, context: Mapping[str, Any], status: int = HTTPStatus.OK) -> Response:
        """A page of a template."""
        text = self._environment.get_template(template).render(context)
        return HTMLResponse(text, status)


@cache
def assets() -> Mapping[str, Asset]:
    """Files beside the pages, but the charting library, by name."""
    own = _HERE / "assets"
    script = "\n".join([*map(asset, _SHARED_SCRIPTS), (own / "explorer.js").read_text(encoding="utf-8")])
    style = asset("report.css") + (own / "explorer.css").read_text(encoding="utf-8")
    return {
        "explorer.js": Asset(script.encode(), "text/javascript"),
        "explorer.css": Asset(style.encode(), "text/css"),
    }


@cache
def asset_versions() -> Mapping[str, str]:
    """What the addresses of files end with: another one for another content, so that browsers may keep them."""
    found = {name: hashlib.sha256(file.content).hexdigest()[:12] for name, file in assets().items()}
    return found | {"vega.js": metadata.version("vl-convert-python")}


@cache
def vega() -> Asset:
    """The charting library; making it takes 2 s of CPU once a machine, in another process: no page waits meanwhile."""
    make = "from bigcodeflow.report.writer import charting_library; charting_library()"
    subprocess.run([sys.executable, "-P", "-c", make], stdin=subprocess.DEVNULL, check=False)
    return Asset(charting_library().encode(), "text/javascript")


def link(path: str, given: Mapping[str, object] | None = None, /, **query: object) -> str:
    """An address of the explorer; parts without a value are left out, named ones replace given ones."""
    found = {name: value for name, value in {**(given or {}), **query}.items() if value not in (None, "", False)}
    return f"{path}?{urlencode(found, doseq=True)}" if found else path


def duration(seconds: float | None) -> str:
    """Seconds in words, such as '2.4 s', '7 min' or '3.5 h'; empty where they are not known."""
    if seconds is None or not math.isfinite(seconds):
        return ""
    if seconds < 2 * _MINUTE:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"  # noqa: PLR2004 - two digits are enough
    if seconds < 2 * _HOUR:
        return f"{seconds / _MINUTE:.0f} min"
    return f"{seconds / _HOUR:.1f} h" if seconds < 2 * _DAY else f"{seconds / _DAY:.0f} days"


def _place(href: str) -> str:
    """Where a cell of the report's tables leads in the explorer."""
    shown, _, filters = href.partition("view=samples")
    return f"/samples?{filters.lstrip('&')}" if shown == "#" else href if href.startswith("/") else ""


def _percent(share: float | None) -> str:
    return "" if share is None else percent(share)


def _moment(moment: datetime | None) -> str:
    return "" if moment is None else f"{utc(moment):%Y-%m-%d %H:%M}"


def _day(moment: datetime | None) -> str:
    return "" if moment is None else f"{utc(moment):%Y-%m-%d}"


def _number(value: float | None, digits: int = 0) -> str:
    return "" if value is None else f"{value:,.{digits}f}"


def _money(value: float | None) -> str:
    return "" if value is None else f"{value:,.2f}"
