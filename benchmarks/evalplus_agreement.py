"""Compare verdicts on HumanEval+ and MBPP+ with evalplus's own evaluator, on mutants of the reference solutions.

    python benchmarks/evalplus_agreement.py --data ../shared --out FOLDER [--mutants 20] [--tasks 50]

Prints Markdown tables and every difference with its cause. evalplus runs unchanged, with its default limits, in an
environment of its own without network. Here programs have the benchmark's settings, but a shorter limit of time, as
many mutants do not end. Those that differ are judged again, with 60 s here and for each input there. Exit code 1 if
less than 99 % agree or a difference has no known cause.
"""

import argparse
import gzip
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from measuring import table

from bigcodeflow import datasets
from bigcodeflow.config import DatasetConfig, LimitsConfig, load_config
from bigcodeflow.core.errors import EnvironmentUnusableError, ExecutionError
from bigcodeflow.core.paths import cache_folder
from bigcodeflow.judge import Judge, Task
from bigcodeflow.judge.environments import find_environment
from bigcodeflow.judge.host.bubblewrap import find_bubblewrap
from bigcodeflow_studies.audit.mutation import mutants_of

VERSION = "0.3.1"
PROMISED_AGREEMENT = 0.99
_WHOLE_SECONDS = 60.0
#: Tasks whose verdicts are kept together; a killed comparison continues behind them.
_TASKS_AT_ONCE = 20
_EVALPLUS_SECONDS = 4 * 3600
#: Causes of differences that were investigated, by task.
_CAUSES = {"HumanEval/32": "evalplus does not count the inputs that pass, so that it fails every program"}


class Family(NamedTuple):
    """One of the two benchmarks."""

    source: str
    file: str
    name: str  # evalplus's name of the dataset
    variable: str  # names the file of its tasks


FAMILIES = {
    "HumanEval+": Family("evalplus/humanevalplus", "HumanEvalPlus.jsonl.gz", "humaneval", "HUMANEVAL_OVERRIDE_PATH"),
    "MBPP+": Family("evalplus/mbppplus", "MbppPlus.jsonl.gz", "mbpp", "MBPP_OVERRIDE_PATH"),
}


class Sample(NamedTuple):
    """A reference solution, or a mutant of it."""

    task_id: str
    number: int  # 0: the reference
    change: str
    program: str


class Verdicts(NamedTuple):
    """Results of both sides for one sample."""

    sample: Sample
    here: Mapping[str, Any]
    there: Mapping[str, Any]

    @property
    def differ(self) -> bool:
        """True if it passes on one side only."""
        return bool((self.here["status"] == "pass") != _passes(self.there))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the reference data")
    parser.add_argument("--out", type=Path, required=True, help="folder for verdicts; those in it are reused")
    parser.add_argument("--mutants", type=int, default=20, help="most mutants of a task")
    parser.add_argument("--only", choices=FAMILIES, action="append", help="only this benchmark")
    parser.add_argument("--tasks", type=int, default=0, help="tasks of each benchmark, evenly spread; 0: all")
    parser.add_argument("--seconds", type=float, default=10, help="time limit here of the first execution")
    arguments = parser.parse_args()
    lines, differences = [], []
    for name in arguments.only or FAMILIES:
        verdicts = compared(name, arguments)
        mutants = [one for one in verdicts if one.sample.number]
        agreed = sum(not one.differ for one in mutants)
        killed = [sum(one.here["status"] != "pass" for one in mutants), sum(not _passes(one.there) for one in mutants)]
        counts = [len(verdicts) - len(mutants), len(mutants), *killed, f"{100 * agreed / len(mutants):.2f} %"]
        lines.append([name, *counts, Counter(one.here["integrity"] for one in verdicts)["checked"]])
        differences += [(one, _cause(one)) for one in verdicts if one.differ]
    head = ["benchmark", "references", "mutants", "killed here", "killed by evalplus", "agreement", "passes checked"]
    print(table(head, lines))
    texts = [[one.sample.task_id, one.sample.change, one.here, one.there, cause] for one, cause in differences]
    print(table(["task", "mutant", "here", "evalplus", "cause"], texts))
    n_mutants = sum(line[2] for line in lines)
    share = 1 - sum(one.sample.number > 0 for one, _ in differences) / n_mutants
    print(f"{n_mutants:,} mutants, agreement {100 * share:.2f} %")
    sys.exit(share < PROMISED_AGREEMENT or any(not cause for _, cause in differences))


