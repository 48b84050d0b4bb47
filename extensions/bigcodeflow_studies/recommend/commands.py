"""`bigcodeflow recommend`: ranking of recorded models on the tasks that use a project's libraries."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from bigcodeflow.cli.console import out
from bigcodeflow.cli.options import RecordedStore
from bigcodeflow.core.errors import ConfigError
from bigcodeflow.core.paths import user_path
from bigcodeflow.results.formatting import json_text
from bigcodeflow_studies.recommend.evidence import evidence_of_store
from bigcodeflow_studies.recommend.ranking import as_json, recommendation, tables
from bigcodeflow_studies.recommend.stack import names_in, stack_of


def recommend(
    requirements: Annotated[
        list[Path] | None,
        typer.Option(
            help="File with the project's dependencies: requirements.txt or a lock of that form, pyproject.toml, "
            "uv.lock, poetry.lock, pdm.lock, pylock.toml, Pipfile, Pipfile.lock; repeatable.",
        ),
    ] = None,
    imports: Annotated[
        list[Path] | None,
        typer.Option(help="Folder or file of Python programs and notebooks, whose imports count; repeatable."),
    ] = None,
    libraries: Annotated[
        str,
        typer.Option(
            help="Libraries by the name of module or distribution, between commas or blanks: numpy,scikit-learn."
        ),
    ] = "",
    store: RecordedStore = "results/store",
    split: Annotated[
        Literal["complete", "instruct"] | None,
        typer.Option(help="Take runs of this split.", show_default="the one that most models have a run of"),
    ] = None,
    subset: Annotated[
        Literal["full", "hard"], typer.Option(help="Take all tasks, or those of BigCodeBench-Hard.")
    ] = "full",
    as_json_text: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")] = False,
) -> None:
    """Rank recorded and imported models on the tasks that use a project's libraries, with intervals, cost and time.

    A pass rate on few tasks is uncertain. The fewer the tasks, the closer is the estimate to the model's rate on all
    tasks. Nothing is executed. docs/recommend.md explains the computation.
    """
    names = names_in(libraries)
    if not (requirements or imports or names):
        raise ConfigError("recommend: no library is given: name some by --requirements, --imports or --libraries")
    evidence = evidence_of_store(store, split or "", subset)
    stack = stack_of(
        evidence.outcomes.n_tasks_of,
        requirements=[user_path(path) for path in requirements or ()],
        folders=[user_path(path) for path in imports or ()],
        names=names,
    )
    found = recommendation(evidence, stack)
    if as_json_text:
        typer.echo(json_text(as_json(found)))
        return
    for table in tables(found):
        out.print(table)
