"""Turn verdicts of mutants into rows: survivors with their evidence, and the counts of each task."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bigcodeflow.studies.audit import AuditConfig
from bigcodeflow.studies.audit.findings import COUNTED, MUTATION, TOO_WEAK, UNDECIDED, Finding, MutantCounts
from bigcodeflow.studies.audit.mutation import Mutant, Mutants
from bigcodeflow.studies.audit.recording import (
    NOT_CALLED,
    NOT_EXECUTED,
    RESULT_DIFFERS,
    Effect,
    Recording,
    draws,
    effect_of,
)

#: Effects that show that a test is too weak; any other survivor may be equivalent.
_EVIDENT = frozenset({RESULT_DIFFERS, NOT_EXECUTED, NOT_CALLED})

Outcomes = Mapping[str, Sequence[tuple[Mutant, str]]]


class Reproduction(NamedTuple):
    """Settings of an audit, for the commands that reproduce its findings."""

    source: str
    config: AuditConfig

    def of(self, task_id: str) -> str:
        """Return the command that audits one task with the same settings."""
        given = {"--environment": self.config.environment, "--dataset": self.source, "--ids": task_id}
        given |= {"--mutants": str(self.config.mutants), "--seed": str(self.config.seed)}
        options = " ".join(f"{name} {shlex.quote(value)}" for name, value in given.items())
        options += "".join(f" --set {shlex.quote(one)}" for one in self.config.overrides)
        options += "" if self.config.contradictions else " --no-contradictions"
        return f"bigcodeflow audit {options}"


def mutation_rows(
    tasks: Sequence[Mapping[str, Any]],
    made: Mapping[str, Mutants],
    outcomes: Outcomes,
    recorded: Mapping[str, Sequence[Recording | None]],
    reproduction: Reproduction,
) -> list[dict[str, Any]]:
    """Return a row of counts for each task, and a row for each survivor; those in a line that never runs share one.

    Args:
        tasks: rows of TASKS whose ground truth passes.
        made: mutants by task id.
        outcomes: each chosen mutant with the status of its verdict, by task id.
        recorded: the reference's two recordings and one of each survivor, by task id.
        reproduction: gives the command that reproduces a finding.
    """
    rows = []
    for task in tasks:
        task_id = task["task_id"]
        survivors = [one for one, status in outcomes[task_id] if status == "pass" and not one.apart]
        counts = _counts(made[task_id], outcomes[task_id])
        total = counts.killed + counts.survived
        text = f"the test notices {counts.killed} of {total} mutants" if total else "no mutant could be judged"
        command = reproduction.of(task_id)
        counted = Finding(task_id, MUTATION, COUNTED, text, command=command)
        rows.append(counted.row() | counts._asdict())
        findings = _findings(task_id, survivors, recorded.get(task_id, ()), command)
        rows += [one.row() | dict.fromkeys(MutantCounts._fields) for one in findings]
    return rows


def _counts(mutants: Mutants, outcomes: Sequence[tuple[Mutant, str]]) -> MutantCounts:
    statuses = [status for one, status in outcomes if not one.apart]
    survived, unjudged = statuses.count("pass"), statuses.count("infra_error")
    return MutantCounts(
        killed=len(statuses) - survived - unjudged,
        survived=survived,
        apart=len(outcomes) - len(statuses),
        equivalent=mutants.equivalent,
        unjudged=unjudged,
        possible=mutants.possible,
    )


def _findings(
    task_id: str, survivors: Sequence[Mutant], recorded: Sequence[Recording | None], command: str
) -> Iterator[Finding]:
    if len(recorded) < 2 or recorded[0] is None or recorded[1] is None:  # noqa: PLR2004 -- the reference's two
        effects = [Effect("", "the reference could not be recorded")] * len(survivors)
    else:
        own = recorded[0], recorded[1]
        effects = [effect_of(one.statement, own, found) for one, found in zip(survivors, recorded[2:], strict=True)]
    told: set[tuple[str, int]] = set()
    for mutant, effect in zip(survivors, effects, strict=True):
        place = effect.kind, 0 if effect.kind == NOT_CALLED else mutant.statement[0]
        if place in told:
            continue
        if effect.kind in (NOT_CALLED, NOT_EXECUTED):
            told.add(place)
        text = f"no test notices: {mutant.operator} in line {mutant.line}; {effect.text}"
        kind = TOO_WEAK if effect.kind in _EVIDENT else UNDECIDED
        if effect.kind == RESULT_DIFFERS and draws(mutant.statement_text):
            kind, text = UNDECIDED, f"{text}; what is drawn at random may be distributed alike"
        yield Finding(task_id, MUTATION, kind, text, mutant.line, mutant.operator, mutant.before, mutant.after, command)
