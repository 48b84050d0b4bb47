"""Planted copies are found where they are, whole or altered; unrelated text is not."""

import random
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from bigcodeflow_studies.contamination.matching import (
    Matches,
    NgramIndex,
    Part,
    parts_of,
    similarity,
    words_of,
)

TASKS = [
    {
        "complete_prompt": f"def task_func(rows):\n    '''Sum the {one} of all rows that {other} was sold after {third}.'''",
        "instruct_prompt": f"Write a function that sums the {one} of rows where {other} comes after the {third} day.",
        "canonical_solution": f"    {one} = 0\n    for row in rows:\n        if row['{other}'] > {third}:\n            {one} += row['{one}'] * 2\n    return {one}, len(rows)",
        "test": f"class TestCases:\n    def test_{one}(self):\n        assert task_func([{{'{other}': 4, '{one}': 9}}]) == (18, 1)",
    }
    for one, other, third in (("price", "item", "monday"), ("weight", "parcel", "easter"), ("height", "tree", "winter"))
]
WORDS = [f"{first}{second}" for first in ("ba", "ko", "mi", "tu") for second in ("ra", "len", "sot", "vi", "dup")]


def filler(chance: random.Random, count: int) -> str:
    return " ".join(chance.choices(WORDS, k=count))


def searched(corpus: str, *, common_tasks: int = 4, ngram: int = 6) -> Matches:
    matches = Matches(parts_of(TASKS), ngram=ngram, common_tasks=common_tasks)
    matches.add(words_of(corpus), "corpus.txt", "1")
    return matches


@given(st.integers(0, 2**32), st.sampled_from(["complete_prompt", "canonical_solution", "test"]), st.integers(0, 2))
def test_a_planted_copy_is_found_whole_and_where_it_is(seed: int, part: str, task: int) -> None:
    """Its words, its place, and a similarity of 1; of the other tasks what they have in common at most."""
    chance = random.Random(seed)
    before, planted = filler(chance, chance.randrange(200)) + " ", TASKS[task][part].strip()
    matches = searched(f"{before}{planted} {filler(chance, chance.randrange(200))}")
    number = task * 4 + ("complete_prompt", "instruct_prompt", "canonical_solution", "test").index(part)
    longest, alike = matches.longest[number], matches.fuzzy[number]
    length = len(words_of(planted).hashes)
    assert longest.score == length
    assert longest.place.offset == len(before) + int(words_of(planted).starts[0])
    assert words_of(longest.place.text).hashes.tolist() == words_of(planted).hashes.tolist()
    assert alike.score == 1
    assert alike.place.offset == longest.place.offset
    assert matches.found[number][matches.ngrams.counted[number]].all()
    assert all(best.score < length / 2 for one, best in matches.longest.items() if one // 4 != task)


@given(st.integers(0, 2**32))
def test_unrelated_text_is_not_found(seed: int) -> None:
    """However long it is."""
    matches = searched(filler(random.Random(seed), 2000))
    assert not matches.longest
    assert not matches.fuzzy


@given(st.integers(0, 2**32))
def test_a_copy_with_other_names_is_found_as_alike(seed: int) -> None:
    """Another spelling of one variable breaks n-grams, and hides nothing."""
    chance = random.Random(seed)
    planted = TASKS[0]["canonical_solution"].replace("rows", chance.choice(WORDS)).replace("* 2", "* 3")
    matches = searched(f"{filler(chance, 300)} {planted} {filler(chance, 300)}", ngram=13)
    assert matches.longest.get(2) is None
    assert 0.75 < matches.fuzzy[2].score < 1
    assert "for row in" in matches.fuzzy[2].place.text
    assert matches.fuzzy[2].place.task_text == TASKS[0]["canonical_solution"].strip()


def test_a_change_of_layout_and_spelling_is_none() -> None:
    """Case, punctuation, line ends, camel brackets of any kind."""
    text = TASKS[1]["canonical_solution"].upper().replace("\n", "  // ").replace("'", '"')
    assert searched(text).fuzzy[6].score == 1


def test_what_many_tasks_have_is_boilerplate() -> None:
    """The words that all three prompts share count for none of them."""
    shared = "Write a function that sums the"
    assert not searched(shared, common_tasks=3, ngram=6).longest
    assert len(searched(shared, common_tasks=4, ngram=6).longest) == 3


def test_the_first_of_equal_matches_stays() -> None:
    """So that a result does not depend on how a corpus is cut."""
    matches = Matches(parts_of(TASKS), ngram=6, common_tasks=4)
    for file in ("a.txt", "b.txt"):
        matches.add(words_of(TASKS[0]["test"]), file, "1")
    assert matches.longest[3].place.file == "a.txt"
    assert matches.fuzzy[3].place.file == "a.txt"


@given(
    st.lists(st.lists(st.sampled_from("abc"), max_size=8), min_size=1, max_size=5),
    st.lists(st.sampled_from("abc"), max_size=12),
    st.integers(1, 3),
    st.integers(2, 4),
)
def test_hits_are_all_pairs_of_equal_ngrams(
    texts: Sequence[Sequence[str]], corpus: Sequence[str], length: int, common: int
) -> None:
    """As looking at every pair of places finds them."""
    index = NgramIndex([Part(n, words_of(" ".join(one))) for n, one in enumerate(texts)], length, common)

    def ngrams(words: Sequence[str]) -> list[tuple[str, ...]]:
        return [tuple(words[start : start + length]) for start in range(len(words) - length + 1)]

    tasks_with = {one: sum(one in ngrams(text) for text in texts) for text in texts for one in ngrams(text)}
    expected = [
        (at, number, within)
        for at, one in enumerate(ngrams(corpus))
        for number, text in enumerate(texts)
        for within, other in enumerate(ngrams(text))
        if one == other and tasks_with[one] < common
    ]
    hits = index.hits(words_of(" ".join(corpus)).hashes)
    assert sorted(zip(hits.at.tolist(), hits.part.tolist(), hits.within.tolist(), strict=True)) == sorted(expected)
    counted = [[n for n, one in enumerate(ngrams(text)) if tasks_with[one] < common] for text in texts]
    assert [one.tolist() for one in index.counted] == counted


@given(st.lists(st.sampled_from(WORDS), max_size=20), st.lists(st.sampled_from(WORDS), max_size=20))
def test_similarity_is_a_share(first: list[str], second: list[str]) -> None:
    """1 for equal texts, 0 where nothing is shared; the passage lies within the place."""
    one, other = (words_of(" ".join(words)).hashes for words in (first, second))
    score, begin, end = similarity(one, other)
    assert 0 <= score <= 1
    assert (score > 0) == bool(set(first) & set(second))
    assert 0 <= begin < end
    if first:
        assert similarity(one, one) == (1, 0, len(first))
