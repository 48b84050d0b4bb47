"""Count the tasks and test methods that can be contradicted such that the reference solution fails.

    python benchmarks/contradictions.py --data ../shared [--ids ID,ID] [--limit N] [--repeat 2] [--pins] [--show]

--data is the reference data (holds data/), or a folder of starter tasks. Executes the reference solution of each task
against its unchanged test once and against every variant ``--repeat`` times. A contradiction is valid if the unchanged
method passes and the altered method fails its assertion each time; an error counts only if the assertion expects an
exception. --limit takes tasks spread evenly. Prints Markdown tables, and the methods without a valid contradiction.
"""

import argparse
import ast
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from bigcodeflow import datasets
from bigcodeflow.config import DatasetConfig, LimitsConfig
from bigcodeflow.core import untrusted_text
from bigcodeflow.core.calibration import calibrate
from bigcodeflow.environments import InstalledEnvironment, find_environment
from bigcodeflow.execution.backends.local import LocalBackend
from bigcodeflow.execution.integrity.altered_tests import AlteredTest, disguise
from bigcodeflow.execution.integrity.assertions import name_of
from bigcodeflow.execution.integrity.contradictions import FORMS
from bigcodeflow.execution.integrity.recorded_operands import read_recording, recording_text
from bigcodeflow.execution.integrity.syntax import assertions_in
from bigcodeflow.execution.items import ANY_IMPORT, WorkItem, work_item
from bigcodeflow.execution.verdicts import verdict


class Trial(NamedTuple):
    """One test method in one variant: the alteration, and the outcomes of the reference solution."""

    task_id: str
    test: str
    variant: int
    kind: str
    assertion: str
    line: int
    before: str
    after: str
    outcomes: tuple[str, ...]
    passes_unaltered: bool

    @property
    def is_valid(self) -> bool:
        """True if the reference does each time what a correct solution must do."""
        if self.kind == "restatement":
            return self.passes_unaltered and set(self.outcomes) == {"pass"}
        failing = {"fail", "error"} if "Raises" in self.assertion else {"fail"}
        return self.passes_unaltered and set(self.outcomes) <= failing


def main() -> None:
    arguments = _arguments()
    name = "starter" if (arguments.data / "tasks.jsonl").exists() else "bigcodebench"
    tasks = chosen_tasks(arguments, name)
    environment = find_environment(name)
    with closing(LocalBackend(environment, LimitsConfig(), warm=True)) as backend:
        backend.check()
        runner = Runner(backend, environment, arguments.threads)
        pins = runner.recordings(tasks) if arguments.pins else {}
        trials = run(runner, tasks, pins, arguments.repeat)
    report(tasks, trials, pins, show=arguments.show)


def chosen_tasks(arguments: argparse.Namespace, name: str) -> list[dict[str, Any]]:
    """Return rows of the tasks table, selected by --ids and --limit."""
    source = "starter" if name == "starter" else str(arguments.data / "data" / "bigcodebench-v0.1.4.parquet")
    config = DatasetConfig(source=source)
    rows = datasets.load_tasks(config, datasets.resolve(config)).to_pylist()
    if arguments.ids:
        wanted = arguments.ids.split(",")
        return [row for row in rows if row["task_id"].rpartition("/")[2] in wanted or row["task_id"] in wanted]
    step = len(rows) / min(len(rows), arguments.limit or len(rows))
    return [rows[int(index * step)] for index in range(int(len(rows) / step))]


class Runner:
    """Execute programs against tests and return their verdicts in order."""

    def __init__(self, backend: LocalBackend, environment: InstalledEnvironment, threads: int) -> None:
        self._backend, self._sha, self._threads = backend, environment.environment_sha, threads

    def item(self, task: dict[str, Any], test: str, program: str = "") -> WorkItem:
        """Return one execution: of the reference solution, or of the given program."""
        own = calibrate(task["code_prompt"], task["complete_prompt"] + task["canonical_solution"])
        return work_item(
            program=program or own,
            task={**task, "test": test},
            missing_imports=ANY_IMPORT,
            environment_sha=self._sha,
            limits=LimitsConfig(time_seconds=240),
        )

    def verdicts(self, items: Sequence[WorkItem]) -> list[dict[str, Any]]:
        """Execute the items; return one verdict per item."""
        prepared = self._backend.prepare(items)
        with ThreadPoolExecutor(self._threads) as pool:
            outcomes = pool.map(self._backend.execute, prepared)
            return [
                verdict(item, outcome, backend="local", environment_sha=self._sha)
                for item, outcome in zip(items, outcomes, strict=True)
            ]

    def recordings(self, tasks: Sequence[dict[str, Any]]) -> dict[str, dict[str, str]]:
        """Record the expected values that tests compute themselves; return them by task."""
        texts = {task["task_id"]: recording_text(task["test"], task["entry_point"]) for task in tasks}
        recorded = [task for task in tasks if texts[task["task_id"]]]
        items = []
        for task in recorded:
            program = f"{task['code_prompt']}\n    return None\n"
            items.append(self.item(task, texts[task["task_id"]] or "", program))
        found = self.verdicts(items)
        return {task["task_id"]: read_recording(row["stdout"]) for task, row in zip(recorded, found, strict=True)}


