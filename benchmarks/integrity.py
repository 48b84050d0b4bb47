"""Measure the CPU cost of checking passes: this code with and without the check, and another checkout.

    python benchmarks/integrity.py --data ../shared --before CHECKOUT --out FOLDER [--every 10] [--blocks 4]

CHECKOUT is a set-up clone of the code to compare with. The tasks are dealt into blocks. Each block's samples (the
ground truths as samples, and Qwen's recorded answers) are judged in turns: before, off, on, and back, so that other
load on the machine affects all sides. Each measured command is a separate process with a separate store that already
holds the ground truths and the known contradictions; the CPU time of the same command with nothing left to do is
subtracted from its CPU time, which includes that of its sandboxes. Prints a Markdown table; measurements are kept in
FOLDER/runs.jsonl and not repeated.
"""

import argparse
import shutil
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq
from measuring import measure, measured_once
from parity import SAMPLE_FILES
from recorded_runs import evaluate_command

_KINDS = ("oracle", "qwen")
_SIDES = ("before", "off", "on")


class Unit(NamedTuple):
    """One measurement to make."""

    kind: str
    """oracle or qwen."""
    side: str
    """before, off or on."""
    block: int
    turn: int

    @property
    def key(self) -> str:
        """Identity of the measurement, used to recognise a finished one."""
        return " ".join(map(str, self))


def main() -> None:
    arguments = _arguments()
    numbers = [int(one.rpartition("/")[2]) for one in _task_ids(arguments.data)][:: arguments.every]
    blocks = [numbers[start :: arguments.blocks] for start in range(arguments.blocks)]
    arguments.out.mkdir(parents=True, exist_ok=True)

    def run_of(unit: Unit) -> dict[str, object]:
        numbers = blocks[unit.block]
        return {"unit": unit, "samples": len(numbers)} | _measured(unit, numbers, arguments)

    _report(measured_once(arguments.out / "runs.jsonl", _units(arguments.blocks), run_of))


def _units(blocks: int) -> list[Unit]:
    return [
        Unit(kind, side, block, turn)
        for turn, sides in enumerate((_SIDES, _SIDES[::-1]))
        for kind in _KINDS
        for block in range(blocks)
        for side in sides
    ]


def _measured(unit: Unit, numbers: list[int], arguments: argparse.Namespace) -> dict[str, object]:
    """Return CPU seconds of judging the block, less those of a repetition with nothing to do, and verdict counts."""
    prepared = _prepared(unit, numbers, arguments)
    store = arguments.out / "store"
    shutil.rmtree(store, ignore_errors=True)
    shutil.copytree(prepared, store)
    took = [_run(unit.kind, unit.side, numbers, store, arguments) for _ in range(2)]
    found = {"cpu_seconds": took[0].cpu_seconds - took[1].cpu_seconds, "source": took[0].cpu_source}
    verdicts = pq.read_table(arguments.out / "results/verdicts.parquet")
    found["statuses"] = Counter(verdicts["status"].to_pylist())
    if unit.side != "before":
        found["integrity"] = Counter(map(str, verdicts["integrity"].to_pylist()))
    return found


def _prepared(unit: Unit, numbers: list[int], arguments: argparse.Namespace) -> Path:
    """Return a store with the ground truths, and with the contradictions that a judge of such samples knows."""
    code = "before" if unit.side == "before" else "this"
    folder: Path = arguments.out / f"prepared-{code}-{unit.block}"
    aside, known = folder.with_name("aside"), folder / f"contradictions-known-{unit.kind}"
    shutil.rmtree(aside, ignore_errors=True)
    if not folder.exists():
        # Without samples that pass: with an empty function, ground truths are judged and nothing is checked.
        _run("stub", unit.side, numbers, aside, arguments)
        aside.rename(folder)
    if unit.side == "on" and not known.exists():
        shutil.copytree(folder, aside)
        _run(unit.kind, unit.side, numbers, aside, arguments)
        shutil.copytree(aside / "contradictions", folder / "contradictions", dirs_exist_ok=True)
        shutil.rmtree(aside)
        known.touch()
    return folder


def _run(kind: str, side: str, numbers: list[int], store: Path, arguments: argparse.Namespace):  # noqa: ANN202
    root = arguments.before if side == "before" else Path(__file__).parents[1]
    samples = str(arguments.data / f"data/{SAMPLE_FILES['qwen']}.jsonl.gz") if kind == "qwen" else kind
    ids = ",".join(map(str, numbers))
    program, out = [str(root / ".venv/bin/bigcodeflow")], arguments.out / "results"
    command = [
        *evaluate_command(program, arguments.data, samples, ids, store=store, out=out),
        "--environment",
        "bigcodebench",
    ]
    # A program whose variant alone differs is executed again: ground truths are calibrated.
    command += ["--uncalibrated"] if kind == "oracle" else []
    command += ["--set", "execution.integrity=off"] if side == "off" else []
    shutil.rmtree(out, ignore_errors=True)
    took = measure(command, log=arguments.out / "last.log")
    if took.exit_code:
        raise SystemExit(f"{' '.join(command)} failed: see {arguments.out / 'last.log'}")
    return took


def _report(rows: list[dict[str, object]]) -> None:
    print("| samples | before | off | on | off / before | on / before | passes checked | accused |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for kind in _KINDS:
        mean = {}
        for side in _SIDES:
            mine = [row for row in rows if list(row["unit"][:2]) == [kind, side]]
            mean[side] = 1000 * sum(row["cpu_seconds"] for row in mine) / sum(row["samples"] for row in mine)
        cells = [f"{mean[side]:.0f} ms" for side in _SIDES]
        cells += [f"{mean[side] / mean['before']:.3f}" for side in ("off", "on")]
        checks = [row["integrity"] for row in rows if list(row["unit"][:2]) == [kind, "on"]]
        cells += [str(max(one.get(name, 0) for one in checks)) for name in ("checked", "tampered")]
        print(f"| {kind} | {' | '.join(cells)} |")


def _task_ids(data: Path) -> list[str]:
    table = pq.read_table(data / "data/bigcodebench-v0.1.4.parquet", columns=["task_id"])
    ids: list[str] = table["task_id"].to_pylist()
    return ids


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--before", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--every", type=int, default=10)
    parser.add_argument("--blocks", type=int, default=4)
    return parser.parse_args()


if __name__ == "__main__":
    main()
