"""No text that a model writes ends what reads it outside the sandbox, and none is read for long."""

import ast
import json
import logging
import re
from contextlib import suppress
from re import _constants, _parser  # type: ignore[attr-defined] # the only reader of patterns that there is

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bigcodeflow.config import LimitsConfig, SanitizingConfig
from bigcodeflow.core.schemas import SAMPLES, SOLUTIONS, TASKS, table_of
from bigcodeflow.core.untrusted_text import REFUSALS, TooLargeError, parse, storable, with_fallback
from bigcodeflow.generation.replay import read_samples
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.judge.expected_tests import expected_test_ids
from bigcodeflow.judge.failure_kinds import KINDS, failure_kind
from bigcodeflow.judge.items import work_item
from bigcodeflow.judge.zygote_plan import ModuleFiles, imported_modules, leading_modules
from bigcodeflow.results.inspection.samples import SampleDetail
from bigcodeflow.sanitizing import find_risks, sanitize, syntax_error
from bigcodeflow.sanitizing.findings import assess
from bigcodeflow.sanitizing.samples import sanitize_samples
from bigcodeflow.sanitizing.statements import placeholder
from tests.conftest import ROOT
from tests.doubles.degenerate_texts import GOOD, answers_within, degenerate_texts

_PROMPT = "import os\nfrom random import choice\ndef task_func(x):"
_TASK = {
    "task_id": "T/0", "position": 0, "complete_prompt": _PROMPT, "instruct_prompt": "", "canonical_solution": "    pass",
    "code_prompt": _PROMPT, "test": "import unittest\n", "entry_point": "task_func", "doc_struct": "", "libs": [],
    "domains": [], "hard": False, "expected_tests": ["test_a"],
}  # fmt: skip
_TASKS = pa.Table.from_pylist([_TASK], schema=TASKS)
_EVEN_SURROGATES = st.text(st.characters() | st.characters(categories=["Cs"]), max_size=60)
_PIECES = st.sampled_from([text for text in degenerate_texts(200).values() if len(text) < 2_000]) | _EVEN_SURROGATES
_MODES = ("none", "parity", "robust")
_TEXTS = st.lists(_PIECES, max_size=4).map("\n".join)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> ModuleFiles:
    """An environment with two modules."""
    root = tmp_path_factory.mktemp("environment")
    library = root / "venv" / "lib" / "python3.10" / "site-packages"
    (library / "package" / "inner").mkdir(parents=True)
    for name in ("package/__init__.py", "package/inner/module.py", "plain.py", "fast.cpython-310-x86_64-linux-gnu.so"):
        (library / name).touch()
    return ModuleFiles(InstalledEnvironment("e", root, root / "python", (), {}, "sha", ()))


def _read_everywhere(answers: list[str], files: ModuleFiles, modes: tuple[str, ...] = _MODES) -> None:
    """Read answers as the library does, from a sample file's line to what is shown and exported."""
    rows = [
        {"task_id": "T/0", "sample_index": number, "raw_text": storable(text), "provider": "replay", "attempts": 1}
        for number, text in enumerate(answers)
    ]
    samples = table_of(rows, SAMPLES)
    for mode in modes:
        found = sanitize_samples(samples, _TASKS, SanitizingConfig(mode=mode, safety_policy="block"))
        assert found.num_rows == len(answers)
        for row in found.to_pylist():
            _read_solution(row, files)


def _read_solution(row: dict, files: ModuleFiles) -> None:
    program = row["solution"]
    assert all(map(files.has, leading_modules(program, _TASK["test"], files)))
    item = work_item(
        program=program, task=_TASK, missing_imports=frozenset(), environment_sha="", limits=LimitsConfig()
    )
    assert isinstance(imported_modules(program), frozenset)
    assert item.verdict_key
    trace = f"Traceback (most recent call last):\n  File \"__test__.py\", line 1, in f\nNameError: name 'x{program[:99]}' {program}"
    for text in (trace, program, "NameError: name 'os' is not defined"):
        assert failure_kind(text, "NameError Exception", program=program, test=program) in KINDS
    with suppress(*REFUSALS):
        expected_test_ids(program)


