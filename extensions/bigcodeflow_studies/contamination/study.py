"""Search a corpus for the texts of tasks in a single pass; publish the result as the study ``contamination``."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigcodeflow import datasets
from bigcodeflow.core.errors import DatasetError
from bigcodeflow.pipeline.stages import Listener
from bigcodeflow.store import ArtifactRef, artifact_key, open_store
from bigcodeflow.studies.records import publish_study
from bigcodeflow_studies.contamination import ContaminationConfig
from bigcodeflow_studies.contamination.corpus import Corpus, open_corpus, texts_of
from bigcodeflow_studies.contamination.matching import NOTHING, PARTS, Best, Matches, parts_of, words_of

logger = logging.getLogger(f"bigcodeflow.{__name__}")

#: Part of the keys of results; raise it when the same settings give other results.
VERSION = 1
STUDY = "contamination"
#: Columns that hold a share of n-grams, with the texts that each column covers.
_SHARES = {
    "ngram_share": PARTS,
    "prompt_share": ("complete_prompt", "instruct_prompt"),
    "solution_share": ("canonical_solution",),
    "test_share": ("test",),
}


def run_study(config: ContaminationConfig, listener: Listener) -> ArtifactRef:
    """Publish the study ``contamination``, one row of CONTAMINATION for each task; reuse a stored result.

    At any time, only the tasks and a single piece of the corpus are in memory.

    Raises:
        DatasetError: corpus or tasks cannot be read, or the corpus holds no text.
    """
    store, resolved = open_store(config.store), datasets.resolve(config.dataset)
    corpus = open_corpus(config.corpus, offline=config.dataset.offline)
    if corpus.left_out:
        logger.warning("corpus %s: files of other kinds are not searched: %s", config.corpus, corpus.left_out)
    tasks = datasets.load_tasks(config.dataset, resolved).to_pylist()
    settings = config.model_dump(mode="json", include={"ngram", "common_tasks", "ngram_threshold", "fuzzy_threshold"})
    contents = {"tasks": [task["task_id"] for task in tasks], "dataset": resolved.fingerprint}
    key = artifact_key(STUDY, VERSION, {**settings, **contents, "corpus": corpus.fingerprint})
    title = f"{config.dataset.source} in {corpus.description}"
    described = {**settings, "corpus": corpus.description, "dataset": resolved.describe}
    rows = _task_rows(config, tasks, corpus, listener)
    return publish_study(store, STUDY, key, rows, title=title, settings=described)


def _search(corpus: Corpus, matches: Matches, listener: Listener) -> None:
    """Add the matches of every corpus text to ``matches``; raise DatasetError if the corpus has no words."""
    progress, done, total, n_words = listener.begin(STUDY), 0, sum(file.size_bytes for file in corpus.files), 0
    for file in corpus.files:
        for text in texts_of(file):
            words = words_of(text.text)
            n_words += len(words.hashes)
            matches.add(words, text.file, text.record, text.offset)
            progress(done, total, f"{file.name}, {text.record}")
        done += file.size_bytes
        progress(done, total, f"{file.name}: searched")
    if not n_words:
        raise DatasetError(f"corpus {corpus.description}: holds no word of text: name a corpus with text")


def _task_rows(
    config: ContaminationConfig, tasks: Sequence[Mapping[str, Any]], corpus: Corpus, listener: Listener
) -> Iterator[dict[str, Any]]:
    """Search the corpus and yield rows of CONTAMINATION, in the order of the tasks."""
    matches = Matches(parts_of(tasks), ngram=config.ngram, common_tasks=config.common_tasks)
    _search(corpus, matches, listener)
    for number, task in enumerate(tasks):
        places = {name: number * len(PARTS) + place for place, name in enumerate(PARTS)}
        counted = {name: matches.found[place][matches.ngrams.counted[place]] for name, place in places.items()}
        shares = {column: _share([counted[name] for name in names]) for column, names in _SHARES.items()}
        share = shares["ngram_share"] or 0.0
        similarity, fuzzy = _best(matches.fuzzy, places, "fuzzy")
        similarity = round(float(similarity), 6)
        length, longest = _best(matches.longest, places, "longest")
        yield {
            "task_id": task["task_id"],
            "ngrams": sum(map(len, counted.values())),
            **shares,
            "ngram_share": share,
            "contaminated": share >= config.ngram_threshold or similarity >= config.fuzzy_threshold,
            "longest_match": int(length),
            **longest,
            "fuzzy_score": similarity,
            **fuzzy,
        }


def _share(found: Sequence[NDArray[np.bool_]]) -> float | None:
    """Return the share of n-grams that are in the corpus (True in the arrays); None if there are no n-grams."""
    total = sum(map(len, found))
    return sum(int(one.sum()) for one in found) / total if total else None


def _best(found: Mapping[int, Best], places: Mapping[str, int], prefix: str) -> tuple[float, dict[str, Any]]:
    """Return score and result columns of a task's best match; of parts with equal scores, the first part counts."""
    named = [(found[place], name) for name, place in places.items() if place in found]
    best, part = max(named, key=lambda one: one[0].score, default=(NOTHING, ""))
    columns = {"part": part, **best.place._asdict()}
    return best.score, {f"{prefix}_{name}": value for name, value in columns.items()}
