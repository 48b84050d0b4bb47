"""Judge the same recorded answers in the shapes of other harnesses: one rule changed at a time.

    python benchmarks/harness_shapes.py --data ../shared/data --store FOLDER [--tasks 100]

Prints a Markdown table: score, answers whose verdict changes, and reference solutions that pass under the same rule.
Executions are cached in the store.
"""

import argparse
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
from measuring import table

from bigcodeflow.core.settings import validated
from bigcodeflow.datasets.tasks import read_libs
from bigcodeflow.pipeline.progress import progress_listener
from bigcodeflow_harnesses.explain import ExplainConfig
from bigcodeflow_harnesses.explain.trials import Trial, Trials
from bigcodeflow_harnesses.importing.reading import read_results

ENVIRONMENT = "bigcodebench"
#: Rules by name, each as the attributes of a trial that differ from those of BigCodeBench's own evaluator.
SHAPES: Mapping[str, Mapping[str, object]] = {
    "BigCodeBench's evaluator: calibrated, each test method, 240 s": {},
    "not calibrated": {"setup": ""},
    "a script with `unittest.main()`, exit code": {"runner": "script"},
    "a script without a runner, exit code": {"runner": "script without a runner"},
    "30 s": {"seconds": 30.0, "is_raised": False},
    "10 s": {"seconds": 10.0, "is_raised": False},
    "3 s": {"seconds": 3.0, "is_raised": False},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--model", default="qwen2.5-coder-7b-instruct")
    parser.add_argument("--tasks", type=int, default=100)
    arguments = parser.parse_args()
    bases = _bases(arguments.data, arguments.model, arguments.tasks)
    config = validated(ExplainConfig, {"store": str(arguments.store)}, "benchmark")
    lines, own = [], []
    with progress_listener(quiet=True) as listener:
        trials = Trials(config, listener)
        for name, changes in SHAPES.items():
            changed = [replace(base, **changes) for base in bases]
            trials.execute(changed)
            results = [trials.results[trial] for trial in changed]
            passes = [bool(one.passed) for one in results]
            own = own or passes
            gained = sum(now and not before for now, before in zip(passes, own, strict=True))
            lost = sum(before and not now for now, before in zip(passes, own, strict=True))
            references = sum(one.reference == "pass" for one in results)
            lines.append((name, f"{100 * sum(passes) / len(passes):.1f} %", f"+{gained} -{lost}", references))
    print(f"{arguments.model}, {len(bases)} tasks\n")
    print(table(("rule", "score", "verdicts", "references"), lines))


def _bases(data: Path, model: str, count: int) -> list[Trial]:
    [source], [results] = data.glob("bigcodebench-v0.1.4.parquet"), data.glob(f"samples/{model}/*_eval_results.json.gz")
    programs = {one.task_id: one.program for one in read_results(results).entries}
    tasks = sorted(pq.read_table(source).to_pylist(), key=lambda row: int(row["task_id"].rpartition("/")[2]))
    return [
        Trial(
            task=task | {"libs": read_libs(task["libs"]), "hard": False},
            solution=programs[task["task_id"]].removeprefix(f"{task['code_prompt']}\n    pass\n"),
            setup=task["code_prompt"],
            test=task["test"],
            environment=ENVIRONMENT,
            seconds=240.0,
            is_raised=True,
            memory_mib=4096,
        )
        for task in tasks[:count]
    ]


if __name__ == "__main__":
    main()