@pytest.mark.parametrize(
    ("texts", "modes"), [(slice(None, None, 6), 1), pytest.param(slice(None), 3, marks=pytest.mark.slow)]
)
def test_degenerate_texts_are_read_everywhere(
    files: ModuleFiles, caplog: pytest.LogCaptureFixture, texts: slice, modes: int
) -> None:
    """Every refusal is a foreseen one, so that the last boundary is never needed."""
    read = [text for text in degenerate_texts(800).values() if len(text) < 25_000]
    with caplog.at_level(logging.WARNING):
        for number, text in enumerate(read[texts]):
            _read_everywhere([text], files, (2 * _MODES)[number % 3 :][:modes])
    assert caplog.messages == []


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("kind", ["damaged", "endless", "nested", "repeated", "foreign"])
def test_every_large_text_is_read_everywhere(files: ModuleFiles, caplog: pytest.LogCaptureFixture, kind: str) -> None:
    """The same at a size that some models reach."""
    with caplog.at_level(logging.WARNING):
        for name, text in degenerate_texts(100_000).items():
            if name.startswith(kind):
                _read_everywhere([text], files)
    assert caplog.messages == []


@pytest.mark.slow
@settings(max_examples=25)
@given(text=_TEXTS, mode=st.sampled_from(_MODES))
def test_any_mixture_is_read_everywhere(files: ModuleFiles, text: str, mode: str) -> None:
    """Pieces of the corpus in any order, with any characters between them."""
    _read_everywhere(list(answers_within(text)), files, (mode,))


