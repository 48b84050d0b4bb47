"""A recorded run prepared for export: its model, settings, scores, and each sample of one variant."""

import json
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.core.plugins import shown_benchmark
from bigcodeflow.core.schemas import UNKNOWN
from bigcodeflow.core.settings import as_name
from bigcodeflow.generation.providers import known_providers
from bigcodeflow.results import models
from bigcodeflow.results.formatting import named_model, overall
from bigcodeflow.results.inspection.samples import SampleDetail, details_of
from bigcodeflow.results.models import Row
from bigcodeflow.results.run_tables import open_tables, tables_of
from bigcodeflow.results.runs import RecordedRun
from bigcodeflow_leaderboard.entries import RunLink
from bigcodeflow_leaderboard.measured_entries import run_link

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_SUFFIX = re.compile(r"\.(parquet|jsonl(\.gz)?)$")
#: Providers that serve only models of their own: they are the model's developer too.
_DEVELOPERS = frozenset({"anthropic", "google", "mistral", "openai"})
_COUNTS = {"sample_count": "n_samples", "infra_error_count": "n_unjudged", "excluded_task_count": "n_excluded_tasks"}
_USAGE = ("prompt_tokens", "completion_tokens", "reasoning_tokens", "cost_usd")


class ExportedModel(NamedTuple):
    """The model that answered; fields are empty if the value is not known."""

    id: str
    """ORGANISATION/NAME if the organisation is known, else NAME; without the revision."""
    revision: str
    developer: str
    provider: str
    """Text before the colon of the setting generation.model, such as 'openai'."""
    deployment: Literal["self_deployed", "externally_managed", "unknown"]
    """Operator of the model: the evaluator ('self_deployed') or a provider ('externally_managed')."""

    @property
    def name(self) -> str:
        """Name of the model without its organisation."""
        return self.id.rpartition("/")[2]


class ExportedRun:
    """A recorded run, limited to one variant and one sanitizer, with its tables open for reading."""

    def __init__(self, recorded: RecordedRun, connection: "DuckDBPyConnection", kind: Row) -> None:
        self.recorded, self._connection = recorded, connection
        self.variant, self.sanitizer = str(kind["variant"]), str(kind["sanitizer"])
        self.backends = tuple(name for name in kind["backends"] if name != "imported")
        self.environment_shas = tuple(sha for sha in kind["environment_shas"] if sha != UNKNOWN)

    @cached_property
    def model(self) -> ExportedModel:
        """The model that answered; for control samples (oracle, stub, cheat), the name of the control."""
        run = self.recorded
        named = named_model(run.control or run.model)
        generation = run.config.get("generation", {})
        asked = run.config.get("samples", {}).get("source") == "model"
        provider = str(generation.get("model") or "").partition(":")[0] if asked else ""
        developer = named.name.rpartition("/")[0]
        # With another base URL, such as the user's own server, any model may answer.
        elsewhere = bool(generation.get("base_url"))
        if not developer and provider in _DEVELOPERS and not elsewhere:
            developer = provider
        name = f"{developer}/{named.name}" if developer and "/" not in named.name else named.name
        info = known_providers().get(provider)
        if info is None or elsewhere:
            return ExportedModel(name, named.revision or "", developer, provider, "unknown")
        deployment: Literal["self_deployed", "externally_managed"] = (
            "externally_managed" if info.needs_key else "self_deployed"
        )
        return ExportedModel(name, named.revision or "", developer, provider, deployment)

    @cached_property
    def dataset(self) -> RunLink:
        """Origin of the tasks, with version and commit."""
        return run_link(self.recorded)

    @property
    def benchmark(self) -> str:
        """Name of the benchmark, such as 'bigcodebench-hard'; for other tasks, the name of their dataset or file."""
        own = _SUFFIX.sub("", self.dataset.dataset.partition("@")[0].rpartition("/")[2])
        name = as_name(shown_benchmark(self.recorded.dataset) or own)
        # The source may hold all tasks or only the hard ones; the name tells the hard subset either way.
        return f"{name}-hard" if self.recorded.subset == "hard" and not name.endswith("-hard") else name

    @property
    def task(self) -> str:
        """Benchmark and split, such as 'bigcodebench-hard-instruct'."""
        return "-".join(filter(None, (self.benchmark, self.recorded.split)))

    @property
    def parameters(self) -> dict[str, Any]:
        """Known generation settings: sampling, prompt settings, number of samples."""
        if not self.recorded.imported:
            return {name: value for name, value in self.recorded.parameters.items() if value not in ("", (), [])}
        generation = self.recorded.config.get("generation", {})
        known = {**(generation.get("sampling") or {}), "n_samples": generation.get("n_samples")}
        return {name: value for name, value in known.items() if value is not None}

    @property
    def limits(self) -> dict[str, Any]:
        """Limits of each execution; empty if they are not known."""
        limits = self.recorded.config.get("execution", {}).get("limits") or {}
        return {name: value for name, value in limits.items() if value is not None}

    @cached_property
    def pass_at_k(self) -> dict[int, Row]:
        """Rows of the metrics table with pass@k over all tasks, by k; a k whose value is NaN is left out."""
        rows = [row for row in overall(self._metrics, "pass@k") if self._is_ours(row) and not math.isnan(row["value"])]
        return {row["k"]: row for row in sorted(rows, key=lambda row: row["k"])}

    @cached_property
    def counts(self) -> dict[str, float]:
        """Known figures other than pass@k: n_samples, n_unjudged, n_excluded_tasks, and ground_truth_rate (0 to 1)."""
        rows = [row for row in self._metrics if row["slice_kind"] == "all"]
        counted = {
            _COUNTS[row["metric"]]: row["value"] for row in rows if row["metric"] in _COUNTS and self._is_ours(row)
        }
        rates = {row["metric"]: row["value"] for row in overall(rows, "ground_truth_rate")}
        return counted | {name: rate for name, rate in rates.items() if not math.isnan(rate)}

    @cached_property
    def usage(self) -> dict[str, float]:
        """Sums over all answers: numbers of tokens, and cost in USD; unknown values are left out."""
        [row] = models.rows_of(self._connection, "usage")
        return {name: row[name] for name in _USAGE if row[name] is not None}

    @property
    def scores(self) -> dict[str, float]:
        """Scores, counts, tokens and cost, such as 'pass@1', 'pass@1_ci_low', 'ground_truth_rate' and 'cost_usd'."""
        found: dict[str, float] = {}
        for k, row in self.pass_at_k.items():
            found[f"pass@{k}"] = row["value"]
            for name in ("standard_error", "ci_low", "ci_high"):
                if row[name] is not None and not math.isnan(row[name]):
                    found[f"pass@{k}_{name}"] = row[name]
        return found | self.counts | self.usage

    @property
    def facts(self) -> dict[str, Any]:
        """Identity and settings of the run by name, such as 'model' or 'environment_sha'; empty values are left out."""
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

    def samples(self) -> Iterator[SampleDetail]:
        """Yield every sample of the variant and sanitizer, in the order of the tasks."""
        chosen = {"variant": self.variant, "sanitizer": self.sanitizer}
        return details_of(self.recorded, self._connection, "variant = $variant AND sanitizer = $sanitizer", **chosen)

    @cached_property
    def _metrics(self) -> list[Row]:
        return self.recorded.metrics()

    def _is_ours(self, row: Row) -> bool:
        return (row["variant"], row["sanitizer"]) == (self.variant, self.sanitizer)


