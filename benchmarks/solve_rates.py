"""Write data/bigcodebench/solve_rates.jsonl: the share of published models that solves each task of BigCodeBench.

    python benchmarks/solve_rates.py RESULTS_eval_results.json.gz ...

RESULTS are result files of the original evaluator, one per model, each with all 1,140 tasks. A model solves a task to
the extent of the share of its samples that passes; the mean over models is written in percent with one decimal, as the
benchmark's authors do in their dataset bigcode/bigcodebench-solve-rate.
"""

import argparse
import gzip
import json
from pathlib import Path

_OUT = Path(__file__).parents[1] / "data" / "bigcodebench" / "solve_rates.jsonl"
_TASKS = [f"BigCodeBench/{number}" for number in range(1140)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("results", nargs="+", type=Path, help="result files of the original evaluator")
    parser.add_argument("--out", type=Path, default=_OUT, help="JSON lines to write")
    arguments = parser.parse_args()
    rates = solve_rates(arguments.results)
    lines = [json.dumps({"task_id": task_id, "solve_rate": rate}) + "\n" for task_id, rate in rates.items()]
    arguments.out.write_text("".join(lines), encoding="utf-8")


def solve_rates(files: list[Path]) -> dict[str, float]:
    """Return the percentage of the models that solve each task, by task id."""
    models = [_shares(file) for file in files]
    return {task_id: round(100 * sum(model[task_id] for model in models) / len(models), 1) for task_id in _TASKS}


def _shares(file: Path) -> dict[str, float]:
    """Return the share of a model's samples that pass, by task id."""
    data = file.read_bytes()
    entries = json.loads(gzip.decompress(data) if file.suffix == ".gz" else data)["eval"]
    return {task_id: sum(one["status"] == "pass" for one in given) / len(given) for task_id, given in entries.items()}


if __name__ == "__main__":
    main()
