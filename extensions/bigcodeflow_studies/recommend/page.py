"""Page of the explorer that ranks models for the libraries of a project."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bigcodeflow.core.errors import ArtifactError, ConfigError
from bigcodeflow.explorer.pages import AddressError, OwnPage, Page, Visit
from bigcodeflow_studies.recommend.evidence import read_evidence
from bigcodeflow_studies.recommend.ranking import Evidence, Recommendation, probability, recommendation
from bigcodeflow_studies.recommend.stack import names_in, stack_of

_SPLITS, _SUBSETS = ("complete", "instruct"), ("full", "hard")
_LONGEST = 5_000
#: Number of libraries that the page offers, those with the most tasks.
_N_OFFERED = 40


def recommend_page(visit: Visit) -> Page:
    """Return the page with the ranking for the libraries in the address; without libraries, the page has no ranking."""
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
    """Return the query parameter ``name``; raise AddressError unless it is empty or in ``values``."""
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
    """Return a table row for each model; pass rate and interval have the names of the fields of ListedRun."""
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


PAGE = OwnPage("Recommend", recommend_page, Path(__file__).with_name("templates"))
