"""Repair rounds of a run, reported apart from its score: samples asked again, samples repaired, and costs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from statistics import fmean
from typing import Any

import pyarrow as pa

from bigcodeflow.config import RunConfig
from bigcodeflow.core.schemas import COUNT, SAMPLE_KEY, TEXT, column, nullable, study_schema
from bigcodeflow.core.settings import SettingsModel
from bigcodeflow.core.table import Column, Headings, Table
from bigcodeflow.pipeline.outputs import model_name, run_title
from bigcodeflow.pipeline.stages import RoundArtifacts, RunArtifacts
from bigcodeflow.results.formatting import numbers, percent, percent_range
from bigcodeflow.results.statistics import estimate
from bigcodeflow.store import ArtifactRef, Store, artifact_key
from bigcodeflow.studies.records import grouped, publish_study
from bigcodeflow.studies.registry import Study

#: Rounds of a run; one artifact holds one run.
ROUNDS = study_schema(
    "task, sample_index and round in which the sample was asked for",
    *SAMPLE_KEY,
    column("round", COUNT, "from 1; the run's scores are those of round 1"),
    column("passed", pa.bool_(), "the answer of this round passed; the sample is then asked for no more"),
    column("status", TEXT, "as in verdicts, of the calibrated variant where there are two"),
    column("failure_kind", TEXT, "as in verdicts; empty for a pass"),
    column("feedback", TEXT, "what the model was told before: failed, tests or traceback; empty in round 1"),
    nullable("prompt_tokens", COUNT, "tokens sent, the conversation so far included"),
    nullable("completion_tokens", COUNT, "tokens received, reasoning included"),
    nullable("cost_usd", pa.float64(), "price of the answer in US dollars"),
    nullable("latency_seconds", pa.float64(), "request sent to answer complete"),
)

Row = Mapping[str, Any]
#: Columns of an answer's usage.
_USAGE = ("prompt_tokens", "completion_tokens", "cost_usd", "latency_seconds")


@dataclass(frozen=True)
class RoundSummary:
    """Figures of a round, and of all rounds from round 1 to this round."""

    round: int
    asked: int
    """Number of samples requested in this round."""
    repaired: int
    """Number of samples requested in this round that passed in this round."""
    pass_at_1: float
    """Mean over tasks of the share of judged samples that passed in this round or before."""
    interval: tuple[float, float] | None
    """95 % interval of ``pass_at_1``, clustered by task."""
    recall: float | None
    """Samples passed up to this round, as a share of the samples passed in any round; None if no sample passed."""
    usage: Mapping[str, float | None]
    """Sums of tokens and cost, and mean latency, of the round's answers, by _USAGE; None if no answer has a value."""


class Chains:
    """Results of a run's repair rounds, grouped by sample; one row per sample and round."""

    def __init__(self, rows: pa.Table) -> None:
        self.rows: Sequence[Row] = rows.to_pylist()
        in_order = sorted(self.rows, key=itemgetter("round"))
        self.samples: dict[tuple[str, int], list[Row]] = grouped(in_order, itemgetter("task_id", "sample_index"))
        # A sample unjudged in round 1 is in no score; an unjudged later answer counts as not repaired so far.
        self.judged = [sample for sample, rows in self.samples.items() if rows[0]["status"] != "infra_error"]
        self.first_pass = {
            sample: next((int(row["round"]) for row in rows if row["passed"]), None)
            for sample, rows in self.samples.items()
        }
        """Round in which each sample first passed; None if it never passed."""

    @property
    def mean_reciprocal_rank(self) -> float | None:
        """Mean of 1 / (first passed round) over judged samples, 0 if a sample never passed; None if none is judged."""
        ranks = [self.first_pass[sample] for sample in self.judged]
        return fmean(1 / rank if rank else 0.0 for rank in ranks) if ranks else None

    def summaries(self) -> list[RoundSummary]:
        """Return a summary of each round, in the order of rounds."""
        last = max((int(row["round"]) for row in self.rows), default=1)
        return [self._summary(number) for number in range(1, last + 1)]

    def _summary(self, number: int) -> RoundSummary:
        rows = [row for row in self.rows if row["round"] == number]
        passed = {sample for sample, rank in self.first_pass.items() if rank and rank <= number}
        n_ever = sum(rank is not None for rank in self.first_pass.values())
        by_task = grouped(self.judged, itemgetter(0)).values()
        score = estimate([fmean(sample in passed for sample in samples) for samples in by_task])
        known = {name: [row[name] for row in rows if row[name] is not None] for name in _USAGE}
        usage = {name: sum(values) if values else None for name, values in known.items()}
        if latencies := known["latency_seconds"]:
            usage["latency_seconds"] = fmean(latencies)
        return RoundSummary(
            round=number,
            asked=len(rows),
            repaired=sum(row["passed"] for row in rows),
            pass_at_1=score.value,
            interval=score.interval,
            recall=len(passed) / n_ever if n_ever else None,
            usage=usage,
        )


#: Raise it when the same rounds give other rows.
VERSION = 1


