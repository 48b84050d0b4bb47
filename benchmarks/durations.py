"""Write data/bigcodebench/durations.csv: the time and memory that the ground truths of BigCodeBench need.

    python benchmarks/durations.py --tasks TASKS.parquet VERDICTS.parquet ...

VERDICTS are tables of ground truths, such as the part-0.parquet files below {store}/execution; the medians over them
are written. They set the order of work in the first pass on a new machine, and raise time limits that are too short.
"""

import argparse
import csv
import hashlib
import statistics
from pathlib import Path

import pyarrow.parquet as pq

_OUT = Path(__file__).parents[1] / "data" / "bigcodebench" / "durations.csv"
_COLUMNS = ("wall_seconds", "cpu_seconds", "max_rss_mib")


def main() -> None:
    arguments = _arguments()
    tasks = pq.read_table(arguments.tasks, columns=["task_id", "test"]).to_pylist()
    measured = measurements(arguments.verdicts)
    with arguments.out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["task_id", "test_sha256", *_COLUMNS])
        for task in tasks:
            if task["task_id"] in measured:
                seconds, cpu_seconds, memory_mib = measured[task["task_id"]]
                sha = hashlib.sha256(task["test"].encode()).hexdigest()
                writer.writerow([task["task_id"], sha, f"{seconds:.2f}", f"{cpu_seconds:.2f}", f"{memory_mib:.0f}"])


def measurements(files: list[Path]) -> dict[str, tuple[float, float, float]]:
    """Return the medians over the passing executions of each task: wall seconds, CPU seconds, MiB."""
    rows = [row for file in files for row in pq.read_table(file).select(["task_id", "status", *_COLUMNS]).to_pylist()]
    passing: dict[str, list[tuple[float, float, float]]] = {}
    for row in rows:
        if row["status"] == "pass":
            passing.setdefault(row["task_id"], []).append(tuple(row[name] for name in _COLUMNS))
    return {
        task_id: tuple(statistics.median(column) for column in zip(*seen, strict=True))
        for task_id, seen in passing.items()
    }


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("verdicts", nargs="+", type=Path, help="verdict tables of ground truths")
    parser.add_argument("--tasks", type=Path, required=True, help="Parquet file of the tasks")
    parser.add_argument("--out", type=Path, default=_OUT, help="CSV file to write")
    return parser.parse_args()


if __name__ == "__main__":
    main()
