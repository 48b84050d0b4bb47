"""What the product promises about the recorded answers of the starter set."""

from types import ModuleType

COLUMNS = {"task_id", "raw_solution", "provenance", "note"}
COLUMNS |= {"expected_status", "expected_failure_kind", "expected_status_robust"}


def test_every_task_has_two_answers_in_task_order(answers: list[dict], tasks: list[dict]) -> None:
    """A run over the starter set is complete and has pass@1 and pass@2; sample numbers are those of the files."""
    assert [answer["task_id"] for answer in answers] == [task["task_id"] for task in tasks for _ in range(2)]


def test_rows_are_labelled_text(answers: list[dict]) -> None:
    """Every row has the seven columns, all of them text; each answer is a case of its own, since equal ones run once."""
    for answer in answers:
        assert set(answer) == COLUMNS
        assert all(isinstance(value, str) for value in answer.values())
        assert answer["provenance"] == "hand-written"
        assert answer["raw_solution"].strip()
        assert answer["note"]
    assert len({answer["raw_solution"] for answer in answers}) == len(answers)


def test_every_status_and_failure_kind_occurs(answers: list[dict], build: ModuleType) -> None:
    """Among the expected verdicts is all that a model can cause, and a pass has no failure kind."""
    assert {answer["expected_status"] for answer in answers} == set(build.STATUSES)
    assert {answer["expected_failure_kind"] for answer in answers} == {*build.FAILURE_KINDS, ""}
    for answer in answers:
        assert (answer["expected_failure_kind"] == "") == (answer["expected_status"] == "pass")


def test_about_sixty_percent_pass_and_the_robust_sanitizer_never_does_worse(answers: list[dict]) -> None:
    """Where the score can move both ways; no answer that passes in parity fails in robust mode, which rescues some."""
    share = sum(answer["expected_status"] == "pass" for answer in answers) / len(answers)
    assert 0.55 <= share <= 0.65
    rescued = [answer for answer in answers if answer["expected_status"] != answer["expected_status_robust"]]
    assert all(answer["expected_status_robust"] == "pass" for answer in rescued)
    assert len(rescued) >= 8
