"""A recorded run as other programs read it: its model, settings, scores, and each sample of one variant."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from bigcodeflow.core.calibration import executed_program
from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.core.parquet import read_artifact
from bigcodeflow.core.schemas import UNKNOWN
from bigcodeflow.core.settings import as_name
from bigcodeflow.generation.providers import PROVIDERS
from bigcodeflow.leaderboard.entries import RunLink
from bigcodeflow.leaderboard.measured_entries import run_link
from bigcodeflow.results import models
from bigcodeflow.results.exports import failure_details
from bigcodeflow.results.formatting import named_model, overall
from bigcodeflow.results.inspection.samples import measured, tables_of
from bigcodeflow.results.models import Row
from bigcodeflow.results.runs import RecordedRun

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_SUFFIX = re.compile(r"\.(parquet|jsonl(\.gz)?)$")
#: Providers whose models are their own, so that they are the model's developer too.
_DEVELOPERS = frozenset({"anthropic", "google", "mistral", "openai"})
#: What was measured of a sample, with the unit in the name.
_MEASURED = ("wall_seconds", "cpu_seconds", "max_rss_mib")
_USAGE = ("prompt_tokens", "completion_tokens", "reasoning_tokens", "cost_usd")


class ExportedModel(NamedTuple):
    """Who answered; a text is empty where it is not known."""

    id: str
    """As ORGANISATION/NAME where the organisation is known, without the revision."""
    revision: str
    developer: str
    provider: str
    """As in front of the colon of generation.model."""
    deployment: Literal["self_deployed", "externally_managed", "unknown"]
    """Who ran the model: who asked it, or somebody else."""

    @property
    def name(self) -> str:
        """The model without its organisation."""
        return self.id.rpartition("/")[2]


class ExportedSample(NamedTuple):
    """One sample; the row holds the columns of ``sql/exported_samples.sql``."""

    row: Row
    prompt: str
    """The task in the words of the run's split."""
    messages: Sequence[Mapping[str, str]]
    """What the model was sent, as role and content; the prompt alone where the request is not kept."""
    answer: str | None
    """None: the store has none, as of imported results."""
    program: str | None
    """The text that was executed; None: the store has none."""

    @property
    def passed(self) -> bool | None:
        """Whether it counts as solved; None: it was not judged."""
        return None if self.row["status"] == "infra_error" else self.row["status"] == "pass"

    @property
    def failures(self) -> str:
        """What failed, test by test with its traceback; empty for a pass."""
        return "\n".join(f"{test}\n{trace}" for test, trace in failure_details(self.row).items())

    @property
    def measurements(self) -> dict[str, float]:
        """What the sandbox measured, as far as it did."""
        return {name: self.row[name] for name in _MEASURED if measured(self.row[name])}


