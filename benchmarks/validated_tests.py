"""Make the shipped tables of validated altered tests: one per locked environment.

    python benchmarks/validated_tests.py --data ../shared --out FOLDER [--environment starter]

Executes the reference solutions of the environment's tasks against every altered text that the shipped table lacks, in
the store FOLDER, and replaces the rows of these texts in data/validated_tests. Do this whenever the altered texts, the
harness or a lock change: a shipped row applies only to the same text, environment and harness, so an outdated table is
not wrong but useless.
"""

import argparse
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from bigcodeflow.config import load_settings
from bigcodeflow.core.schemas import CONTRADICTIONS
from bigcodeflow.judge.environments import find_environment
from bigcodeflow.pipeline.environment_check import EnvironmentCheck
from bigcodeflow.pipeline.progress import progress_listener

_ROOT = Path(__file__).resolve().parents[1]
_FOLDER = _ROOT / "data/validated_tests"
_LEVEL = 22


def main() -> None:
    """Validate the tests of each environment's tasks and write the tables."""
    arguments = _arguments()
    sources = {"starter": "starter", "bigcodebench": str(arguments.data / "data/bigcodebench-v0.1.4.parquet")}
    for name in arguments.environment or sources:
        store = arguments.out / name
        sections = {"dataset": {"source": sources[name]}, "samples": {"source": "oracle"}}
        settings = sections | {"execution": {"environment": name}, "store": str(store)}
        with progress_listener() as listener:
            found = EnvironmentCheck(load_settings(settings, "validated_tests.py"), listener).contradictions()
        sha = find_environment(name).environment_sha
        path = _FOLDER / f"{sha}.parquet"
        tables = [pq.read_table(one) for one in (path, store / f"contradictions/{sha}.parquet") if one.exists()]
        rows = {(row["task_id"], row["variant"]): row for table in tables for row in table.to_pylist()}
        table = pa.Table.from_pylist([rows[key] for key in sorted(rows)], schema=CONTRADICTIONS)
        write(table, path)
        print(f"{name}: {table.num_rows} texts, {path.stat().st_size:,} bytes;", end=" ")
        print(f"{sum(one.tests for one in found):,} methods;", "valid:", dict(methods_by_kind(table.to_pylist())))


def methods_by_kind(rows: Iterable[Mapping[str, Any]]) -> Counter[str]:
    """Count the test methods that have a valid alteration of each kind in some text."""
    valid = {(row["task_id"], one["test"], one["kind"]) for row in rows for one in row["alterations"] if one["valid"]}
    return Counter(kind for _, _, kind in valid)


def write(table: pa.Table, path: Path) -> None:
    """Write the table as small as it gets: rows of one test beside each other, in one compressed group."""
    path.parent.mkdir(exist_ok=True)
    pq.write_table(table.cast(CONTRADICTIONS), path, compression="zstd", compression_level=_LEVEL, use_dictionary=False)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared"), help="reference data, for bigcodebench")
    parser.add_argument("--out", type=Path, required=True, help="folder of the stores")
    parser.add_argument("--environment", action="append", choices=("starter", "bigcodebench"), help="default: both")
    return parser.parse_args()


if __name__ == "__main__":
    main()
