"""Tasks and samples for the commands that work on files alone."""

import pyarrow as pa

from bigcodeflow.config import RunConfig


def load_inputs(config: RunConfig) -> tuple[pa.Table, pa.Table]:
    """TASKS and SAMPLES tables as the configuration names them; tasks may lack samples."""
    from bigcodeflow import datasets, generation

    resolved = datasets.resolve(config.dataset)
    tasks = datasets.load_tasks(config.dataset, resolved)
    known = datasets.known_task_ids(config.dataset, resolved)
    samples = generation.load_samples(config.samples, tasks, known_task_ids=known, selection=True)
    return tasks, samples
