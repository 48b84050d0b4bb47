"""Figures of rounds, from rows alone."""

from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigcodeflow.studies.rounds import ROUNDS, Chains, Rounds

#: For each task, of each sample the round that passes first of three; None: none does.
Plan = list[list[int | None]]
_ROUNDS = 3


def rows_of(plan: Plan, **others: Any) -> pa.Table:
    rows = []
    for task, samples in enumerate(plan):
        for index, passes_in in enumerate(samples):
            for number in range(1, (passes_in or _ROUNDS) + 1):
                passed = number == passes_in
                own = {"task_id": f"T/{task}", "sample_index": index, "round": number, "passed": passed}
                own |= {"status": "pass" if passed else "fail", "failure_kind": "" if passed else "assertion"}
                rows.append(own | {"feedback": "tests" if number > 1 else ""} | others)
    return pa.Table.from_pylist(rows, schema=ROUNDS)


def test_scores_are_means_over_tasks_and_ranks_means_over_samples() -> None:
    """Two samples of a task are one task: pass@1 of round 1 is the run's own."""
    chains = Chains(rows_of([[1, None], [2], [3], [None]]))
    first, second, third = chains.summaries()
    assert [one.asked for one in (first, second, third)] == [5, 4, 3]
    assert [one.pass_at_1 for one in (first, second, third)] == pytest.approx([0.5 / 4, 1.5 / 4, 2.5 / 4])
    assert [one.recall for one in (first, second, third)] == pytest.approx([1 / 3, 2 / 3, 1])
    assert chains.mean_reciprocal_rank == pytest.approx((1 + 0 + 1 / 2 + 1 / 3 + 0) / 5)
    assert set(first.usage.values()) == {None}


@given(st.lists(st.lists(st.sampled_from([1, 2, 3, None]), min_size=1, max_size=3), min_size=1, max_size=6))
def test_later_rounds_only_add(plan: Plan) -> None:
    """Scores never fall, who passed is asked no more, and the last round recalls all that passed at all."""
    summaries = Chains(rows_of(plan, cost_usd=0.5, prompt_tokens=3)).summaries()
    scores = [one.pass_at_1 for one in summaries]
    assert scores == sorted(scores)
    for before, after in pairwise(summaries):
        assert after.asked == before.asked - before.repaired
    assert summaries[-1].recall in (None, 1.0)
    assert all(one.interval and one.interval[0] <= one.pass_at_1 <= one.interval[1] for one in summaries)
    assert sum(one.usage["cost_usd"] or 0 for one in summaries) == pytest.approx(
        0.5 * sum(one.asked for one in summaries)
    )
    assert len(Rounds().tables(rows_of(plan))) == 4


def test_answers_that_were_not_judged_are_named() -> None:
    """The scores are provisional then."""
    found, *_ = Rounds().tables(rows_of([[None]], status="infra_error"))
    assert any("3 answers could not be judged" in note for note in found.notes)


def test_what_round_1_could_not_judge_is_in_no_score() -> None:
    """As in the run's own; a sample that only a later round could not judge has failed, and counts so."""
    rows = rows_of([[1, None], [2], [None], [None]]).to_pylist()
    unjudged = {("T/0", 1, 1), ("T/2", 0, 1), ("T/3", 0, 2)}
    for row in rows:
        if (row["task_id"], row["sample_index"], row["round"]) in unjudged:
            row["status"] = "infra_error"
    rows = [row for row in rows if row["round"] == 1 or (row["task_id"], row["sample_index"], 1) not in unjudged]
    chains = Chains(pa.Table.from_pylist(rows, schema=ROUNDS))
    assert [one.pass_at_1 for one in chains.summaries()] == pytest.approx([1 / 3, 2 / 3, 2 / 3])
    assert chains.mean_reciprocal_rank == pytest.approx((1 + 1 / 2 + 0) / 3)
