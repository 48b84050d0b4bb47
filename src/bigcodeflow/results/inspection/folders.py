"""A folder to take along: the original's layout, one folder a task, and the list of samples in three formats.

Original: ``{task_id}/ground_truth.py``, ``test_case.py``, and for each sample ``completion_{i}.py`` and
``complete_{i}_execution_trace.txt``.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from bigcodeflow.core.errors import ConfigError
from bigcodeflow.results.inspection.reading import Filters, Inspected
from bigcodeflow.results.inspection.stories import Story
from bigcodeflow.results.inspection.tables import samples_csv, samples_json, samples_markdown
from bigcodeflow.results.models import Row
from bigcodeflow.store import write_atomically

_UNSAFE = re.compile(r"[^\w.+-]")
_RULER = "=" * 50 + "\n"


def export_folder(found: Inspected, rows: Sequence[Row], folder: Path) -> int:
    """Write the folder, and return the number of tasks in it.

    A task's folder holds all samples of the task, also those that the filters leave out, as the original's does.
    Samples of several variants have a folder each above the tasks.

    Args:
        found: the run.
        rows: what `Inspected.samples` gave.
        folder: where to write.

    Raises:
        ConfigError: the folder holds something, with which the export would be mixed up.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"--export {folder}: is there already and not empty: name a new folder")
    for name, text in (
        ("samples.json", samples_json(rows)),
        ("samples.csv", samples_csv(rows)),
        ("samples.md", samples_markdown(rows)),
    ):
        write_atomically(folder / name, text.encode())
    kinds = sorted({(row["variant"], row["sanitizer"]) for row in rows})
    tasks = list(dict.fromkeys(row["task_id"] for row in rows))
    for task_id in tasks:
        every = found.samples(Filters(statuses=("all",), task=task_id))
        for story in found.stories(row for row in every if (row["variant"], row["sanitizer"]) in kinds):
            above = folder / f"{story.variant}-{story.sanitizer}" if len(kinds) > 1 else folder
            for name, text in _files(story):
                write_atomically(above / _folder_of(task_id) / name, text.encode("utf-8", "replace"))
    return len(tasks)


def _folder_of(task_id: str) -> PurePosixPath:
    """The task's id as a path that leads nowhere else, whatever a task file calls its tasks."""
    parts = [_UNSAFE.sub("_", part) for part in task_id.split("/")]
    return PurePosixPath(*(part if part.strip(".") else "_" for part in parts))


def _files(story: Story) -> Iterator[tuple[str, str]]:
    yield "ground_truth.py", story.ground_truth
    yield "test_case.py", story.test
    if story.program is not None:
        yield f"completion_{story.sample_index}.py", story.program
    traces = "".join(f"Test Case: {name}\n\n{trace}{_RULER}" for name, trace in _traces(story))
    yield f"complete_{story.sample_index}_execution_trace.txt", traces


def _traces(story: Story) -> Iterator[tuple[str, str]]:
    verdict = story.verdict
    if verdict["status"] in ("pass", "timeout"):  # the original has nothing to say of either
        return
    end = f"{verdict['status']} ({verdict['failure_kind'] or 'no cause recorded'}): {verdict['exit']}\n"
    if verdict["module_trace"]:
        yield "ALL", verdict["module_trace"]
        return
    for test in story.failing_tests:
        yield test["name"], test["trace"] or end
    if not story.failing_tests:
        yield "ALL", end
