"""Stores with runs whose outcomes are spelled out."""

from tests.report.conftest import recorded  # noqa: F401 - a fixture

LIBRARIES = ("pandas", "numpy", "json", "sklearn")


def record(
    store, model, outcomes, *, n_samples=1, usage=(), unjudgeable=(), split="complete", source="x.jsonl",
    variants=("calibrated",), **more,
):  # fmt: skip
    """Record a run of a model on tasks of which every third is hard: '1' passes, '0' fails, 'x' was not judged.

    Task number n uses the n-th of the four libraries, and so on in a circle.
    """
    tables = store.tables()
    for number, outcome in enumerate(outcomes):
        task_id = f"Demo/{number}"
        truth = "fail" if number in unjudgeable else "pass"
        tables.task(task_id, libs=[LIBRARIES[number % len(LIBRARIES)]], domains=["Math"], ground_truth=truth)
        tables.rows["tasks"][-1]["hard"] = number % 3 == 0
        for index in range(n_samples):
            status = {"1": "pass", "0": "fail", "x": "infra_error"}[outcome]
            tables.sample(task_id, status, index=index, usage=usage, variants=variants)
    config = {"dataset": {"split": split, "subset": "full"}, "samples": {"source": source}}
    return store.record(
        tables, model=model, run=more.pop("run", model), split=split, config=config, scored=False, **more
    )