class ExportedRun:
    """A recorded run in one variant and sanitizer, whose tables are open."""

    def __init__(self, recorded: RecordedRun, connection: "DuckDBPyConnection", kind: Row) -> None:
        self.recorded, self._connection = recorded, connection
        self.variant, self.sanitizer = str(kind["variant"]), str(kind["sanitizer"])
        self.backends = tuple(name for name in kind["backends"] if name != "imported")
        self.environment_shas = tuple(sha for sha in kind["environment_shas"] if sha != UNKNOWN)

    @cached_property
    def model(self) -> ExportedModel:
        """Who answered: a model, or the control that stands in for one."""
        run = self.recorded
        named = named_model(run.control or run.model)
        generation = run.config.get("generation", {})
        asked = run.config.get("samples", {}).get("source") == "model"
        provider = str(generation.get("model") or "").partition(":")[0] if asked else ""
        developer = named.name.rpartition("/")[0]
        # Behind another address, such as a server of one's own, any model may answer.
        elsewhere = bool(generation.get("base_url"))
        if not developer and provider in _DEVELOPERS and not elsewhere:
            developer = provider
        name = f"{developer}/{named.name}" if developer and "/" not in named.name else named.name
        info = PROVIDERS.get(provider)
        if info is None or elsewhere:
            return ExportedModel(name, named.revision or "", developer, provider, "unknown")
        here = info.offline or not info.needs_key
        deployment: Literal["self_deployed", "externally_managed"] = "self_deployed" if here else "externally_managed"
        return ExportedModel(name, named.revision or "", developer, provider, deployment)

    @cached_property
    def dataset(self) -> RunLink:
        """Where the tasks came from, with version and commit."""
        return run_link(self.recorded)

    @property
    def benchmark(self) -> str:
        """Such as 'bigcodebench' or 'bigcodebench-hard'; of other tasks the name of their source."""
        name = as_name(_SUFFIX.sub("", self.dataset.dataset.partition("@")[0].rpartition("/")[2]))
        # A file or a hub's dataset may hold all tasks, or the hard ones alone.
        return f"{name}-hard" if self.recorded.subset == "hard" and not name.endswith("-hard") else name

    @property
    def task(self) -> str:
        """The benchmark and which of its prompts were asked, such as 'bigcodebench-hard-instruct'."""
        return "-".join(filter(None, (self.benchmark, self.recorded.split)))

    @property
    def parameters(self) -> dict[str, Any]:
        """How the model was asked, as far as it is known: sampling, prompt settings, number of samples."""
        if not self.recorded.imported:
            return {name: value for name, value in self.recorded.parameters.items() if value not in ("", (), [])}
        generation = self.recorded.config.get("generation", {})
        known = {**(generation.get("sampling") or {}), "n_samples": generation.get("n_samples")}
        return {name: value for name, value in known.items() if value is not None}

    @property
    def limits(self) -> dict[str, Any]:
        """What bounded an execution; empty where it is not known."""
        limits = self.recorded.config.get("execution", {}).get("limits") or {}
        return {name: value for name, value in limits.items() if value is not None}

    @cached_property
    def pass_at_k(self) -> dict[int, Row]:
        """Rows of the metrics table over all tasks, by k; none that no task can give."""
        rows = [row for row in overall(self._metrics, "pass@k") if self._is_ours(row) and not math.isnan(row["value"])]
        return {row["k"]: row for row in sorted(rows, key=lambda row: row["k"])}

    @cached_property
    def counts(self) -> dict[str, float]:
        """Other figures of the run by name: samples, samples that were not judged, the rate of ground truths."""
        found = {"n_samples": self._overall("sample_count"), "n_unjudged": self._overall("infra_error_count")}
        found |= {"n_excluded_tasks": self._overall("excluded_task_count")}
        rate = next((row["value"] for row in overall(self._metrics, "ground_truth_rate")), math.nan)
        found |= {"ground_truth_rate": None if math.isnan(rate) else rate}
        return {name: value for name, value in found.items() if value is not None}

    @cached_property
    def usage(self) -> dict[str, float]:
        """Tokens and cost of all answers, as far as they are known."""
        [row] = models.rows_of(self._connection, "comparison_usage")
        return {name: row[name] for name in _USAGE if row[name] is not None}

    @property
    def scores(self) -> dict[str, float]:
        """Every figure by name, such as 'pass@1', 'pass@1_ci_low', 'ground_truth_rate' and 'cost_usd'."""
        found: dict[str, float] = {}
        for k, row in self.pass_at_k.items():
            found[f"pass@{k}"] = row["value"]
            for name in ("standard_error", "ci_low", "ci_high"):
                if row[name] is not None and not math.isnan(row[name]):
                    found[f"pass@{k}_{name}"] = row[name]
        return found | self.counts | self.usage

    @property
    def facts(self) -> dict[str, Any]:
        """What identifies the run and how it was made, by names of the settings."""
        run, model = self.recorded, self.model
        found = {
            "model": model.id,
            "model_revision": model.revision,
            "provider": model.provider,
            "benchmark": self.benchmark,
            "split": run.split,
            "subset": run.subset,
            "dataset": self.dataset.dataset,
            "dataset_revision": self.dataset.dataset_revision,
            "variant": self.variant,
            "sanitizer": "" if self.sanitizer == UNKNOWN else self.sanitizer,
            "environment": run.config.get("execution", {}).get("environment"),
            "environment_sha": " ".join(self.environment_shas),
            "backend": " ".join(self.backends),
            "imported_from": run.imported.get("file"),
            "record": run.record,
        }
        return {name: value for name, value in found.items() if value}

    def samples(self) -> Iterator[ExportedSample]:
        """Every sample of the variant, in the order of the tasks."""
        chosen = {"variant": self.variant, "sanitizer": self.sanitizer}
        for row in models.rows_from(self._connection.execute(models.sql_of("exported_samples"), chosen)):
            yield self._sample(row)

    def _sample(self, row: Row) -> ExportedSample:
        prompt = row["instruct_prompt"] if self.recorded.split == "instruct" else row["complete_prompt"]
        program = None
        if row["solution"] is not None:
            program = executed_program(
                code_prompt=row["code_prompt"],
                solution=row["solution"],
                variant=self.variant,
            )
        # Where nobody kept the answers of imported results, their programs stand in the table.
        answer = None if row["provider"] == "imported" or row["error"] else row["raw_text"]
        return ExportedSample(row, prompt, _messages(row["request"], prompt), answer, program)

    @cached_property
    def _metrics(self) -> list[Row]:
        rows: list[Row] = read_artifact(self.recorded.path("aggregation")).to_pylist()
        return rows

    def _is_ours(self, row: Row) -> bool:
        return (row["variant"], row["sanitizer"]) == (self.variant, self.sanitizer)

    def _overall(self, metric: str) -> float | None:
        return next((row["value"] for row in overall(self._metrics, metric) if self._is_ours(row)), None)


