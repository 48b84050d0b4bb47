"""Sources that contradict each other: whatever two of them say differently of one file, it is refused and nothing lost."""

import gzip
import json
import shutil

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bigcodeflow.core.errors import SamplesError
from bigcodeflow.datasets.tasks import BIGCODEBENCH_IDS, hard_task_ids
from bigcodeflow.results.runs import find_run, recorded_runs
from bigcodeflow_harnesses.importing.claims import agreed, claims_of_name, claims_of_samples, scores_of
from tests.examples import examples
from tests.extensions.harnesses.test_importing import PASSES, STARTER, STEM, entry, scores, take_in, write

VALUES = {
    "split": st.sampled_from(["complete", "instruct"]),
    "subset": st.sampled_from(["full", "hard"]),
    "model": st.sampled_from(["a--one--main", "b--one--main", "two--main", "a--one--0a1b2c3d"]),
}
#: How a source is called in messages.
SOURCES = {
    "name": "the file's name",
    "scores": "_pass_at_k.json",
    "option": "--{field}",
    "run name": "--name",
    "samples": "the name of --samples",
}


def stem_of(field, value):
    view = {"split": "complete", "subset": "full", "model": "a--one--main", field: value}
    return f"{view['model']}--bigcodebench{'-hard' if view['subset'] == 'hard' else ''}-{view['split']}--vllm-0-1"


def state(folder, field, stated):
    """A result file whose sources state these values of one field, and the arguments to import it."""
    names = {source: stem_of(field, value) for source, value in stated.items()}
    recorded = {field: stated["scores"]} if "scores" in stated else None
    path = write(folder, PASSES, stem=names.get("name", "free"), scores=recorded)
    more = {"settings": STARTER | {"split": "complete"}} if field != "split" else {}
    if "option" in stated:
        more = {"settings": STARTER | {"split": "complete"} | {field: stated["option"]}}
    if "run name" in stated:
        more["name"] = names["run name"]
    if "samples" in stated:
        more["samples"] = str(folder / f"{names['samples']}.jsonl.gz")
    return path, more


@settings(max_examples=40)
@given(data=st.data())
def test_any_two_sources_that_differ_are_refused_and_named(tmp_path_factory, data):
    """Of each pair of sources and each field: one line with the field, both sources and both values; no store is made."""
    field = data.draw(st.sampled_from(sorted(VALUES)))
    pair = data.draw(st.lists(st.sampled_from(sorted(SOURCES)), min_size=2, max_size=2, unique=True))
    assume(field != "model" or "option" not in pair)
    one, other = data.draw(st.lists(VALUES[field], min_size=2, max_size=2, unique=True))
    folder = tmp_path_factory.mktemp("sources")
    path, more = state(folder, field, dict(zip(pair, (one, other), strict=True)))
    with pytest.raises(SamplesError) as caught:
        take_in(path, folder / "store", **more)
    [line] = [line for line in str(caught.value).splitlines() if f"{field} is stated in several ways" in line]
    assert line.startswith(str(path))
    for source, value in zip(pair, (one, other), strict=True):
        before, _, _ = line.partition(SOURCES[source].format(field=field))
        assert before != line
        assert repr(value) in before
    assert "import it again" in line
    assert not (folder / "store").exists()


@settings(max_examples=examples(60))
@given(
    model=st.from_regex(r"[A-Za-z0-9][\w.]{0,12}(--[\w.]{1,8}){0,2}", fullmatch=True),
    view=st.tuples(VALUES["split"], VALUES["subset"]),
    setting=st.tuples(st.sampled_from([0, 0.2, 0.8, 1.0]), st.integers(1, 300)),
    backend=st.sampled_from(["vllm", "hf", "openai", "hf-inference"]),
)
def test_names_of_the_original_are_read(model, view, setting, backend):
    """Every part of a name comes out as it was put in."""
    assume("bigcodebench" not in model and not model.endswith("-"))
    (split, subset), (temperature, n_samples) = view, setting
    benchmark = f"bigcodebench{'-hard' if subset == 'hard' else ''}-{split}"
    stem = f"{model}--{benchmark}--{backend}-{temperature}-{n_samples}-sanitized_calibrated"
    found = {claim.field: claim.value for claim in claims_of_name(stem, "name")}
    parts = {"model": model, "split": split, "subset": subset}
    assert found == parts | {"temperature": temperature, "n_samples": n_samples}