def publish_rounds(config: RunConfig, artifacts: RunArtifacts, store: Store) -> ArtifactRef | None:
    """Publish and return the study of a run's rounds, or return a stored study; return None for a run of one round."""
    if not artifacts.rounds:
        return None
    from bigcodeflow.generation.repair import levels_by_template  # imports the providers' HTTP client

    first = RoundArtifacts(artifacts.generation, artifacts.sanitizing, artifacts.execution)
    rounds = (first, *artifacts.rounds)
    inputs = [ref for one in rounds for ref in (one.generation, one.execution)]
    title = f"{run_title(config)}, {len(rounds)} rounds, feedback {config.generation.feedback}"
    listed = artifacts.aggregation.statistics.get("quarantined_tasks", ())
    left_out = frozenset(listed if config.execution.quarantine == "exclude" else ())
    # By content: a round with samples that could not be judged is executed again under the same key.
    identity: dict[str, Any] = {"title": title, "content": [ref.sha256 for ref in inputs]}
    if left_out:
        identity["left_out"] = sorted(left_out)
    key = artifact_key("rounds", VERSION, identity, [ref.key for ref in inputs])
    levels = levels_by_template(config.dataset.split, config.generation.prompt)
    each = (row for number, one in enumerate(rounds, start=1) for row in _rows(store, number, one, levels))
    rows = (row for row in each if row["task_id"] not in left_out)
    settings = {"generation.rounds": config.generation.rounds, "generation.feedback": config.generation.feedback}
    return publish_study(
        store, "rounds", key, rows, title=title, models=[model_name(config)], settings=settings, inputs=inputs
    )


def _rows(store: Store, number: int, artifacts: RoundArtifacts, levels: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    from bigcodeflow.generation.repair import deciding_verdicts

    verdicts = deciding_verdicts(store.read(artifacts.execution))
    for sample in store.read(artifacts.generation).to_pylist():
        verdict = verdicts[sample["task_id"], sample["sample_index"]]
        yield {
            **{name: sample[name] for name in ("task_id", "sample_index", *_USAGE)},
            "round": number,
            "passed": verdict["status"] == "pass",
            "status": verdict["status"],
            "failure_kind": verdict["failure_kind"],
            "feedback": levels.get(sample["template_sha"] or "", "") if number > 1 else "",
        }


class Rounds(Study[SettingsModel]):
    """Study of a run's repair rounds; each run of several rounds publishes a result."""

    title = "Repair rounds"
    description = (
        "Measure the failed answers that a model corrects with feedback: scores, recall, cost and tokens by round."
    )
    schema = ROUNDS
    is_of_one_run = True

    def tables(self, rows: pa.Table) -> list[Table]:
        """Return scores by round, cost by round, feedback by level, and the samples that a later round repaired."""
        chains = Chains(rows)
        summaries = chains.summaries()
        return [_scores(chains, summaries), _costs(summaries), _feedback(chains), _repaired(chains)]


def _scores(chains: Chains, summaries: Sequence[RoundSummary]) -> Table:
    rows = [
        (
            *(one.round, one.asked, one.repaired, one.repaired / one.asked if one.asked else None),
            *(one.pass_at_1, one.interval, one.recall),
        )
        for one in summaries
    ]
    notes = ["pass@1 of round 1 is the run's score; later ones are of a model that was told what failed."]
    if (rank := chains.mean_reciprocal_rank) is not None:
        notes.append(f"Mean reciprocal rank of the first round that passes: {rank:.3f}.")
    if unjudged := sum(row["status"] == "infra_error" for row in chains.rows):
        notes.append(
            f"{unjudged:,} answers could not be judged: run again to judge them. Those of round 1 are in no score, "
            "later ones count as not passed."
        )
    share, passed, recall = (
        Column(heading, "right", percent) for heading in ("of those asked", "pass@1 up to it", "recall")
    )
    interval = Column("95 % interval", "right", percent_range)
    columns: Headings = (*numbers("round", "asked", "passed"), share, passed, interval, recall)
    return Table.of(columns, rows, title="Scores by round", notes=notes)


def _costs(summaries: Sequence[RoundSummary]) -> Table:
    columns: Headings = (
        *numbers("round", "tokens read", "tokens written"),
        Column("cost", "right", "${:,.4f}".format),
        Column("mean latency", "right", "{:.2f} s".format),
    )
    rows = [[one.round, *one.usage.values()] for one in summaries]
    return Table.of(columns, rows, title="Cost by round")


def _feedback(chains: Chains) -> Table:
    counts = grouped((row for row in chains.rows if row["feedback"]), itemgetter("round", "feedback"))
    shown = [(*kind, len(rows), sum(row["passed"] for row in rows)) for kind, rows in sorted(counts.items())]
    notes = ["A level below the one of the settings was sent where feedback would else have quoted a test."]
    columns: Headings = (*numbers("round"), "feedback", *numbers("asked", "passed"))
    return Table.of(columns, shown, title="Feedback by level", notes=notes)


def _repaired(chains: Chains) -> Table:
    shown = [
        (*sample, rank, " → ".join(str(row["status"]).replace("_", " ") for row in chains.samples[sample]))
        for sample, rank in sorted(chains.first_pass.items(), key=lambda one: one[0])
        if rank is not None and rank > 1
    ]
    columns: Headings = ("task", *numbers("sample", "passed in round"), "statuses")
    return Table.of(columns, shown, title="Samples that a further round repaired")
