"""Tasks for studies: those of the starter set, and others of a single function."""

from typing import Any

from bigcodeflow import datasets
from bigcodeflow.config import DatasetConfig


def loaded_tasks(source: str = "starter") -> list[dict[str, Any]]:
    """Return rows of TASKS of a dataset."""
    config = DatasetConfig(source=source)
    return datasets.load_tasks(config, datasets.resolve(config)).to_pylist()


def own_task(task_id: str, head: str, docstring: str, solution: str, test: str, **changed: Any) -> dict[str, Any]:
    """Return a task in the hub's schema: the function of ``head``, and one test method."""
    return {
        "task_id": task_id,
        "complete_prompt": f'{head}    """{docstring}"""\n',
        "instruct_prompt": docstring.partition("\n")[0],
        "canonical_solution": f"    {solution}\n",
        "code_prompt": head,
        "test": f"import unittest\nclass TestCases(unittest.TestCase):\n    def test_it(self):\n        {test}\n",
        "entry_point": "task_func",
        "doc_struct": "{}",
        "libs": "[]",
        **changed,
    }
