"""Explorer pages about studies: the list of results, and the tables of a result."""

from bigcodeflow.explorer.pages import NotThereError, Page, Visit
from bigcodeflow.studies import current_studies, installed_studies, recorded_studies

#: Most rows of a table on a page; the catalog's view has all.
_MOST_ROWS = 500


def all_studies(visit: Visit) -> Page:
    """Make the page that lists the current results of studies, the latest first; replaced results are left out."""
    return Page("studies.html", {"records": current_studies(visit.catalog.store), "studies": installed_studies()})


def one_study(visit: Visit, study: str, key: str) -> Page:
    """Make the page with the tables of a study's result; raise NotThereError if the store lacks the result."""
    found = recorded_studies(visit.catalog.store)
    record = next((one for one in found if (one.ref.stage, one.ref.key) == (study, key)), None)
    if record is None:
        raise NotThereError(f"this store has no result {key[:80]!r} of a study {study[:80]!r}: /studies lists all")
    sections = list(record.sections(visit.catalog.store))
    return Page("study.html", {"record": record, "study": record.study, "sections": sections, "most": _MOST_ROWS})
