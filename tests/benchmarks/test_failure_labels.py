"""Failures that were labelled by hand: the labels themselves, and how many verdicts agree with them."""

from collections import Counter
from pathlib import Path

import failure_kinds
import pytest

from bigcodeflow.judge.failure_kinds import KINDS


def test_the_labels_are_two_hundred_failures_with_a_kind_and_a_reason() -> None:
    """Half of them were kept from the classifier's author until it stood."""
    labels = failure_kinds.labels()
    assert Counter(label["half"] for label in labels) == {"tuning": 100, "held-out": 100}
    assert len({(label["model"], label["task_id"]) for label in labels}) == 200
    assert {label["failure_kind"] for label in labels} <= set(KINDS)
    assert all(label["reason"] for label in labels)


@pytest.mark.slow
@pytest.mark.real_data
def test_verdicts_agree_with_the_labels(reference_data: Path) -> None:
    """Of each half at least 97 of 100 recorded failures have the kind that a reader gave them."""
    recorded = failure_kinds.recorded(reference_data)
    for half in ("tuning", "held-out"):
        compared = [one for one in recorded if one.half == half]
        assert failure_kinds.agreement(compared) >= failure_kinds.PROMISED_AGREEMENT, [
            one for one in compared if one.label != one.found
        ]