@pytest.mark.parametrize(
    ("text", "temperature"),
    [("1e-05", 1e-05), ("1E-5", 1e-05), ("2.5e-07", 2.5e-07), ("1e+16", 1e16), ("0.0", 0.0), ("1", 1.0), (".5", 0.5)]
    + [(text, None) for text in ("inf", "nan", "1e999", "-0.5", "default", "1e", "1e-")],
)
@pytest.mark.parametrize("backend", ["vllm", "hf-inference", "a-2b"])
def test_temperatures_are_floats_as_python_writes_them(text, temperature, backend):
    """What is none is not known, and no part of it is taken for one."""
    claims = claims_of_name(f"m--bigcodebench-complete--{backend}-{text}-1-sanitized_calibrated", "name")
    found = {claim.field: claim.value for claim in claims}
    assert (found.get("temperature"), found.get("n_samples")) == (temperature, None if temperature is None else 1)


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("model", ["named", None, ""])
def test_results_of_a_folder_of_samples_belong_together(tmp_path, model, packed):
    """eval_results.json and pass_at_k.json of a folder are a pair; unnamed, the model has the folder's name."""
    named = write(tmp_path / "my-model", PASSES, scores=scores(1.0, ["Starter/2"], model=model), packed=packed)
    path = named.rename(named.with_name(named.name.removeprefix(f"{STEM}_")))
    scores_of(path.with_name(f"{STEM}_eval_results.json")).path.rename(path.with_name("pass_at_k.json"))
    run = take_in(path, tmp_path / "store")
    assert (run.model, run.config.name) == (model or "my-model", "my-model")
    assert find_run(tmp_path / "store", "latest").keys["ground_truth"]


def test_the_name_of_a_sample_file_is_no_model(tmp_path):
    """Runs of such files from several folders are told apart; the same file again is the same run."""
    models = []
    for number, (folder, model) in enumerate((("a", "output.jsonl"), ("b", "output.jsonl"), ("c", "x/out.JSON.gz"))):
        entries = [*PASSES[:2], entry(2, solution=f"def task_func(): {number}")]
        path = write(tmp_path / folder, entries, scores=scores(1.0, model=model), stem="output")
        first, again = (take_in(path, tmp_path / "store") for _ in range(2))
        assert first.record == again.record
        models.append(first.model)
    assert len(set(models)) == 3
    assert models[0].startswith("unknown (a/output.jsonl, ")
    moved = path.rename(tmp_path / "a" / "moved_eval_results.json").rename(tmp_path / "output_eval_results.json")
    assert take_in(moved, tmp_path / "other", settings=STARTER | {"split": "complete"}).model == "output"


def test_all_contradictions_at_once(tmp_path):
    """Each field that is stated in several ways has its line."""
    recorded = scores(1.0, model="other--main", split="instruct", subset="hard")
    path = write(tmp_path, PASSES, scores=recorded)
    with pytest.raises(SamplesError) as caught:
        take_in(path, tmp_path / "store")
    fields = [line.split(": ")[1].split(" is ")[0] for line in str(caught.value).splitlines()]
    assert fields == ["model", "split", "subset"]


@pytest.mark.parametrize("model", ["m", "M--main", "org/m", "org--m--main"])
def test_one_model_may_be_written_in_several_ways(tmp_path, model):
    """The organisation, the revision main, capitals and the slash make no other model."""
    path = write(tmp_path, PASSES, scores=scores(1.0, model=model))
    assert agreed(path, [*scores_of(path).claims, *claims_of_name(STEM, "name")])["model"] == model


_CALIBRATED = "m--bigcodebench-complete--vllm-0-1-sanitized-calibrated"


@pytest.mark.parametrize(
    ("stem", "samples", "beside", "message"),
    [
        (STEM, "012", {"split": "Complete"}, r"split 'Complete' is not complete or instruct"),
        (STEM, "012", {"subset": 3}, r"subset 3 is not full or hard"),
        (STEM, "012", {"calibrated": 1}, r"calibrated 1 is not true or false"),
        (STEM, "012", {"model": ["m"]}, r"model \['m'\] is not a text like 'openai/gpt-4o'"),
        (STEM, "012", {"calibrated": False}, r"calibrated is stated in several ways: no .*, yes by its samples \(every one"),
        (STEM, "012", {"pass@2": 1.0}, r"has tasks of 1 samples, too few for pass@2 in .*_pass_at_k\.json"),
        (STEM, "012", {"failed_tasks": ["Starter/9"]}, r"has no result of Starter/9, and .* its ground truth failed"),
        # Only the older original calibrated by the name: no program of such a file may be uncalibrated.
        (_CALIBRATED, "raw", None, r"yes by the file's name, no by its samples \(none begins"),
        # A name that states so many samples a task needs that many of every task.
        (STEM, "0012", None, r"1 by the file's name, 1 by .*2 tasks.*, 2 by its samples \(1 tasks"),
    ],
)  # fmt: skip
def test_a_file_that_is_not_what_its_name_and_scores_say(tmp_path, stem, samples, beside, message):
    """What no such file says, and what its samples do not give, is refused with the place and the value."""
    numbers, calibrated = ("012", False) if samples == "raw" else (samples, True)
    entries = [entry(int(number), calibrated=calibrated) for number in numbers]
    path = write(tmp_path, entries, stem=stem, scores=None if beside is None else scores(1.0) | beside)
    with pytest.raises(SamplesError, match=message):
        take_in(path, tmp_path / "store")
    assert not (tmp_path / "store" / "runs").exists()