def compared(name: str, arguments: argparse.Namespace) -> list[Verdicts]:
    """Plant mutants in a benchmark's references and judge them on both sides."""
    family, folder = FAMILIES[name], arguments.out
    folder.mkdir(parents=True, exist_ok=True)
    path = arguments.data / "data" / "evalplus" / family.file
    config = DatasetConfig(source=f"{family.source}={path}")
    tasks = datasets.load_tasks(config, datasets.resolve(config)).to_pylist()
    tasks = tasks[:: max(1, len(tasks) // arguments.tasks)] if arguments.tasks else tasks
    samples = [sample for task in tasks for sample in _planted(task, arguments.mutants)]
    print(f"{name}: {len(samples):,} programs of {len(tasks):,} tasks", file=sys.stderr)
    there = _kept(folder, f"{family.name}_evalplus", samples, partial(_judged_there, family, path))
    here: list[dict[str, Any]] = []
    for number in range(0, len(tasks), _TASKS_AT_ONCE):
        own = {task["task_id"]: task for task in tasks[number : number + _TASKS_AT_ONCE]}
        chosen = [sample for sample in samples if sample.task_id in own]
        judge = partial(_judged_here, own, arguments.seconds)
        here += _kept(folder, f"{family.name}_here_{arguments.seconds:g}", chosen, judge)
    verdicts = [Verdicts(*both) for both in zip(samples, here, there, strict=True)]
    again = [one for one in verdicts if one.differ]
    if not again:
        return verdicts
    chosen = [one.sample for one in again]
    known = {task["task_id"]: task for task in tasks}
    here = _kept(folder, f"{family.name}_here_{_WHOLE_SECONDS}", chosen, partial(_judged_here, known, _WHOLE_SECONDS))
    judged_long = partial(_judged_there, family, path, is_long=True)
    long = _kept(folder, f"{family.name}_evalplus_{_WHOLE_SECONDS}", chosen, judged_long)
    repeated = {
        one.sample: one._replace(here=ours, there={**one.there, "long": theirs})
        for one, ours, theirs in zip(again, here, long, strict=True)
    }
    return [repeated.get(one.sample, one) for one in verdicts]


def _planted(task: Mapping[str, Any], most: int) -> Iterator[Sample]:
    """Yield the reference and its mutants."""
    program, task_id = task["complete_prompt"] + task["canonical_solution"], task["task_id"]
    yield Sample(task_id, 0, "reference", program)
    first = task["complete_prompt"].count("\n") + 1
    found = mutants_of(program, first, task["entry_point"], most=most, seed=0).chosen
    for number, one in enumerate(found, start=1):
        yield Sample(task_id, number, f"line {one.line}: {one.before} → {one.after}", one.program)


def _judged_here(
    tasks: Mapping[str, Mapping[str, Any]], seconds: float, samples: Sequence[Sample]
) -> list[dict[str, Any]]:
    """Judge samples here, as a run with the benchmark's settings does."""
    own = {
        task_id: Task(one["test"], one["complete_prompt"] + one["canonical_solution"], one["entry_point"])
        for task_id, one in tasks.items()
    }
    given = {"dataset.source": "evalplus/humanevalplus", "samples.source": "oracle"}
    limits = load_config(options=given).execution.limits.model_dump() | {"time_seconds": seconds}
    with Judge("starter", limits=LimitsConfig(**limits)) as judge:
        verdicts = judge.check_all([(one.program, own[one.task_id]) for one in samples])
    return [
        {"status": one["status"], "integrity": one["integrity"], "seconds": one["wall_seconds"], "why": _why(one)}
        for one in verdicts
    ]


def _why(verdict: Mapping[str, Any]) -> str:
    traces = [verdict["module_trace"], *(test["trace"] for test in verdict["tests"])]
    return next((trace.strip().splitlines()[-1] for trace in traces if trace), "")


def _judged_there(
    family: Family, path: Path, samples: Sequence[Sample], *, is_long: bool = False
) -> list[dict[str, Any]]:
    """Judge samples by evalplus, with its default limits, or with 60 s for each input and without one of memory."""
    chosen = {one.task_id for one in samples}
    with gzip.open(path, "rt") as file:
        problems = [line for line in file if json.loads(line)["task_id"] in chosen]
    with tempfile.TemporaryDirectory(prefix="evalplus-") as name:
        out = Path(name)
        (out / "problems.jsonl").write_text("".join(problems))
        lines = [json.dumps({"task_id": one.task_id, "solution": one.program}) for one in samples]
        (out / "samples.jsonl").write_text("\n".join(lines))
        words = ["--dataset", family.name, "--samples", "/tmp/out/samples.jsonl", "--parallel", str(os.cpu_count())]
        words += ["--min_time_limit", str(_WHOLE_SECONDS)] if is_long else []
        unlimited = {"EVALPLUS_MAX_MEMORY_BYTES": "-1"} if is_long else {}
        variables = {family.variable: "/tmp/out/problems.jsonl", **unlimited}
        command = _sandboxed(out, variables, ["-m", "evalplus.evaluate", *words])
        done = subprocess.run(command, capture_output=True, text=True, timeout=_EVALPLUS_SECONDS, check=False)
        if done.returncode:
            raise ExecutionError(f"evalplus ended with exit code {done.returncode}: {done.stderr[-500:]}")
        results = json.loads((out / "samples_eval_results.json").read_text())["eval"]
    found = {task_id: iter(rows) for task_id, rows in results.items()}
    verdicts = [next(found[one.task_id]) for one in samples]
    if [one["solution"] for one in verdicts] != [one.program for one in samples]:
        raise ExecutionError("evalplus returned other samples than it was given")
    return [{name: one[name] for name in ("base_status", "plus_status")} for one in verdicts]


def _sandboxed(out: Path, variables: Mapping[str, str], words: Sequence[str]) -> list[str]:
    """Return the command of evalplus's interpreter without network, where only a folder and /tmp can be written."""
    command = [find_bubblewrap(), "--die-with-parent", "--unshare-all", "--cap-drop", "ALL", "--ro-bind", "/", "/"]
    command += ["--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--bind", str(out), "/tmp/out"]
    for name, value in {"XDG_CACHE_HOME": "/tmp/cache", **variables}.items():
        command += ["--setenv", name, value]
    return [*command, "--", str(_installed()), *words]


def _installed() -> Path:
    """Return the interpreter of evalplus's environment, which is made on the first call."""
    folder = cache_folder() / "original" / f"evalplus-{VERSION}"
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([str(find_environment("starter").python), "-m", "venv", str(folder)], check=True)
        words = ["-m", "pip", "install", "--quiet", f"evalplus=={VERSION}"]
        if subprocess.run([str(python), *words], check=False).returncode:
            raise EnvironmentUnusableError(f"pip cannot install evalplus {VERSION}: check pip's index")
    return python


def _kept(
    folder: Path, judge: str, samples: Sequence[Sample], verdicts_of: Callable[[Sequence[Sample]], list[dict[str, Any]]]
) -> list[dict[str, Any]]:
    """Return a judge's verdicts from its file for just these programs, which is written on the first call."""
    programs = json.dumps([[one.task_id, one.program] for one in samples])
    path = folder / f"{judge}_{hashlib.sha256(programs.encode()).hexdigest()[:8]}.json"
    if not path.exists():
        began = time.monotonic()
        text = json.dumps(verdicts_of(samples))
        path.write_text(text)
        print(f"{path.name}: {time.monotonic() - began:,.0f} s", file=sys.stderr)
    verdicts: list[dict[str, Any]] = json.loads(path.read_text())
    return verdicts


def _passes(there: Mapping[str, Any]) -> bool:
    return bool(there["base_status"] == there["plus_status"] == "pass")


def _cause(one: Verdicts) -> str:
    if one.differ and _passes(one.there["long"]) == (one.here["status"] == "pass"):
        return "evalplus's limit of time for each input, or of memory"
    return _CAUSES.get(one.sample.task_id, "")


if __name__ == "__main__":
    main()
