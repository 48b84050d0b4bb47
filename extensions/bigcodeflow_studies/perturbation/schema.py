"""Schema of the study's result: scores on tasks and on their variants."""

import pyarrow as pa

from bigcodeflow.core.schemas import COUNT, TEXT, TEXTS, column, study_schema

PERTURBATION = study_schema(
    "kind of change and task with judged samples in both runs",
    column("model", TEXT, "model, or control, whose runs are compared"),
    column("kind", TEXT, "what the variants change: function, parameters, literals, docstring, data, or several"),
    column("task_id", TEXT, "the original task"),
    column("original_samples", COUNT, "judged samples of the original task"),
    column("original_passed", COUNT, "of these, samples that pass"),
    column("variants", COUNT, "variants of that kind with judged samples"),
    column("perturbed_samples", COUNT, "judged samples of these variants"),
    column("perturbed_passed", COUNT, "of these, samples that pass"),
    column("original_share", pa.float64(), "share of the original's samples that pass, 0..1"),
    column("perturbed_share", pa.float64(), "mean over the variants of the share that pass, 0..1"),
    column("failed_variants", TEXTS, "ids of variants of which a sample fails, sorted"),
)
