"""One step of TRL's trainer, or a scored trace of verifiers, with rewards of a service; run in the trainers' environment.

python trainer_loops.py trl URL ANSWERS MODEL
python trainer_loops.py verifiers URL ANSWERS TASKS

ANSWERS is JSON: the completions that stand for those of a model. Prints JSON.
"""

import asyncio
import json
import sys
from typing import Any

from bigcodeflow_rewards import RewardService, ServiceReward

TEST = "import unittest\nclass TestCases(unittest.TestCase):\n"
TEST += "    def test_a(self):\n        self.assertEqual(task_func(), 42)\n"
TEST += "    def test_b(self):\n        self.assertIsInstance(task_func(), int)\n"


def trl_step(url: str, answers: list[str], model: str) -> dict[str, Any]:
    """Train for one step on a group of as many completions; what the reward function gave, and what TRL logged."""
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    given: list[Any] = []

    class Recorded(ServiceReward):
        """Rewards recorded answers in the place of what a model without sense writes."""

        def __call__(self, prompts: Any, completions: Any, **columns: Any) -> list[float | None]:
            messages = [[{"role": "assistant", "content": text}] for text in answers]
            found = super().__call__(prompts, messages, **columns)
            given.extend(found)
            return found

    trainer = GRPOTrainer(
        model,
        reward_funcs=Recorded(RewardService(url, patience_seconds=20), "pass_share"),
        train_dataset=Dataset.from_list([{"prompt": [{"role": "user", "content": "42?"}], "test": TEST}]),
        args=GRPOConfig(
            "trained",
            max_steps=1,
            num_generations=len(answers),
            per_device_train_batch_size=len(answers),
            max_completion_length=8,
            use_cpu=True,
            report_to=[],
            logging_steps=1,
            save_strategy="no",
        ),
    )
    trainer.train()
    logged = next(one for one in trainer.state.log_history if "reward" in one)
    return {
        "given": given,
        "logged": {name: logged.get(name) for name in ("reward", "rewards/bigcodeflow/mean", "loss")},
    }


def verifiers_traces(url: str, answers: list[str], tasks: str) -> list[dict[str, Any]]:
    """Score a trace of each answer to the first task of the file."""
    import verifiers.v1 as vf
    from verifiers.v1.trace import AgentInfo, TraceTask
    from verifiers.v1.utils.loaders import taskset_class, taskset_config_type

    config = taskset_config_type("my_tasks")(
        id="my_tasks", tasks=tasks, task={"service_url": url, "kind": "pass_share", "patience_seconds": 20}
    )
    [task] = taskset_class("my_tasks")(config).take(1)
    found = []
    for answer in answers:
        trace = vf.Trace(
            task=TraceTask(type="TestedTask", data=task.data),
            agent=AgentInfo(config=vf.AgentConfig()),
            root_reply=answer,
        )
        try:
            asyncio.run(task.score(trace))
        except vf.RolloutError as error:
            trace.record_error(error)
        rewards = {name: one and one.score for name, one in trace.rewards.items()}
        found.append({"rewards": rewards, "error": trace.last_error.type if trace.last_error else None})
    return found


if __name__ == "__main__":
    loop = {"trl": trl_step, "verifiers": verifiers_traces}[sys.argv[1]]
    sys.stdout.write(json.dumps(loop(sys.argv[2], json.loads(sys.argv[3]), sys.argv[4])) + "\n")
