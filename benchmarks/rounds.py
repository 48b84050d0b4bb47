"""Check if the feedback of repair rounds quotes tests, at each level, over recorded failures; show figures of a model.

    python benchmarks/rounds.py --data ../shared                 # the original's traces of two models, about a minute
    python benchmarks/rounds.py --data ../shared --store STORE --run NAME --run NAME    # also those of recorded runs
    python benchmarks/rounds.py --data ../shared --ids 0-19 --mending FOLDER            # also a run of three rounds

For every failing sample of every source, feedback is made at each level, as a second round would send it. The check is
independent of the product's: the feedback must hold no whole line of the test of 10 or more characters, and no 24
consecutive characters of its text, unless the prompt or the answer holds them. Runs of blanks and quotation marks count
as one blank; names of test methods are left out.
--mending runs three rounds over five starter tasks with a model on loopback that repairs its answers in known rounds; a
second call with the same folder reuses its contents.
"""

import argparse
import re
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from original import load_tasks
from parity import SAMPLE_FILES

from bigcodeflow.config import PromptConfig
from bigcodeflow.core.calibration import executed_program
from bigcodeflow.core.table import Table
from bigcodeflow.generation.feedback import LEVELS, feedback_on
from bigcodeflow.generation.model_settings import prompt_of
from bigcodeflow.generation.repair import deciding_verdicts
from bigcodeflow.importing.reading import read_results
from bigcodeflow.importing.verdict_rows import sample_verdict
from bigcodeflow.results.formatting import numbers
from bigcodeflow.results.runs import find_run

_LINE, _WINDOW = 10, 24
_BLANKS = re.compile(r"[\s'\"]+")
_WITHHELD = "the message is withheld"


class Failure(NamedTuple):
    """One failing sample."""

    task: Mapping[str, Any]
    split: str
    answer: str
    program: str
    verdict: Mapping[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the reference data")
    parser.add_argument("--ids", default="", help="tasks of the recorded results; empty takes all 1,140")
    parser.add_argument("--store", default="results/store", help="store of the runs")
    parser.add_argument(
        "--run", action="append", default=[], help="a recorded run, whose failing samples are looked at"
    )
    parser.add_argument("--mending", type=Path, help="folder for a run of three rounds of a known model")
    arguments = parser.parse_args()
    tasks = {task["task_id"]: task for task in load_tasks(arguments.data, arguments.ids)}
    sources = {f"{name}, judged by the original": _recorded(arguments.data, name, tasks) for name in SAMPLE_FILES}
    sources |= {f"run {name}": _of_run(arguments.store, name) for name in arguments.run}
    rows, quoting = [], 0
    for name, failures in sources.items():
        for row in _checked(list(failures)):
            rows.append((name, *row))
            quoting += row[2]
    columns = numbers(
        "failing samples", "that quote the test", "of a lower level", "messages withheld", "characters", "ms each"
    )
    print(Table.of(["source", "level", *columns], rows, title="Feedback that quotes a test").to_markdown())
    if arguments.mending:
        for table in _mending(arguments.mending):
            print("\n" + table.to_markdown())
    sys.exit(1 if quoting else 0)


def _recorded(data: Path, name: str, tasks: Mapping[str, Mapping[str, Any]]) -> Iterator[Failure]:
    """Yield failing samples of a result file of the original evaluator, with their recorded traces."""
    for entry in read_results(data / "data" / f"{SAMPLE_FILES[name]}_eval_results.json.gz").entries:
        if entry.task_id in tasks and entry.status != "pass":
            task = tasks[entry.task_id]
            verdict = sample_verdict(entry, task, variant="calibrated")
            yield Failure(task, "complete", entry.program, entry.program, verdict)


def _of_run(store: str, name: str) -> Iterator[Failure]:
    """Yield failing samples of a recorded run."""
    import pyarrow.parquet as pq

    run = find_run(store, name)
    tasks = {row["task_id"]: row for row in pq.read_table(run.path("dataset")).to_pylist()}
    answers, solutions = (
        {(row["task_id"], row["sample_index"]): row for row in pq.read_table(run.path(stage)).to_pylist()}
        for stage in ("generation", "sanitizing")
    )
    for key, verdict in deciding_verdicts(pq.read_table(run.path("execution"))).items():
        if verdict["status"] in ("pass", "infra_error"):
            continue
        task, solution = tasks[key[0]], solutions[key]
        program = executed_program(
            code_prompt=task["code_prompt"],
            solution=solution["solution"],
            variant=verdict["variant"],
            sanitizer=solution["sanitizer"],
        )
        yield Failure(task, run.split, answers[key]["raw_text"], program, verdict)


def _checked(failures: Sequence[Failure]) -> Iterator[tuple[str, int, int, int, int, int, float]]:
    """Yield one row per level: failing samples, those whose feedback quotes the test, and counts of withheld parts."""
    for level in LEVELS:
        counts, began = Counter[str](), time.monotonic()
        for one in failures:
            prompt = prompt_of(one.task, one.split, "chat", PromptConfig()).messages[-1].text
            known = [prompt, one.answer]
            feedback = feedback_on(one.verdict, one.program, one.task["test"], known, level)
            counts["lower"] += feedback.withheld
            counts["messages"] += feedback.text.count(_WITHHELD)
            counts["characters"] += len(feedback.text)
            names = [test["name"] for test in one.verdict["tests"]]
            if found := quoted(feedback.text, one.task["test"], known, names):
                counts["quoting"] += 1
                print(f"{one.task['task_id']}, {level}: {found!r}", file=sys.stderr)
        each = 1000 * (time.monotonic() - began) / max(1, len(failures))
        mean = counts["characters"] // max(1, len(failures))
        yield level, len(failures), counts["quoting"], counts["lower"], counts["messages"], mean, each


def quoted(text: str, test: str, known: Iterable[str], names: Sequence[str]) -> str:
    """Return a piece of the test that a text quotes and that is not known; empty if there is none."""
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, "\0")
    known_text, whole, told = (_BLANKS.sub(" ", one) for one in ("\1".join(known), test, text))
    lines = set(map(str.strip, text.splitlines()))
    for line in map(str.strip, test.splitlines()):
        if len(line) >= _LINE and line in lines and _BLANKS.sub(" ", line) not in known_text:
            return line
    windows = (whole[at : at + _WINDOW] for at in range(len(whole) - _WINDOW + 1))
    return next((one for one in windows if one in told and one not in known_text), "")


def _mending(folder: Path) -> list[Table]:
    """Run three rounds with a model that repairs its answers in known rounds; return the tables."""
    from bigcodeflow.pipeline.progress import progress_listener
    from bigcodeflow.pipeline.runs import perform_all
    from bigcodeflow.store import open_store
    from bigcodeflow.studies import installed_studies
    from bigcodeflow.studies.rounds import publish_rounds
    from tests.generation.providers.double import model_server
    from tests.pipeline.repairing import MendingModel, config

    folder.mkdir(parents=True, exist_ok=True)
    with model_server(MendingModel(), port=8391) as server, progress_listener() as listener:
        run = config(folder, server)
        artifacts = perform_all(run, listener)
    store = open_store(run.store)
    study = publish_rounds(run, artifacts, store)
    return installed_studies()["rounds"].tables(store.read(study)) if study else []


if __name__ == "__main__":
    main()
