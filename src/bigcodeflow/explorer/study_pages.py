"""Pages of studies' results with their tables, and a page that ranks models for the libraries of a project."""

from collections.abc import Sequence
from typing import Any

from bigcodeflow.core.errors import ArtifactError, ConfigError
from bigcodeflow.explorer.pages import AddressError, NotThereError, Page, Visit
from bigcodeflow.studies import current_studies, installed_studies, recorded_studies
from bigcodeflow.studies.recommend.evidence import read_evidence
from bigcodeflow.studies.recommend.ranking import Evidence, Recommendation, probability, recommendation
from bigcodeflow.studies.recommend.stack import names_in, stack_of

_SPLITS, _SUBSETS = ("complete", "instruct"), ("full", "hard")
_LONGEST = 5_000
#: Number of libraries that the page offers, those with the most tasks.
_N_OFFERED = 40
#: Most rows of a table on a page; the catalog's view has all.
_MOST_ROWS = 500


def all_studies(visit: Visit) -> Page:
    """Make the page of all results that no later result replaces, the latest first."""
    return Page("studies.html", {"records": current_studies(visit.catalog.store), "studies": installed_studies()})


def one_study(visit: Visit, study: str, key: str) -> Page:
    """Make the page of a result's tables; raise NotThereError if the store does not have it."""
    found = recorded_studies(visit.catalog.store)
    record = next((one for one in found if (one.ref.stage, one.ref.key) == (study, key)), None)
    if record is None:
        raise NotThereError(f"this store has no result {key[:80]!r} of a study {study[:80]!r}: see /studies")
    sections = list(record.sections(visit.catalog.store))
    return Page("study.html", {"record": record, "study": record.study, "sections": sections, "most": _MOST_ROWS})


def recommend_page(visit: Visit) -> Page:
    """Make the page with the ranking for the libraries in the address; without libraries, only the form."""
    split, subset = _one_of(visit, "split", _SPLITS), _one_of(visit, "subset", _SUBSETS)
    text = visit.text("libraries", _LONGEST)
    context: dict[str, Any] = {
        "given": {"libraries": text, "split": split, "subset": subset},
        "splits": _SPLITS,
        "offered": [],
        "found": None,
        "problem": "",
    }
    names = names_in(text)
    try:
        evidence = _evidence(visit, split, subset)
        known = evidence.outcomes.n_tasks_of
        context["offered"] = sorted(known.items(), key=lambda one: (-one[1], one[0]))[:_N_OFFERED]
        if names:
            found = recommendation(evidence, stack_of(known, names=names))
            context |= {"found": found, "rows": _rows(visit, found), "notes": found.notes}
    except (ArtifactError, ConfigError) as error:
        context["problem"] = str(error).removeprefix("recommend: ").removeprefix("--libraries: ")
    return Page("recommend.html", context)


def _one_of(visit: Visit, name: str, values: Sequence[str]) -> str:
    """Return a query parameter that must have one of these values, or is empty; raise AddressError otherwise."""
    text = visit.text(name)
    if text not in ("", *values):
        raise AddressError(f"{name}={text[:40]!r} is neither {' nor '.join(values)}: correct the address")
    return text


def _evidence(visit: Visit, split: str, subset: str) -> Evidence:
    """Return the recorded results that a recommendation is computed from, read once per version of the catalog."""

    def read() -> Evidence:
        with visit.version.opened() as connection:
            return read_evidence(connection, split, subset)

    return visit.version.kept(("recommend evidence", split, subset), read)


def _rows(visit: Visit, found: Recommendation) -> list[dict[str, Any]]:
    """Return a table row for each model; score and interval are named as in ListedRun."""
    return [
        {
            **one._asdict(),
            "rank": one.ranks,
            "run": visit.version.by_record.get(one.record),
            "pass_at_k": one.rate,
            "best": probability(one.probability_best),
            "may_be_best": one.rank_low == 1,
        }
        for one in found.models
    ]
