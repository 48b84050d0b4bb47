"""The catalog's own tables, one readable literal each, and the order of its views."""

import pyarrow as pa

_text = pa.string()


def _column(name: str, kind: pa.DataType, meaning: str) -> "pa.Field[pa.DataType]":
    return pa.field(name, kind, metadata={"meaning": meaning})


#: Grain: one row a run record. Times are UTC; a key is null where the run did not reach the stage.
RUNS = pa.schema(
    [
        _column("record", _text, "file name of the run's record without .json; unique, in the order of time"),
        _column("run", _text, "name of the run, which several records may share"),
        _column("model", _text, "as the original's file names state it"),
        _column("split", _text, "complete or instruct"),
        _column("subset", _text, "full or hard"),
        _column(
            "split_mismatch",
            pa.bool_(),
            "the model was asked prompts of another split, so that no score counts; null: no request tells",
        ),
        _column("started_at", pa.timestamp("us"), "UTC"),
        _column("finished_at", pa.timestamp("us"), "UTC"),
        _column("config", _text, "the run's whole configuration as JSON text"),
        _column("dataset_key", _text, "artifact of the tasks"),
        _column("generation_key", _text, "artifact of the answers"),
        _column("sanitizing_key", _text, "artifact of the programs"),
        _column("ground_truth_key", _text, "artifact of the verdicts of the tasks' own solutions; null: not known"),
        _column("execution_key", _text, "artifact of the samples' verdicts"),
        _column("aggregation_key", _text, "artifact of the metrics"),
    ]
)

#: Grain: one row a run record and artifact of it that is gone or damaged, or a damaged artifact that is of no run.
LEFT_OUT = pa.schema(
    [
        _column("record", _text, "record of the run that is left out for it; null: the artifact is of no run"),
        _column("run", _text, "name of the run"),
        _column("model", _text, "the run's model"),
        _column("split", _text, "complete or instruct"),
        _column("subset", _text, "full or hard"),
        _column("artifact", _text, "dataset, generation, sanitizing, ground_truth, execution or aggregation"),
        _column("key", _text, "the artifact's key, and the name of its folder"),
        _column("reason", _text, "what is wrong with it"),
    ]
)

#: Grain: one row an artifact that the views read.
ARTIFACTS = pa.schema(
    [
        _column("stage", _text, "folder of the store"),
        _column("artifact", _text, "the artifact's key"),
        _column("file", _text, "path of its Parquet file"),
        _column("stamp", _text, "size and time of the file when it was read"),
    ]
)

#: Grain: one row a recorded run and artifact of it.
RUN_FILES = pa.schema(
    [
        _column("record", _text, "the run's record"),
        _column("run", _text, "name of the run"),
        _column("model", _text, "the run's model"),
        _column("split", _text, "complete or instruct"),
        _column("subset", _text, "full or hard"),
        _column("artifact", _text, "dataset, generation, sanitizing, ground_truth, execution or aggregation"),
        _column("key", _text, "the artifact's key"),
        _column("file", _text, "path of its Parquet file"),
    ]
)

#: Grain of what has no model of its own in ``sql/catalog``.
GRAINS = {
    "runs": "Grain: one row a run record.",
    "left_out": "Grain: one row a run record and artifact of it that is gone or damaged; the run is in no other view.",
    "dataset": "Grain: one row an artifact and task: tasks. Reads the store's files.",
    "generation": "Grain: one row an artifact, task and sample_index: answers. Reads the store's files.",
    "sanitizing": "Grain: one row an artifact, task, sample_index and sanitizer: programs. Reads the store's files.",
    "execution": "Grain: one row an artifact, task, sample_index, variant and sanitizer: verdicts, those of ground "
    "truths among them. Reads the store's files.",
}

#: Models in ``sql/catalog``, a later one may read an earlier one; and the stage whose columns a view mostly shows.
VIEWS = {
    "aggregation": "aggregation",
    "samples": "generation",
    "solutions": "sanitizing",
    "verdicts": "execution",
    "ground_truths": "execution",
    "failures": "execution",
    "failure_counts": "execution",
    "metrics": "aggregation",
    "pass_at_k": "aggregation",
    "solve_rate": "dataset",
    "costs": "generation",
}
