"""`bigcodeflow contamination`: search for tasks in a corpus."""

from typing import Annotated, Any

import typer

from bigcodeflow.cli.console import print_study
from bigcodeflow.cli.options import DATASET, SettingOption, settings_options
from bigcodeflow.core.settings import merged, validated
from bigcodeflow.studies.contamination import ContaminationConfig


@settings_options(
    DATASET,
    "dataset.subset",
    "dataset.ids",
    SettingOption("dataset.offline"),
    "ngram",
    "common_tasks",
    "ngram_threshold",
    "fuzzy_threshold",
    "store",
    model=ContaminationConfig,
)
def contamination(
    given: dict[str, Any],
    corpus: Annotated[
        str,
        typer.Argument(
            help="Folder or file (.txt, .md, .py, .jsonl, .jsonl.gz, .parquet), or a hub dataset as OWNER/NAME@SPLIT."
        ),
    ],
) -> None:
    """Say which tasks' prompts, solutions and tests stand in a corpus, word by word or nearly so.

    The corpus is read once, in pieces. See docs/contamination.md.
    """
    from bigcodeflow.pipeline.progress import progress_listener
    from bigcodeflow.store import open_store
    from bigcodeflow.studies.contamination.searching import search_corpus

    config = validated(ContaminationConfig, merged({"corpus": corpus}, given, "command line"), "command line")
    with progress_listener() as listener:
        ref = search_corpus(config, listener)
    print_study(open_store(config.store), ref)
