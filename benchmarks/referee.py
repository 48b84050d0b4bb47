"""Count how often `bigcodeflow explain` names the cause of a difference, of 200 planted differences and of real ones.

    python benchmarks/referee.py --data ../shared/data --store FOLDER [--kinds limit,noise] [--count 36]
    python benchmarks/referee.py --data ../shared/data --store FOLDER --recorded qwen,gemma [--ids 67,205]

Real differences are those between verdicts recorded by the original evaluator and ours of the same programs; their
right causes are in parity_causes.yaml. The programs of planted differences are recorded answers that pass, with a
change that makes them pass here and fail there (or the reverse):

- extraction: the other harness lost the end of the program; it executed what was left, and without calibration
- limit: the program sleeps for 4 s; the other harness allows 3
- version: the other dataset's test expects another value
- environment: the program uses a name that newer libraries do not have
- noise: the program fails or not by chance
- runner: the other harness executes a script; the program ends it with exit code 0 or 1 before the tests, or fails only
  where it is the main module; or no runner starts the tests, so that what loads passes

The first result is a run here. The second is a file in another harness's format, without limits, environment and
runner. Its verdicts are those of a run under the changed condition, or follow from the change (limit, noise, runner).
Each kind has programs without a difference beside. Exit code 1 if less than 95 % of the causes are right.
"""

import argparse
import ast
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
import yaml
from measuring import table
from parity import SAMPLE_FILES

import bigcodeflow as bcf
from bigcodeflow.core.settings import validated
from bigcodeflow.pipeline.progress import progress_listener
from bigcodeflow.store import open_store
from bigcodeflow_harnesses.explain import Explain, ExplainConfig
from bigcodeflow_harnesses.importing import import_results
from bigcodeflow_harnesses.importing.reading import read_results

PROMISED = 0.95
ENVIRONMENT, NEWER = "bigcodebench", "starter"
_RESULTS = "samples/qwen2.5-coder-7b-instruct/*_eval_results.json.gz"
_CONTROLS = 6
Row = dict[str, Any]


class Plant(NamedTuple):
    """A kind of difference: programs of the first and the second result, and how the second is judged."""

    first: Callable[[str, int], str]
    second: Callable[[str, int], str] | None = None
    """None: the same program."""
    judged: Callable[[str, int], str] | None = None
    """Verdict of the second result, by the first's status and the number; None: a run under the condition tells it."""
    environment: str = ENVIRONMENT
    variant: str = "raw"


def _unchanged(program: str, _: int) -> str:
    return program


def _flip(status: str, _: int) -> str:
    return "fail" if status == "pass" else "pass"


def _runner(program: str, number: int) -> str:
    ends = (
        "\nimport sys\nif __name__ == '__main__':\n    sys.exit(1)\n",
        "\nif __name__ == '__main__':\n    raise ValueError('no arguments')\n",
        "\nimport sys\nsys.exit(0)\n",
        "\nimport os, unittest\nunittest.main = lambda *a, **k: None\ntask_func = lambda *a, **k: None\n",
    )
    return program + ends[number % len(ends)]


