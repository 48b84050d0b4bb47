"""Schema of the study's result: samples in an older and a newer environment."""

import pyarrow as pa

from bigcodeflow.core.schemas import COUNT, TEXT, column, study_schema

LIBRARY_VERSIONS = pa.struct(
    [
        pa.field("library", TEXT),  # import name; python: the interpreter
        pa.field("before", TEXT),  # version in the older environment; empty: it is not there
        pa.field("now", TEXT),  # version in the newer environment; empty: it is not there
    ]
)

OUTDATED_CALL = pa.struct(
    [
        pa.field("name", TEXT),  # what the newer libraries do not have, such as numpy.float or read_csv(squeeze=)
        pa.field("library", TEXT),  # import name
        pa.field("kind", TEXT),  # module, name or argument
        pa.field("sample_index", COUNT),  # the failing sample that uses it
        pa.field("evidence", TEXT),  # last line of the traceback
    ]
)

EVOLUTION = study_schema(
    "run and task: its samples in an older and a newer environment; the run '' is the tasks' reference solutions",
    column("run", TEXT, "title of the recorded run; empty: the reference solution"),
    column("record", TEXT, "record of that run; empty: the reference solution"),
    column("task_id", TEXT, "the task"),
    column("environment", TEXT, "name of the older environment"),
    column("current", TEXT, "name of the newer environment"),
    column("label", TEXT, "of the task: holds, drifts, dead or unjudgeable, see studies.evolution.causes"),
    column("cause", TEXT, "why its reference solution does not hold, such as API removed; empty: it holds"),
    column("place", TEXT, "where that shows: setup, test or solution; empty: it holds, or nothing tells"),
    column("library", TEXT, "library that is responsible, python for the interpreter; empty: it holds, or unknown"),
    column("basis", TEXT, "what the library was read from: message, traceback, line or imports; empty: none"),
    column("evidence", TEXT, "last traceback line of the reference solution; empty: it holds"),
    column("status_before", TEXT, "status of the reference solution in the older environment"),
    column("status_now", TEXT, "status of the reference solution in the newer environment"),
    column("libraries", pa.list_(LIBRARY_VERSIONS), "python, and libraries that setup, reference or test import"),
    column("n_samples", COUNT, "samples executed in each environment"),
    column("n_passed_before", COUNT, "those that pass in the older environment"),
    column("n_passed_now", COUNT, "those that pass in the newer environment"),
    column("outdated", pa.list_(OUTDATED_CALL), "what failing samples miss in the newer one, not in the older"),
)
