import base64
import json
import re
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.report import select_runs
from bigcodeflow.report.runs import opened
from bigcodeflow.report.samples import cause_of, head, pack, pack_samples, tail
from bigcodeflow.results.formatting import cause_line
from tests.report.conftest import TRACE, failing_test

ROOMY = 10_000_000
CHAINED = (
    TRACE + "\nDuring handling of the above exception, another exception occurred:\n\n" + TRACE.replace("1 != 2", "no")
)


def _unpack(packed):
    return json.loads(zlib.decompress(base64.b64decode(packed)))


def _packed(recorded, *names, max_bytes=ROOMY):
    runs = select_runs(recorded.root, names)
    with opened(runs) as connection:
        return pack_samples(connection, runs, max_bytes=max_bytes)


def _samples(packed):
    """The samples of a pack, each with the texts of its parts by title."""
    content = _unpack(packed)
    return [
        {**sample, "parts": {title: content["texts"][text] for title, *_, text in sample["parts"]}}
        for sample in content["samples"]
    ]


def _listed(packed):
    columns = {name: [c["values"][place] for place in c["rows"]] for name, c in _unpack(packed.listed).items()}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def test_every_sample_is_listed_once_by_task(one_run):
    """The index has each verdict, tasks in the benchmark's order, with its status and why it did not pass."""
    rows = _listed(_packed(one_run, "first"))
    assert [(row["task_index"], row["status"], row["cause"]) for row in rows] == [
        (0, "pass", ""),
        (1, "fail", "test_a: AssertionError: 1 != 2"),
        (2, "infra_error", "worker lost"),
    ]


def test_a_pack_holds_all_that_is_known_of_its_samples(one_run):
    """Answer, program, failing tests with traces, output and ground truth of a sample, and its task's texts."""
    [sample] = _samples(_packed(one_run, "first").tasks[1])
    parts = sample["parts"]
    assert parts["raw answer"] == "Here it is:\ndef task_func(x):\n    return x"
    assert parts["executed program"].endswith("def task_func(x):\n    return x")
    assert parts["test_a: fail"] == TRACE.rstrip()
    assert parts["stdout"] == "printed"
    assert "ground truth: fail" in parts
    assert parts["prompt"].startswith("def task_func")
    assert "The task's own solution does not pass here either (missing setup)" in sample["notices"][0]
    assert ("judged", "", "fail (assertion)") in map(tuple, sample["steps"])
    assert str(one_run.root) not in json.dumps(sample), "folders of this machine are private"


def test_each_run_shows_the_prompt_that_it_asked_and_a_shared_text_stands_once(recorded):
    """A complete and an instruct run of one task keep their own prompts; tests and programs are stored once."""
    for split in ("complete", "instruct"):
        recorded.record_one(run=split, split=split)
    pack = _packed(recorded, "complete", "instruct").tasks[0]
    prompts = [sample["parts"]["prompt"] for sample in _samples(pack)]
    assert prompts == ['def task_func(x):\n    """Solve Demo/1."""', "Solve Demo/1."]
    texts = _unpack(pack)["texts"]
    assert len(set(texts)) == len(texts)


def test_what_was_not_measured_is_left_out(recorded):
    """JSON knows no NaN."""
    recorded.record_one(sample={"wall_seconds": float("nan"), "cpu_seconds": 0.0, "flaky": False})
    [sample] = _samples(_packed(recorded, "run").tasks[0])
    [[took, came]] = [rest for name, *rest in sample["steps"] if name == "executed"]
    assert took == ""
    assert "0.0 s of CPU" in came
    assert "not flaky" in sample["parts"]["verdict"]


def test_variants_and_samples_keep_their_own_verdicts(recorded):
    """Two answers, each judged in two variants, are four rows; each answer stands with its own verdicts."""
    run = recorded.tables()
    run.task("Demo/1")
    for index in (0, 1):
        run.sample("Demo/1", index=index, answer=f"answer {index}", variants=("calibrated", "raw"))
    recorded.record(run)
    packed = _packed(recorded, "run")
    answers = [sample["parts"]["raw answer"] for sample in _samples(packed.tasks[0])]
    found = [
        (row["sample_index"], row["variant"], answer) for row, answer in zip(_listed(packed), answers, strict=True)
    ]
    assert found == [(index, variant, f"answer {index}") for index in (0, 1) for variant in ("calibrated", "raw")]