def run(runner: Runner, tasks: Sequence[dict[str, Any]], pins: dict[str, dict[str, str]], repeat: int) -> list[Trial]:
    """Execute all variants; return a trial for every test method of every variant, unaltered methods included."""
    altered = {
        (task["task_id"], variant): disguise(
            task["test"],
            task["entry_point"],
            "restatement" if variant % 2 else "contradiction",
            variant=variant // 2,
            pins=pins.get(task["task_id"], {}),
        )
        for task in tasks
        for variant in range(2 * FORMS)
    }
    items, owners = [], []
    for task in tasks:
        items.append(runner.item(task, task["test"]))
        owners.append((task["task_id"], -1))
        for variant in range(2 * FORMS):
            text = altered[task["task_id"], variant].text
            items += [runner.item(task, text)] * repeat
            owners += [(task["task_id"], variant)] * repeat
    outcomes: dict[tuple[str, int, str], list[str]] = defaultdict(list)
    for (task_id, variant), row in zip(owners, runner.verdicts(items), strict=True):
        for test in row["tests"]:
            outcomes[task_id, variant, test["name"]].append(test["outcome"])
    return [one for task in tasks for one in _trials(task, altered, outcomes)]


def _trials(
    task: dict[str, Any],
    altered: dict[tuple[str, int], AlteredTest],
    outcomes: dict[tuple[str, int, str], list[str]],
) -> Iterator[Trial]:
    task_id = task["task_id"]
    lines = assertion_lines(task["test"])
    for variant in range(2 * FORMS):
        made = {one.test: one for one in altered[task_id, variant].alterations}
        for test in task["expected_tests"]:
            one = made.get(test)
            passes = outcomes[task_id, -1, test] == ["pass"]
            found = tuple(outcomes[task_id, variant, test])
            if one is None:
                yield Trial(task_id, test, variant, "none", "none", 0, "", "", (), passes)
            else:
                name = lines.get(one.line, "value at its assignment")
                yield Trial(task_id, test, variant, one.kind, name, one.line, one.before, one.after, found, passes)


def assertion_lines(text: str) -> dict[int, str]:
    """Map each line to the assertion that it belongs to."""
    found = {}
    for node in assertions_in(ast.walk(untrusted_text.parse(text))):
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
            found.setdefault(line, name_of(node))
    return found


def report(
    tasks: Sequence[dict[str, Any]], trials: Sequence[Trial], pins: dict[str, dict[str, str]], *, show: bool
) -> None:
    """Print the coverage of tasks and methods, the validity by assertion, and the methods that are not covered."""
    passing = {(one.task_id, one.test) for one in trials if one.passes_unaltered}
    judged = [one for one in trials if one.passes_unaltered]
    valid = {(one.task_id, one.test) for one in judged if one.is_valid and one.kind == "contradiction"}
    covered = {task_id for task_id, _ in valid}
    judgeable = {task_id for task_id, _ in passing}
    print(f"{len(tasks)} tasks, {len(judgeable)} of them with a method that the reference passes here\n")
    print("| | with a valid contradiction | of | share |\n| --- | --- | --- | --- |")
    print(f"| tasks | {len(covered)} | {len(judgeable)} | {len(covered) / len(judgeable):.1%} |")
    print(f"| test methods | {len(valid)} | {len(passing)} | {len(valid) / len(passing):.1%} |")
    for variant in range(0, 2 * FORMS, 2):
        own = [one for one in judged if one.variant == variant and one.kind == "contradiction"]
        good = sum(one.is_valid for one in own)
        print(f"| contradictions of variant {variant} | {good} | {len(own)} | {good / len(own):.1%} |")
    restated = {(one.task_id, one.test) for one in judged if one.is_valid and one.kind == "restatement"}
    share = f"{len(restated) / len(passing):.1%}"
    print(f"| test methods with a valid restatement | {len(restated)} | {len(passing)} | {share} |")
    print(f"\n{sum(map(len, pins.values()))} values recorded in {sum(map(bool, pins.values()))} tasks\n")
    by_assertion = Counter((one.assertion, one.is_valid) for one in judged if one.kind == "contradiction")
    print("| assertion | valid | invalid |\n| --- | --- | --- |")
    for name in sorted({name for name, _ in by_assertion}, key=lambda one: -by_assertion[one, True]):
        print(f"| {name} | {by_assertion[name, True]} | {by_assertion[name, False]} |")
    print(f"\nTasks without: {', '.join(sorted(judgeable - covered)) or 'none'}\n")
    for one in judged:
        if (show and not one.is_valid) or (one.variant == 0 and (one.task_id, one.test) not in valid):
            print(f"{one.task_id} {one.test}: {_reason(one)}")


def _reason(trial: Trial) -> str:
    """Explain why a method has no valid contradiction in a variant."""
    if trial.kind == "none":
        return "no assertion that every correct program reaches can be altered"
    altered = f"{trial.assertion}, line {trial.line}: {trial.before[:60]!r} became {trial.after[:60]!r}"
    return f"variant {trial.variant}, {trial.kind}, the reference has {', '.join(trial.outcomes)} ({altered})"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--ids", default="", help="task ids or their numbers, separated by commas")
    parser.add_argument("--limit", type=int, default=0)
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--pins", action="store_true", help="record values that tests compute, and state them")
    parser.add_argument("--show", action="store_true", help="list every invalid alteration")
    return parser.parse_args()


if __name__ == "__main__":
    main()