@contextmanager
def exported_run(run: RecordedRun, variant: str = "") -> Iterator[ExportedRun]:
    """Open one variant of a run for export; an empty ``variant`` takes the calibrated one if the run has it.

    Raises:
        ArtifactError: the store lacks tasks, verdicts or (raised on first use) scores, or the variant has no verdicts.
    """
    run.path("dataset")  # raises if the tasks are gone
    with open_tables([tables_of(run)]) as connection:
        kinds = models.rows_of(connection, "comparison_kinds")
        preferred = run.config.get("sanitizing", {}).get("mode")
        fitting = [kind for kind in kinds if variant in ("", kind["variant"])]
        if not fitting:
            known = ", ".join(f"{kind['variant']} ({kind['sanitizer']})" for kind in kinds) or "none"
            raise ArtifactError(f"run {run.record}: has no verdicts of variant {variant}: choose from {known}")
        kind = min(fitting, key=lambda one: (one["variant"] != "calibrated", one["sanitizer"] != preferred))
        yield ExportedRun(run, connection, kind)


def messages_of(sample: SampleDetail) -> list[dict[str, str]]:
    """Return the messages that the model received, as role and content; if unknown, the prompt as the only message."""
    body = json.loads(sample.row["request"] or "{}")
    if "prompt" in body:
        return [{"role": "user", "content": body["prompt"]}]
    turns = body.get("messages", [])
    if not turns or not all(isinstance(turn["content"], str) for turn in turns):
        return [{"role": "user", "content": sample.prompt}]
    system = [{"role": "system", "content": body["system"]}] if isinstance(body.get("system"), str) else []
    return [*system, *({"role": turn["role"], "content": turn["content"]} for turn in turns)]


def tokens_of(usage: Mapping[str, Any]) -> dict[str, Any]:
    """Return the token counts in ``usage`` under the names that Inspect and Every Eval Ever share."""
    asked, answered = int(usage.get("prompt_tokens") or 0), int(usage.get("completion_tokens") or 0)
    return {
        "input_tokens": asked,
        "output_tokens": answered,
        "total_tokens": asked + answered,
        "input_tokens_cache_read": usage.get("cached_tokens"),
        "reasoning_tokens": None if usage.get("reasoning_tokens") is None else int(usage["reasoning_tokens"]),
    }