@pytest.mark.slow
def test_texts_are_cut_until_the_bound_is_kept_and_passing_ones_first(recorded):
    """A bound that is too small for all texts costs the answers that pass; the failing ones and every row stay."""
    run = recorded.tables()
    for number in range(60):
        noise = "".join(f"{number * 7919 + n * 104729:x}\n" for n in range(2_000))
        run.task(f"Demo/{number}")
        run.sample(f"Demo/{number}", "fail" if number % 10 == 0 else "pass", answer=noise, solution=noise)
    recorded.record(run)
    whole = _packed(recorded, "run")
    cut = _packed(recorded, "run", max_bytes=whole.size // 4)
    assert cut.size <= whole.size // 4
    assert len(_listed(cut)) == 60
    answers = [_samples(pack)[0]["parts"]["raw answer"] for pack in cut.tasks]
    assert len(answers[0]) > len(answers[1])
    assert "characters are not in this file" in answers[1]


def test_texts_of_the_task_stay_whole(one_run):
    """However small the bound, prompt, tests and ground truth are there; of the sample only what our sentences say."""
    whole, cut = (_samples(_packed(one_run, "first", max_bytes=most).tasks[1])[0]["parts"] for most in (ROOMY, 1))
    gone = {title for title, text in cut.items() if text != whole[title]}
    kept = {"verdict", "prompt", "tests, numbered as tracebacks count", "ground truth: fail"}
    assert gone == whole.keys() - kept
    assert all("are not in this file" in cut[title] for title in gone)


def test_a_run_without_answers_and_programs_still_shows_its_verdicts(recorded):
    """Imported results have no answers; what they have is shown."""
    without = ("dataset", "generation", "sanitizing", "ground_truth")
    recorded.record_one("fail", sample={"tests": [failing_test("test_b")]}, without=without)
    [sample] = _samples(_packed(recorded, "run").tasks[0])
    assert sample["parts"]["test_b: fail"] == TRACE.rstrip()
    assert "not in the store" in sample["parts"]["raw answer"]
    assert "prompt" not in sample["parts"]


def test_an_artifact_that_is_gone_is_named(one_run):
    """A report that would silently lack its verdicts is not written."""
    select_runs(one_run.root, ["first"])[0].recorded.path("execution").unlink()
    with pytest.raises(ArtifactError, match="its execution artifact is not in"):
        _packed(one_run, "first")


@pytest.mark.parametrize(
    ("trace", "line"),
    [
        (TRACE, "AssertionError: 1 != 2"),
        (CHAINED, "AssertionError: no"),
        ('  File "x.py", line 1\n    a b\n      ^\nSyntaxError: invalid syntax\n', "SyntaxError: invalid syntax"),
        (TRACE + "- 1\n+ 2\n", "AssertionError: 1 != 2"),
        ("", ""),
    ],
)
def test_the_exception_of_a_traceback_is_its_cause(trace, line):
    """The last exception's first line, whatever differences and notes follow it."""
    assert cause_line(trace) == line


@given(st.text(), st.text())
def test_a_cause_is_one_short_line_whatever_the_trace(trace, exit_text):
    """Nothing that a test prints can make the list's row long."""
    row = {"status": "fail", "module_trace": trace, "tests": [], "exit": exit_text, "failure_kind": "crash"}
    assert len(cause_of(row)) <= 140


VALUES = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=20)


@pytest.mark.slow
@given(VALUES)
def test_a_pack_holds_the_same_value_and_no_markup(value):
    """What the page unpacks is what was packed, and the packed text cannot end a script element."""
    packed = pack(value)
    assert json.loads(zlib.decompress(base64.b64decode(packed))) == value
    assert re.fullmatch(r"[A-Za-z0-9+/=]*", packed)


@given(st.text(), st.integers(min_value=0, max_value=50))
def test_cutting_keeps_the_limit_and_counts_what_is_gone(text, limit):
    """A text within the limit stays as it is; a longer one keeps its beginning or end and says how much is left out."""
    if len(text) <= limit:
        assert head(text, limit) == tail(text, limit) == text
        return
    gone = f"{len(text) - limit:,} characters are not in this file"
    assert head(text, limit).startswith(text[:limit])
    assert tail(text, limit).endswith(text[len(text) - limit :])
    assert gone in head(text, limit)
    assert gone in tail(text, limit)