@given(_TEXTS)
def test_any_mixture_is_a_sample_or_a_defect(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    """Lines of a sample file, whole and as they are."""
    path = tmp_path_factory.mktemp("samples") / "samples.jsonl"
    line = json.dumps({"task_id": "T/0", "solution": text, "error": text}) + "\n"
    path.write_bytes(line.encode() + text.encode("utf-8", "surrogatepass"))
    read = read_samples(path, "samples", frozenset({"T/0"}))
    assert read.samples[0].answer["solution"] == storable(text)


def test_names_longer_than_a_file_name_are_no_modules(files: ModuleFiles) -> None:
    """The answer that ended a run: a module's name of thousands of characters."""
    long = "a" * 5_000
    program = f"import {long}, package, plain.{long}, package.{long}, fast\nfrom package.inner import module, {long}\n"
    assert leading_modules(program, "", files) == ("package", "fast", "package.inner.module")


def test_a_text_that_begins_with_thousands_of_imports_starts_cold(files: ModuleFiles) -> None:
    """Nothing of it is looked up."""
    assert leading_modules("import plain\n" * 1_001, "", files) == ()
    assert leading_modules("import plain\n" * 1_000, "", files) == ("plain",)


@pytest.mark.parametrize(
    "text",
    [
        f"import {'a.' * 10_001}a",
        f"from {'a.' * 100_000}a import b",
        f"x = a{'. a' * 10_001}",
        "x = f'" + "{x}" * 30_000 + "'",
        'x = f"""' + "{x}\n" * 30_000 + '"""',
    ],
)
def test_what_the_parser_needs_minutes_for_is_refused(text: str) -> None:
    """It is an error of its own, a syntax error's mark, and for the safety policy a reason to look."""
    with pytest.raises(TooLargeError):
        parse(text)
    assert syntax_error(text).startswith("too ")
    assert [finding.rule for finding in find_risks(text)] == ["unreadable"]
    assert assess(text, "block").blocked
    assert not assess(text, "flag").blocked


@pytest.mark.parametrize(
    "text", [f"import {'a.' * 9_000}a", "x = f'" + "{x}" * 5_000 + "'", '"""' + "{" * 30_000 + '"""']
)
def test_what_is_merely_long_is_parsed(text: str) -> None:
    """Long names and strings are Python."""
    assert parse(text).body


def test_no_pattern_repeats_a_lookahead_possessively() -> None:
    """Such a pattern finds nothing in Python 3.11.2, which Debian 12 has; an atomic group works there."""
    assert _repeats_lookahead(_parser.parse(r"a(?:(?!b)(?:c|d))*+"))
    patterns = 0
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.search(r"[*+?}]\+", node.value):
                with suppress(re.error):
                    assert not _repeats_lookahead(_parser.parse(node.value, re.VERBOSE)), (path, node.lineno)
                    patterns += 1
    assert patterns >= 10


def _repeats_lookahead(part: object) -> bool:
    if isinstance(part, tuple) and part[0] == _constants.POSSESSIVE_REPEAT and "ASSERT" in repr(part):
        return True
    inner = part.data if isinstance(part, _parser.SubPattern) else part
    return isinstance(inner, list | tuple) and any(_repeats_lookahead(each) for each in inner)


@pytest.mark.slow
def test_a_text_that_is_too_large_is_not_parsed() -> None:
    """Wherever a text is read outside of a process with limits; a megabyte takes three seconds and a gigabyte."""
    text = "a\n" * 100_001
    for read in (parse, expected_test_ids):
        with pytest.raises(TooLargeError, match=r"200,002 characters; the limit of .* is 200,000"):
            read(text)
    assert imported_modules(f"import os\n{text}") == frozenset()
    assert parse(text[:200_000]).body


def test_findings_are_stored_whatever_they_hold() -> None:
    """Half a surrogate pair that a program spells out, endless names, and as many findings as lines."""
    program = "import subprocess\nx = getattr(subprocess, '\\ud800')\n" + "import subprocess." + "a" * 50_000 + "\n"
    program += "subprocess.run" + ".a" * 500 + "\n" + "subprocess = subprocess.run\n" * 2_000
    found = assess(program, "flag").findings
    assert len(found) == 1_000
    assert all(len(finding.detail) < 1_000 for finding in found)
    row = {"task_id": "T/0", "sample_index": 0, "sanitizer": "none", "solution": ""}
    row |= {"syntax_ok": True, "syntax_error": ""}
    row |= dict.fromkeys(("blocked", "omitted_setup", "placeholder", "truncated"), False)
    table = table_of([row | {"findings": [finding._asdict() for finding in found]}], SOLUTIONS)
    assert any(one["detail"].endswith(".\N{REPLACEMENT CHARACTER}") for one in table["findings"][0].as_py())


def test_a_reader_that_fails_fails_for_its_text_alone(caplog: pytest.LogCaptureFixture) -> None:
    """The boundary gives what stands in for the result, and says in the log what happened."""

    @with_fallback(lambda text, **_: text.upper())
    def read(text: str, *, times: int) -> str:
        return text * (times // (times - 1))

    assert read("ab", times=2) == "abab"
    assert read("ab", times=1) == "AB"
    assert "failed for a text of 2 characters: ZeroDivisionError" in caplog.text


def test_a_promise_in_a_long_comment_is_found() -> None:
    """A comment of any length is searched from its beginning once."""
    body = "def task_func(x):\n    {}\n    return 0\n"
    assert placeholder(body.format("#" * 150_000 + " your code here"), "task_func")
    assert not placeholder(body.format("#" * 150_000), "task_func")


def test_a_fence_of_any_length_is_a_fence() -> None:
    """Also one that a backtick at its end makes none."""
    for mark in ("~" * 200_000, "```" + "a" * 200_000, "- " * 100_000):
        text = f"{mark}`\n```python\n{GOOD}```\n"
        assert sanitize(text, entry_point="task_func", mode="robust").startswith("import random")


@pytest.mark.slow
def test_deep_chains_and_calls_are_followed() -> None:
    """As deep as the parser goes; a known beginning is found at any depth."""
    for deep in (".a" * 900, ".a()" * 400, "[0]" * 900, "(x)" * 400):
        found = find_risks(f"import subprocess\nx = subprocess.run{deep}\n")
        assert ("process", "subprocess.run") in [(one.rule, one.detail[:14]) for one in found]


def test_story_of_a_long_answer_compares_its_beginning() -> None:
    """The comparison of a hundred thousand lines that recur would take minutes."""
    lines = [f"x = {number % 150}" for number in range(100_000)]
    detail = SampleDetail(**dict.fromkeys(SampleDetail.__dataclass_fields__) | {
        "raw_answer": "\n".join(lines), "solution": "\n".join(lines[7:]),
    })  # fmt: skip
    assert (detail.sanitizer_diff or "").endswith("[compared are the first 5,000 lines]")
