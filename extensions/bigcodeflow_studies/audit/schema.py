"""Schema of the study's result: findings about tasks."""

from bigcodeflow.core.schemas import COUNT, TEXT, column, nullable, study_schema

AUDIT = study_schema(
    "finding about a task; a task that could be judged has one more row, of kind counted, with its mutants' counts",
    column("task_id", TEXT, "the task that it is about"),
    column("method", TEXT, "what found it: mutation, contradiction, models, executions, errata"),
    column(
        "kind",
        TEXT,
        "wrong test, too weak, underspecified, flaky, network, environment; undecided: a mutant that may be equal, "
        "or models that may be wrong alike; counted: the task's counts",
    ),
    column("text", TEXT, "what is wrong, or not checked, and the evidence"),
    nullable("line", COUNT, "1-based line: of the reference program for mutants, of the test for contradictions"),
    column("operator", TEXT, "kind of the mutant's change; empty for other findings"),
    column("before", TEXT, "source in that line; empty where nothing was changed"),
    column("after", TEXT, "source that stands there instead"),
    column("command", TEXT, "what shows it again"),
    nullable("killed", COUNT, "mutants that the test notices; null in this and the next five but for counted"),
    nullable("survived", COUNT, "mutants that it does not notice"),
    nullable("apart", COUNT, "mutants of what tests do not observe (logs, looks, seeds); in neither count"),
    nullable("equivalent", COUNT, "changes left out, of the same bytecode as the program or another mutant"),
    nullable("unjudged", COUNT, "mutants that could not be executed"),
    nullable("possible", COUNT, "mutants that the chosen ones were drawn from"),
)
