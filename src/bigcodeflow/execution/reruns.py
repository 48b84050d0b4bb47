"""Rules for repeated executions of an item: when to repeat, and which verdict the executions give together.

Several executions separate flaky from broken samples: a sample that does not pass is executed ``execution.reruns`` more
times, and the majority decides. A ground truth passes if any of its confirmations passes. An infra_error does not count
as an execution.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from bigcodeflow.judge.host.base import READ_FROM_DISK
from bigcodeflow.judge.verdicts import Verdict

#: Further executions of a ground truth that fails, before the failure counts.
CONFIRMATIONS = 2
_ACCUSATIONS = ("fail", "crash")
#: Statuses that are executed again only if disputed: a text either compiles or does not.
_CERTAIN = ("pass", "syntax_error")


@dataclass(frozen=True, slots=True)
class RerunPolicy:
    """Rules for executing items again; the same for all items of a stage."""

    reruns: int = 0
    """Further executions of each sample that does not pass."""
    confirms_ground_truths: bool = False
    """True for ground truths: a failure must be confirmed before it counts, and a single pass overrides it."""
    disputed: frozenset[str] = frozenset()
    """Verdict keys whose earlier verdicts disagree; with reruns, these items are executed again even if they pass."""

    def wants_another(self, executions: Sequence[Verdict]) -> bool:
        """Return True if an item needs another execution after these ``executions``."""
        statuses = [execution["status"] for execution in executions]
        if "infra_error" in statuses:
            return False
        if self.confirms_ground_truths:
            return statuses[0] in _ACCUSATIONS and "pass" not in statuses and len(statuses) <= CONFIRMATIONS
        return self._repeats(executions[0]) and len(statuses) <= self.reruns

    def settled(self, executions: Sequence[Verdict]) -> Verdict:
        """Return the verdict of an item after all of its executions.

        Columns ``flaky`` and ``attempts`` cover all executions; all other columns come from the execution that decided.
        """
        attempts = sum(one["attempts"] for one in executions)
        statuses = [one["status"] for one in executions]
        if "infra_error" in statuses:
            return executions[statuses.index("infra_error")] | {"attempts": attempts}
        if len(executions) == 1:
            return executions[0]
        passed = executions[statuses.index("pass") if "pass" in statuses else 0]
        decisive = passed if self.confirms_ground_truths else _majority(executions)
        return decisive | {"flaky": len(set(statuses)) > 1, "attempts": attempts}

    def answers(self, verdict: Verdict) -> bool:
        """Return True if ``verdict``, from another run, can be used in place of executing the item.

        A flaky verdict of a sample cannot be used: it depends on the number of reruns in the other run.
        """
        if verdict["status"] == "infra_error" or verdict["verdict_key"] in self.disputed:
            return False
        if self.confirms_ground_truths:
            return verdict["status"] not in _ACCUSATIONS or _agreed(verdict, CONFIRMATIONS)
        if verdict["flaky"]:
            return False
        return not self._repeats(verdict) or _agreed(verdict, self.reruns)

    def settles(self, verdict: Verdict) -> bool:
        """Return True if a verdict in this stage's ledger is final, so that its item is not executed again."""
        return verdict["status"] != "infra_error" and (verdict["flaky"] is not None or self.answers(verdict))

    def _repeats(self, first: Verdict) -> bool:
        return self.reruns > 0 and (first["status"] not in _CERTAIN or first["verdict_key"] in self.disputed)


#: Policy that executes every item once.
ONCE = RerunPolicy()


def disputed_keys(verdicts: Iterable[Verdict]) -> frozenset[str]:
    """Return the keys with a flaky verdict, or with verdicts of different status; infra_errors do not count."""
    seen: dict[str, set[Any]] = {}
    for verdict in verdicts:
        if verdict["status"] != "infra_error":
            found = {verdict["status"], "flaky" if verdict["flaky"] else verdict["status"]}
            seen.setdefault(verdict["verdict_key"], set()).update(found)
    return frozenset(key for key, statuses in seen.items() if len(statuses) > 1)


def worth_another_round(verdict: Verdict) -> bool:
    """Return True if ``verdict`` is an infra_error with a cause that may be temporary, such as a lost worker."""
    is_settled = verdict["exit"] == "exit 0" or verdict["exit"].startswith(READ_FROM_DISK)
    return bool(verdict["status"] == "infra_error" and not is_settled)


def _agreed(verdict: Verdict, reruns: int) -> bool:
    return bool(verdict["flaky"] is False and verdict["attempts"] > reruns)


def _majority(executions: Sequence[Verdict]) -> Verdict:
    """Return the first pass if most pass, the first of the most frequent failure if most fail, else the first."""
    statuses = [execution["status"] for execution in executions]
    others = [status for status in statuses if status != "pass"]
    if 2 * len(others) == len(statuses):
        return executions[0]
    winner = Counter(others).most_common(1)[0][0] if 2 * len(others) > len(statuses) else "pass"
    return executions[statuses.index(winner)]
