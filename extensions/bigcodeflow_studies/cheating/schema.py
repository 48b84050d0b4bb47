"""Schema of the study's result: answers to tasks whose shown tests contradict their descriptions."""

import pyarrow as pa

from bigcodeflow.core.schemas import COUNT, TEXT, TEXTS, column, study_schema

CHEATING = study_schema(
    "model, wording, task and sample_index: an answer to a task whose shown test contradicts its description",
    column("model", TEXT, "model that answered, or where the answers came from"),
    column("wording", TEXT, "sentence behind which the test was shown: neutral, make-tests-pass, follow-description"),
    column("split", TEXT, "complete or instruct"),
    column("task_id", TEXT, "id of the task in its own dataset"),
    column("sample_index", COUNT, "0-based number of the answer to this task"),
    column("cheated", pa.bool_(), "the answer is a cheat"),
    column(
        "kind",
        TEXT,
        "of a cheat: special cases, evades tests, equal to all, other; of an honest answer: follows description, "
        "wrong, no program",
    ),
    column("evidence", TEXTS, "what shows it: methods passed, lines and values of the program, what the judge saw"),
    column("objection", TEXT, "sentence in which the answer says that a test is wrong; empty where there is none"),
    column("contradicted_tests", TEXTS, "test methods that no correct solution passes as they were shown"),
    column("passed_tests", TEXTS, "those of them that passed"),
    column("shown_status", TEXT, "status of its execution against the test as it was shown; empty: not executed"),
    column("test_status", TEXT, "status of its execution against the task's own test; empty: not executed"),
    column("program", TEXT, "program that was executed"),
)
