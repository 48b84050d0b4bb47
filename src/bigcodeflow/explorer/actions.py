"""Actions of the explorer's forms: cancel, label, delete and retry runs; and pages to confirm a deletion or retry."""

import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from urllib.parse import quote

from bigcodeflow.core.errors import ConfigError
from bigcodeflow.core.table import Table
from bigcodeflow.explorer.catalog import Catalog, ListedRun
from bigcodeflow.explorer.pages import NotThereError, Page, Visit
from bigcodeflow.pipeline.live_files import (
    LiveState,
    ended_runs,
    forget_ended,
    live_runs,
    refuse_if_under_way,
    request_cancellation,
)
from bigcodeflow.pipeline.retention import removable_with, remove_unused, removed_rows, totals
from bigcodeflow.report.overview import Section
from bigcodeflow.results import rebuild_catalog
from bigcodeflow.results.runs import RecordedRun, RunLabels, recorded_run

#: Time in which a retried run either shows that it is in progress, or ends.
_START_SECONDS = 60.0
_POLL_SECONDS = 0.2
#: Characters of a name that tell which artifact goes, on a telephone too.
_NAME_CHARACTERS = 24

Action = Callable[..., str]
"""Function of the catalog, the form's fields and the parts of the path, which returns the next page's address."""


def cancel(catalog: Catalog, _form: Mapping[str, str], run_id: str) -> str:
    """Request that a run in progress ends; return the address of the page of runs in progress."""
    if not request_cancellation(catalog.store.root, run_id):
        raise NotThereError("This run is not in progress any more: see Runs.")
    return "/live"


def label(catalog: Catalog, form: Mapping[str, str], record: str) -> str:
    """Write the name, tags and note of a run, and archive it or bring it back; rebuild the catalog."""
    if record not in catalog.version().by_record:
        raise NotThereError("There is no such run: see Runs.")
    tags = tuple(filter(None, map(str.strip, form.get("tags", "").split(","))))
    texts = {name: form.get(name, "").strip() for name in ("name", "note")}
    labels = RunLabels(**texts, tags=tuple(dict.fromkeys(tags)), archived="archived" in form)
    labels.write(catalog.store, record)
    rebuild_catalog(catalog.store.location)
    return f"/runs/{quote(record)}"


def delete_page(visit: Visit, record: str) -> Page:
    """Make the page to confirm a deletion, with what it removes; raise ArtifactError while a run is in progress."""
    found = _ended_run(visit.catalog, record)
    going = removable_with(visit.catalog.store, [found]) if isinstance(found, RecordedRun) else []
    rows = [
        {"kind": one["kind"], "what": one["what"][:_NAME_CHARACTERS], "size": one["size"]}
        for one in removed_rows(going)
    ]
    listed = Section("going", "What goes", f"In all {totals(going)}.", Table.of_records(rows))
    stays = [str(found.config.get("out") or ""), "the models' answers, which a run with the same settings uses again"]
    return _question("Delete", record, found, stays=list(filter(None, stays)), going=listed if going else None)


def delete(catalog: Catalog, _form: Mapping[str, str], record: str) -> str:
    """Delete a run: its record, and the artifacts that no other run needs."""
    found = _ended_run(catalog, record)
    if isinstance(found, LiveState):
        forget_ended(catalog.store.root, found.run_id)
    else:
        remove_unused(catalog.store, removable_with(catalog.store, [found]), datetime.now(UTC))
    return "/"


def retry_page(visit: Visit, record: str) -> Page:
    """Make the page to confirm a retry, with what it does; raise ArtifactError if the same work is in progress."""
    found = _ended_run(visit.catalog, record)
    refuse_if_under_way(visit.catalog.store.root, found.config)
    return _question("Retry", record, found, asks=found.config.get("samples", {}).get("source") == "model")


def retry(catalog: Catalog, _form: Mapping[str, str], record: str) -> str:
    """Start `bigcodeflow runs retry` in a process that outlives the explorer; raise ConfigError if it fails at once."""
    _ended_run(catalog, record)
    command = [sys.executable, "-P", "-m", "bigcodeflow", "runs", "retry"]
    command += ["--store", str(catalog.store.location), "--", record]
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said, start_new_session=True
        )
        threading.Thread(target=process.wait, daemon=True).start()  # or a killed run would remain as a zombie
        deadline = time.monotonic() + _START_SECONDS
        while process.poll() is None and time.monotonic() < deadline:
            if any(run.pid == process.pid for run in live_runs(catalog.store.root, datetime.now(UTC))):
                break
            time.sleep(_POLL_SECONDS)
        if process.poll():
            said.seek(0)
            raise ConfigError(
                said.read().decode(errors="replace").rpartition("error: ")[2].strip() or "the run ended at once"
            )
    return "/live" if process.poll() is None else "/"


def _ended_run(catalog: Catalog, record: str) -> RecordedRun | LiveState:
    """Return the ended run whose record (or id, if it has no record) is ``record``; raise NotThereError if none is."""
    if record in catalog.version().by_record:
        return recorded_run(catalog.store, record)
    for run in ended_runs(catalog.store.root):
        if run.run_id == record:
            return run
    goes_on = any(run.run_id == record for run in live_runs(catalog.store.root, datetime.now(UTC)))
    raise NotThereError("This run is in progress: see Live." if goes_on else "There is no such run: see Runs.")


def _question(verb: str, record: str, run: RecordedRun | LiveState, **context: object) -> Page:
    title = ListedRun.of_ended(run).title if isinstance(run, LiveState) else run.title
    return Page(
        "confirm.html", {"verb": verb, "record": record, "title": title, "started_at": run.started_at, **context}
    )


#: Actions by the address of their forms.
ACTIONS: Mapping[str, Action] = {
    "/live/{run_id}/cancel": cancel,
    "/runs/{record}/labels": label,
    "/runs/{record}/delete": delete,
    "/runs/{record}/retry": retry,
}