@contextmanager
def exported_run(run: RecordedRun, variant: str = "") -> Iterator[ExportedRun]:
    """Open a run for export; without a variant, in the calibrated one where it has that.

    Raises:
        ArtifactError: tasks, verdicts or scores are not in the store, or nothing was judged in that variant.
    """
    with tables_of(run) as (connection, _):
        kinds = models.rows_of(connection, "comparison_kinds")
        preferred = run.config.get("sanitizing", {}).get("mode")
        fitting = [kind for kind in kinds if variant in ("", kind["variant"])]
        if not fitting:
            known = ", ".join(f"{kind['variant']} ({kind['sanitizer']})" for kind in kinds) or "none"
            raise ArtifactError(f"run {run.record}: has no verdicts of variant {variant or 'any'}; it has: {known}")
        kind = min(fitting, key=lambda one: (one["variant"] != "calibrated", one["sanitizer"] != preferred))
        yield ExportedRun(run, connection, kind)


def _messages(request: str | None, prompt: str) -> list[dict[str, str]]:
    """The turns of a stored request; of a form that is not known here, the prompt alone."""
    alone = [{"role": "user", "content": prompt}]
    try:
        body = json.loads(request or "")
    except ValueError:
        return alone
    if not isinstance(body, dict):
        return alone
    if isinstance(body.get("prompt"), str):
        return [{"role": "user", "content": body["prompt"]}]
    turns = body.get("messages")
    system = [{"role": "system", "content": body["system"]}] if isinstance(body.get("system"), str) else []
    if not isinstance(turns, list) or not all(_is_turn(turn) for turn in turns) or not turns:
        return alone
    return [*system, *({"role": turn["role"], "content": turn["content"]} for turn in turns)]


def _is_turn(turn: Any) -> bool:
    return (
        isinstance(turn, dict)
        and turn.get("role") in {"system", "user", "assistant"}
        and isinstance(turn.get("content"), str)
    )
