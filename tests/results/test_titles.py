"""What runs are called: titles, what tells them apart, and names that have to be cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from bigcodeflow.core.display_text import elided
from bigcodeflow.core.plugins import benchmark_name, shown_benchmark
from bigcodeflow.results.formatting import disambiguated, fits, named_model, title_of, without_board


@pytest.mark.parametrize(
    ("model", "title"),
    [
        ("gpt-4o", "gpt-4o · hard · instruct"),
        ("gpt-4o--main", "gpt-4o · hard · instruct"),
        ("Qwen--Qwen2.5-Coder-7B-Instruct--main", "Qwen/Qwen2.5-Coder-7B-Instruct · hard · instruct"),
        ("acme--nova--0123abc", "acme/nova@0123abc · hard · instruct"),
        ("oracle-instruct-hard-robust", "oracle · hard · instruct · robust"),
        ("oracle-instruct-harder", "oracle-instruct-harder · hard · instruct"),
        ("evil\x1b[2J\u202ename", "evil\ufffd[2J\ufffdname · hard · instruct"),
    ],
)
def test_a_title_is_model_subset_and_split(model, title):
    """No file stem, no name that a sweep made, and nothing that a terminal obeys; beneath its board without that."""
    assert title_of(model, "hard", "instruct") == title
    assert without_board(f"{title} · raw", "hard · instruct") == f"{title} · raw".replace(" · hard · instruct", "")


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("starter", "starter"),
        ("bigcode/bigcodebench@v0.1.4", "bigcodebench"),
        ("bigcode/bigcodebench-hard", "bigcodebench"),
        ("tasks/mine.jsonl", ""),
        ("/data/mine.parquet", ""),
        ("evalplus/humanevalplus#0123abc", "humanevalplus"),
        ("evalplus/humanevalplus=/data/HumanEvalPlus.jsonl.gz", "humanevalplus"),
        ("livecodebench/code_generation_lite=test6.jsonl", "code_generation_lite test6"),
    ],
)
def test_a_benchmark_is_named_by_its_source(source: str, name: str) -> None:
    """A benchmark has one name wherever its rows come from; another file of it is another set of tasks."""
    assert benchmark_name(source) == name
    shown = title_of("m", "full", "complete", benchmark=shown_benchmark(source))
    hidden = name in ("", "starter", "bigcodebench")
    assert shown == ("m · full · complete" if hidden else f"m · {name} · full · complete")


def test_details_stand_only_where_titles_are_shared():
    """The first detail that tells runs apart is enough; those that are told apart already get none."""
    details = [["0.2", "0.8", "0.2"], ["parity", "robust", "robust"], ["x", "y", "z"]]
    assert disambiguated(["a", "a", "b"], details) == ["a · 0.2", "a · 0.8", "b"]
    assert disambiguated(["a", "a", "a"], details) == ["a · 0.2 · parity", "a · 0.8", "a · 0.2 · robust"]


@given(st.text(max_size=60), st.integers(0, 40))
def test_an_elided_name_fits_and_keeps_beginning_and_end(text, width):
    """It is never wider than asked for; what fits is untouched; what is cut is the middle."""
    shown = elided(text, width)
    assert cell_len(shown) <= width or cell_len(text) == 0
    if cell_len(text) <= width:
        assert shown == text
    elif width:
        head, _, tail = shown.partition("…") if "…" not in text else ("", "", "")
        assert text.startswith(head)
        assert text.endswith(tail)


@given(st.text("abc·-", min_size=20, max_size=40), st.integers(6, 19))
def test_half_of_an_elided_name_is_its_end(text, width):
    """Both ends get the same room, as variants of a model differ in their last letters."""
    shown = elided(text, width)
    assert len(shown) == width
    assert abs(shown.index("…") - (width - 1 - shown.index("…"))) <= 1
    assert fits(shown, text)


def test_only_the_text_itself_or_its_elided_form_fits():
    """A copied name from a table finds its run; a part of a name does not."""
    assert fits("gpt-4o", "gpt-4o")
    assert fits("gp…4o", "gpt-4o")
    assert not fits("gpt", "gpt-4o")
    assert not fits("…", "gpt-4o")
    assert not fits("gpt…pt", "gpt")


@pytest.mark.parametrize(
    ("name", "model", "revision"),
    [
        ("Qwen2.5-Coder-7B-Instruct--main", "Qwen2.5-Coder-7B-Instruct", None),
        ("google--gemma-3-4b-it--main", "google/gemma-3-4b-it", None),
        ("google--gemma-3-4b-it--v2", "google/gemma-3-4b-it", "v2"),
        ("nova--0123abc", "nova", "0123abc"),
        ("meta-llama--Llama-3-8B", "meta-llama/Llama-3-8B", None),
        ("mymodel", "mymodel", None),
    ],
)
def test_names_of_models(name, model, revision):
    """Organisation, name and revision are read from the original's file name form; 'main' is no revision."""
    assert named_model(name) == (model, revision)
    assert str(named_model(name)) == (f"{model}@{revision}" if revision else model)