def _cut(program: str, number: int) -> str:
    lines = program.rstrip().splitlines()
    if number % 2:  # lost imports
        return "\n".join(line for line in lines if not line.startswith(("import ", "from ")))
    return "\n".join(lines[: -max(1, len(lines) // 4)])  # cut off


def _coin(program: str, number: int) -> str:
    share = (80, 128, 176)[number % 3]
    return f"import os\nif os.urandom(1)[0] < {share}:\n    raise RuntimeError('by chance')\n{program}"


PLANTS: Mapping[str, Plant] = {
    "extraction": Plant(_unchanged, _cut),
    "limit": Plant(lambda program, _: f"import time\ntime.sleep(4)\n{program}", judged=lambda *_: "timeout"),
    "version": Plant(_unchanged),
    "environment": Plant(lambda program, _: f"import numpy\n_ = numpy.float(1.0)\n{program}", environment=NEWER),
    "noise": Plant(_coin, judged=_flip),
    "runner script": Plant(_runner, judged=_flip),
    "runner none": Plant(lambda program, _: f"{program}\ntask_func = print\n", judged=lambda *_: "pass"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--kinds", default=",".join(PLANTS))
    parser.add_argument("--count", type=int, default=36)
    parser.add_argument("--recorded", default="", help="explain real differences of these recorded runs")
    parser.add_argument("--ids", default="", help="numbers of tasks of recorded runs; empty: all")
    arguments = parser.parse_args()
    (arguments.store / "files").mkdir(parents=True, exist_ok=True)
    lines, right, total = [], 0, 0
    for kind in (arguments.recorded or arguments.kinds).split(","):
        found = recorded(kind, arguments) if arguments.recorded else measured(kind, arguments)
        causes = investigated(kind)
        wrong = [row for row in found if row["cause"] != causes.get(row["task_id"], kind.partition(" ")[0])]
        if arguments.recorded:
            columns = ("task_id", "second_status", "first_status", "cause", "detail", "right", "evidence", "reason")
            print(table(("task", "recorded", "here", *columns[3:]), [[row[name] for name in columns] for row in found]))
        lines.append((kind, len(found), len(found) - len(wrong), dict(Counter(row["cause"] for row in wrong))))
        right, total = right + len(found) - len(wrong), total + len(found)
        for row in wrong:
            print(kind, row["task_id"], row["cause"], row["evidence"], sep=" | ")
    print(table(("recorded" if arguments.recorded else "planted", "differences", "right cause", "others"), lines))
    print(f"{right} of {total} ({right / max(1, total):.1%})")
    sys.exit(right < PROMISED * total)


def investigated(name: str) -> dict[str, str]:
    """Return the causes of a recorded run's differences as people see them, by task; empty for a planted kind."""
    texts = yaml.safe_load(Path(__file__).with_name("parity_causes.yaml").read_text()).get(name, {})
    signs = {"chance": "noise", "busy": "noise", "text of this test": "version"}
    return {
        task_id: next((cause for sign, cause in signs.items() if sign in text), "environment")
        for task_id, text in texts.items()
    }


def recorded(name: str, arguments: argparse.Namespace) -> list[Row]:
    """Judge the programs of a recorded run here and explain the differences; return the rows of the study."""
    stem, data = arguments.data / SAMPLE_FILES[name], arguments.data / "bigcodebench-v0.1.4.parquet"
    file, wanted = (
        Path(f"{stem}_eval_results.json.gz"),
        {f"BigCodeBench/{one}" for one in arguments.ids.split(",") if one},
    )
    programs = {one.task_id: one.program.partition("\n    pass\n")[2] for one in read_results(file).entries}
    chosen = {task_id: text for task_id, text in programs.items() if not wanted or task_id in wanted}
    _run(f"{name}-here", str(arguments.store), data, chosen, ENVIRONMENT, "calibrated")
    return _explained(f"{name}-here", file, data, arguments.store, samples=f"{stem}.jsonl.gz")


def measured(kind: str, arguments: argparse.Namespace) -> list[Row]:
    """Make both results of a kind and explain their differences; return the rows of the study."""
    plant, kind, store = PLANTS[kind], kind.replace(" ", "-"), str(arguments.store)
    folder = arguments.store / "files" / kind
    folder.mkdir(parents=True, exist_ok=True)
    chosen = [*_chosen(arguments.data, kind, arguments.count)]
    tasks = {task["task_id"]: task for task, _ in chosen}
    programs = {task["task_id"]: program for task, program in chosen}
    planted = [*tasks][: arguments.count]

    def made(change: Callable[[str, int], str]) -> dict[str, str]:
        return programs | {name: change(programs[name], number) for number, name in enumerate(planted)}

    first_data, second_data = folder / "tasks.parquet", folder / "other.parquet"
    _write(first_data, [*tasks.values()])
    _write(second_data, [task | {"test": _altered(task["test"]) or task["test"]} for task in tasks.values()])
    first = made(plant.first)
    ours = _run(f"{kind}-first", store, first_data, first, ENVIRONMENT, "calibrated")
    data = second_data if kind == "version" else first_data
    second = made(plant.second or plant.first)
    if plant.judged:
        statuses = {name: plant.judged(ours[name], 0) if name in planted else ours[name] for name in tasks}
    else:
        statuses = _run(f"{kind}-there", store, data, second, plant.environment, plant.variant)
    file = folder / f"{kind}_vllm_temp_0.0_eval_results.json"
    told = {name: [{"solution": second[name], "base_status": statuses[name], "plus_status": None}] for name in tasks}
    file.write_text(json.dumps({"date": "2026-01-05 12:00", "hash": kind, "eval": told}))
    found = _explained(f"{kind}-first", file, data, arguments.store, variant="@raw")
    return [row for row in found if row["task_id"] in planted]


def _explained(first: str, file: Path, data: Path, store: Path, *, samples: str = "", variant: str = "") -> list[Row]:
    """Import the second result and explain how it differs from the first."""
    with progress_listener(quiet=True) as listener:
        settings = {"source": str(data), "split": "complete"}
        run = import_results(file, settings=settings, store=store, listener=listener, samples=samples)
        given = {"first": first, "second": f"{run.record}{variant}", "environments": (NEWER,), "store": str(store)}
        config = validated(ExplainConfig, {**given, "environment": ENVIRONMENT}, "benchmark")
        ref = Explain().run(config, listener)
    return open_store(str(store)).read(ref).to_pylist()


def _chosen(data: Path, kind: str, count: int) -> Iterator[tuple[Row, str]]:
    """Yield quick tasks with recorded answers that pass: `count`, and some that are not changed."""
    [results] = data.glob(_RESULTS)
    [source] = data.glob("bigcodebench-v0.1.4.parquet")
    passes = {one.task_id: one.program for one in read_results(results).entries if one.status == "pass"}
    offset, taken = len(kind) * 3, 0
    rows = sorted(pq.read_table(source).to_pylist(), key=lambda row: int(row["task_id"].rpartition("/")[2]))
    for row in rows[offset:] + rows[:offset]:
        light = set(ast.literal_eval(row["libs"])) <= {*sys.stdlib_module_names, "numpy"} - {"random"}  # flaky itself
        plain = all(
            line.startswith(("import ", "from ", "def ", " ")) for line in row["code_prompt"].split("\n") if line
        )
        if row["task_id"] in passes and light and plain and _altered(row["test"]) and "main" not in row["test"]:
            if taken < count + _CONTROLS:
                yield row, passes[row["task_id"]].partition("\n    pass\n")[2]
            taken += 1


def _altered(test: str) -> str:
    """Return the test with another expected value; empty if it has no simple one."""
    tree = ast.parse(test)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "assertEqual":
            value = node.args[1] if len(node.args) > 1 else None
            if isinstance(value, ast.Constant) and type(value.value) in {int, str}:
                value.value = value.value + (1 if isinstance(value.value, int) else "x")
                return ast.unparse(tree)
    return ""


def _write(path: Path, tasks: Sequence[Row]) -> None:
    import pyarrow as pa

    pq.write_table(pa.Table.from_pylist(list(tasks)), path)


def _run(  # noqa: PLR0917 - one call for each side
    name: str, store: str, data: Path, programs: Mapping[str, str], environment: str, variant: str
) -> dict[str, str]:
    """Record a run of the programs; return the status of each task."""
    samples = Path(store) / "files" / f"{name}.jsonl"
    samples.write_text("".join(json.dumps({"task_id": one, "solution": text}) + "\n" for one, text in programs.items()))
    config = bcf.load_config(
        options={
            "name": name,
            "store": store,
            "dataset.source": str(data),
            "samples.source": str(samples),
            "sanitizing.mode": "none",
            "execution.environment": environment,
            "execution.variants": (variant,),
            "execution.integrity": "off",
            "execution.quarantine": "off",
        }
    )
    found = bcf.run(config, progress=False).verdicts
    return dict(zip(found["task_id"], found["status"], strict=True))


if __name__ == "__main__":
    main()