def test_two_scores_beside_one_file(tmp_path):
    """A packed and a plain pass_at_k.json that differ are both named."""
    path = write(tmp_path, PASSES, scores=scores(1.0))
    packed = tmp_path / f"{STEM}_pass_at_k.json.gz"
    packed.write_bytes(gzip.compress(json.dumps(scores(0.5)).encode()))
    with pytest.raises(SamplesError, match=r"_pass_at_k\.json and .*\.gz differ"):
        take_in(path, tmp_path / "store")


@pytest.fixture(scope="module")
def free_store(tmp_path_factory):
    """A folder with a file whose name states nothing, and a store with it imported as complete."""
    folder = tmp_path_factory.mktemp("free") / "folder"
    take_in(write(folder, PASSES, stem="mine"), folder / "store", settings=STARTER | {"split": "complete"})
    return folder


def test_a_free_name_tells_no_temperature(free_store):
    """0 would be the temperature of this project's default."""
    generation = find_run(free_store / "store", "latest").config["generation"]
    assert (generation["sampling"]["temperature"], generation["n_samples"]) == (None, 1)


class TestRecordsStay:
    """An import adds a record or leaves the records as they are."""

    @pytest.fixture
    def free(self, free_store, tmp_path):
        """The file, in a copy of the folder."""
        shutil.copytree(free_store, tmp_path, dirs_exist_ok=True)
        return tmp_path / "mine_eval_results.json"

    def records(self, tmp_path):
        return {path.name: path.read_bytes() for path in (tmp_path / "store" / "runs").iterdir()}

    def test_the_same_file_is_no_other_split(self, free, tmp_path):
        """Neither under its own name nor under another one; the record is named, and stays."""
        before = self.records(tmp_path)
        for name in ("", "another"):
            with pytest.raises(SamplesError, match=rf"'complete' by .*{next(iter(before))}, a record of this same"):
                take_in(free, tmp_path / "store", settings=STARTER | {"split": "instruct"}, name=name)
        assert self.records(tmp_path) == before

    def test_a_file_whose_name_now_tells_the_model_is_no_contradiction(self, free, tmp_path):
        """Where no model was named before, its file's name stood in, which states nothing."""
        named = free.with_name(f"{STEM}_eval_results.json")
        shutil.copy(free, named)
        take_in(named, tmp_path / "store")
        assert {run.model for run in recorded_runs(tmp_path / "store")} == {"mine", "m--main"}

    def test_more_of_the_same_file_is_a_run_of_its_own(self, free, tmp_path):
        """Other tasks, or scores beside it that it lacked, need another name: the record before is not replaced."""
        before = self.records(tmp_path)
        fewer = {"source": "starter", "ids": "0-1", "split": "complete"}
        with pytest.raises(SamplesError, match=r"imported before as run mine, with other tasks, .*another --name"):
            take_in(free, tmp_path / "store", settings=fewer)
        free.with_name("mine_pass_at_k.json").write_text(json.dumps(scores(1.0)))
        with pytest.raises(SamplesError, match=r"with other failed_ground_truths, model, and a record is never"):
            take_in(free, tmp_path / "store", settings=STARTER)
        assert self.records(tmp_path) == before
        take_in(free, tmp_path / "store", settings=STARTER, name="whole")
        assert {run.run for run in recorded_runs(tmp_path / "store")} == {"mine", "whole"}
        assert before.items() < self.records(tmp_path).items()


def test_samples_tell_the_subset():
    """Exactly the tasks of BigCodeBench-Hard are the hard subset; any other task of the benchmark is of the full one."""
    hard = hard_task_ids()
    easy = next(iter(BIGCODEBENCH_IDS - hard))
    found = [
        {claim.value for claim in claims_of_samples([*task_ids]) if claim.field == "subset"}
        for task_ids in (hard, {*hard, easy}, {easy}, {"Starter/0"}, {*hard} - {next(iter(hard))})
    ]
    assert found == [{"hard"}, {"full"}, {"full"}, set(), set()]
