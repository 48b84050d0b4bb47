"""Compare verdicts with the original evaluator's: all ground truths, and recorded sample files.

    python benchmarks/parity.py --data ../shared [--subset hard] [--store DIR] [--only ground_truth,qwen,gemma]

Prints Markdown tables and lists every disagreement with both sides' evidence and, if it has been investigated, its
cause from parity_causes.yaml. Exit code 1 if a ground truth differs that was not marked flaky or network, or if more
than 1 % of the samples differ for no known cause.
"""

import argparse
import csv
import gzip
import json
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from bigcodeflow.config import RunConfig, load_settings
from bigcodeflow.execution.environment_check import unjudgeable_tasks
from bigcodeflow.pipeline import runs, stages
from bigcodeflow.pipeline.progress import progress_listener
from bigcodeflow.pipeline.resolution import resolve

_RUN = "main--bigcodebench-complete--vllm-0-1-sanitized_calibrated"
SAMPLE_FILES = {
    "qwen": f"samples/qwen2.5-coder-7b-instruct/Qwen2.5-Coder-7B-Instruct--{_RUN}",
    "gemma": f"samples/gemma-3-4b-it/google--gemma-3-4b-it--{_RUN}",
}
PROMISED_AGREEMENT = 0.99


class Disagreement(NamedTuple):
    """Task on which the two evaluators differ."""

    task_id: str
    recorded: str
    ours: str
    recorded_evidence: str
    our_evidence: str


def main() -> None:
    arguments = _arguments()
    causes = yaml.safe_load(Path(__file__).with_name("parity_causes.yaml").read_text()) or {}
    wanted = arguments.only.split(",")
    good = True
    if "ground_truth" in wanted:
        good &= compare_ground_truths(arguments, causes.get("ground_truth", {}))
    for name in SAMPLE_FILES:
        if name in wanted:
            good &= compare_samples(name, arguments, causes.get(name, {}))
    sys.exit(0 if good else 1)


def compare_ground_truths(arguments: argparse.Namespace, causes: dict[str, str]) -> bool:
    """Compare our verdict on each canonical solution with the recorded verdict."""
    began = time.monotonic()
    rows = ground_truths(arguments).to_pylist()
    seconds = time.monotonic() - began
    with (arguments.data / "env" / "ground_truth.csv").open() as file:
        recorded = {row["task_id"]: row for row in csv.DictReader(file)}
    excused = {
        task_id for task_id, row in recorded.items() if row["stable"] != "yes" or "network" in row["note"].lower()
    }
    differing = []
    for row in rows:
        before = recorded[row["task_id"]]
        if before["status"] != exported(row["status"]):
            differing.append(
                Disagreement(row["task_id"], before["status"], status_and_kind(row), before["note"], evidence(row))
            )
    passed = sum(row["status"] == "pass" for row in rows)
    print(f"\n### Ground truths: {passed} of {len(rows)} pass ({seconds:.0f} s)\n")
    show(differing, causes)
    unexcused = [one for one in differing if one.task_id not in excused]
    print(f"\n{len(differing)} differ, {len(unexcused)} of them on tasks not marked flaky or network\n")
    return not unexcused


