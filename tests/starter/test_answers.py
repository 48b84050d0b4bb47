"""What the product promises about the recorded answers of the starter set."""

from collections import defaultdict
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


def test_status_and_kind_fit_each_other(answers: list[dict]) -> None:
    """A status that has one cause only carries that cause, and no other status does."""
    kinds = defaultdict(set)
    for answer in answers:
        kinds[answer["expected_status"]].add(answer["expected_failure_kind"])
    own = {"timeout": "timeout", "out_of_memory": "memory", "syntax_error": "syntax", "crash": "crash"}
    for status, kind in {**own, "tampered": "tampering"}.items():
        assert kinds[status] == {kind}
        assert kind not in kinds["fail"]


def test_about_sixty_percent_pass_and_the_robust_sanitizer_never_does_worse(answers: list[dict]) -> None:
    """Where the score can move both ways; no answer that passes in parity fails in robust mode, which rescues some."""
    share = sum(answer["expected_status"] == "pass" for answer in answers) / len(answers)
    assert 0.55 <= share <= 0.65
    rescued = [answer for answer in answers if answer["expected_status"] != answer["expected_status_robust"]]
    assert all(answer["expected_status_robust"] == "pass" for answer in rescued)
    assert len(rescued) >= 8


def test_answers_have_the_habits_of_models(answers: list[dict]) -> None:
    """The set shows thinking tags, several fences, no fence at all, tabs, omitted imports, lambdas and decorators."""
    texts = [answer["raw_solution"] for answer in answers]
    assert any("<think>" in text for text in texts)
    assert any(text.count("```python") > 1 for text in texts)
    assert any("```" not in text and "def task_func" in text for text in texts)
    assert any("\n\treturn" in text for text in texts)
    assert any("import" not in text and "def task_func" in text for text in texts)
    assert any("task_func = lambda" in text for text in texts)
    assert any("\n@" in text for text in texts)
    assert any("def task_func" not in text and "task_func =" not in text for text in texts)
    assert any(text.count("```") % 2 == 1 or text.rstrip()[-1] in '("' for text in texts)