def compare_samples(name: str, arguments: argparse.Namespace, causes: dict[str, str]) -> bool:
    """Compare our verdict on each recorded sample with the original evaluator's."""
    stem = arguments.data / "data" / SAMPLE_FILES[name]
    rows, seconds = execute(arguments, f"{stem}.jsonl.gz")
    with gzip.open(f"{stem}_eval_results.json.gz", "rt") as file:
        recorded = {task_id: samples[0] for task_id, samples in json.load(file)["eval"].items()}
    failed_there = set(json.loads(Path(f"{stem}_pass_at_k.json").read_text())["failed_tasks"])
    failed_here = {task.task_id for task in unjudgeable_tasks(ground_truths(arguments))}
    outside = [row for row in rows if row["task_id"] not in failed_there | failed_here]
    differing = [
        Disagreement(
            row["task_id"],
            recorded[row["task_id"]]["status"],
            status_and_kind(row),
            first_line(recorded[row["task_id"]]),
            evidence(row),
        )
        for row in rows
        if recorded[row["task_id"]]["status"] != exported(row["status"])
    ]
    judged_apart = [one for one in differing if one.task_id not in failed_there | failed_here]
    agreement = 1 - len(judged_apart) / len(outside)
    score, before = (
        sum(side) / len(rows)
        for side in zip(
            *((row["status"] == "pass", recorded[row["task_id"]]["status"] == "pass") for row in rows), strict=True
        )
    )
    print(f"\n### {name}: pass@1 {score:.4f} here, {before:.4f} recorded ({seconds:.0f} s)\n")
    show(differing, causes)
    print(f"\nAgreement on the {len(outside)} tasks whose ground truth passes in both environments: {agreement:.2%}\n")
    unexplained = [one for one in judged_apart if one.task_id not in causes]
    return 1 - len(unexplained) / len(outside) >= PROMISED_AGREEMENT


def execute(arguments: argparse.Namespace, samples: str) -> tuple[list[dict[str, Any]], float]:
    """Execute a sample source; return its VERDICTS rows and the seconds that it took."""
    run = resolve(configuration(arguments, samples))
    began = time.monotonic()
    with progress_listener() as listener:
        artifacts = runs.perform_all(run, listener)
    return run.store.read(artifacts.execution).to_pylist(), time.monotonic() - began


def ground_truths(arguments: argparse.Namespace) -> Any:
    """Return the ground truths' VERDICTS table from the store; compute it if it is missing."""
    run = resolve(configuration(arguments, "oracle"))
    store = run.store
    with progress_listener() as listener:
        found = stages.each_stage(
            lambda name, refs: stages.perform(stages.stage_of(name, run, refs), store, listener), target="ground_truth"
        )
        return store.read(found["ground_truth"])


def configuration(arguments: argparse.Namespace, samples: str) -> RunConfig:
    settings: dict[str, Any] = {
        "store": str(arguments.store),
        "dataset": {"source": str(arguments.data / "data" / "bigcodebench-v0.1.4.parquet"), "subset": arguments.subset},
        "samples": {"source": samples},
        "sanitizing": {"mode": "none"},
        "execution": {"environment": "bigcodebench"},
    }
    return load_settings(settings, "benchmark")


def exported(status: str) -> str:
    return status if status in ("pass", "timeout", "infra_error") else "fail"


def status_and_kind(row: dict[str, Any]) -> str:
    return f"{row['status']} ({row['failure_kind']})" if row["failure_kind"] else row["status"]


def evidence(row: dict[str, Any]) -> str:
    traces = [row["module_trace"], *(test["trace"] for test in row["tests"])]
    return last_line(next((trace for trace in traces if trace), "; ".join(row["tampering"]) or row["exit"]))


def first_line(sample: dict[str, Any]) -> str:
    return last_line(next(iter(sample["details"].values()), "")) if sample["details"] else ""


def last_line(trace: str) -> str:
    lines = [line.strip() for line in trace.strip().splitlines() if line.strip()]
    return lines[-1][:110].replace("|", "¦") if lines else ""


def show(differing: list[Disagreement], causes: dict[str, str]) -> None:
    if not differing:
        print("No disagreement.")
        return
    print("| task | recorded | ours | evidence there | evidence here | cause |")
    print("| --- | --- | --- | --- | --- | --- |")
    for one in differing:
        noted = "stated there" if "data" in one.recorded_evidence or "race" in one.recorded_evidence else ""
        cause = causes.get(one.task_id) or noted or "not yet looked into"
        print(f"| {' | '.join(one)} | {cause} |")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the reference data (holds data/ and env/)")
    parser.add_argument("--subset", choices=("full", "hard"), default="full")
    parser.add_argument("--store", type=Path, default=Path("results/benchmark-store"))
    parser.add_argument("--only", default="ground_truth,qwen,gemma", help="which comparisons, separated by commas")
    return parser.parse_args()


if __name__ == "__main__":
    main()
