"""Result files of the original evaluator, taken in as runs: their numbers, their defects, and nothing claimed beyond."""

import gzip
import json
import shutil

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bigcodeflow as bcf
from bigcodeflow.core.calibration import calibrate
from bigcodeflow.core.errors import ConfigError, SamplesError
from bigcodeflow.results.catalog.description import describe_catalog
from bigcodeflow.results.exports import write_eval_results, write_pass_at_k
from bigcodeflow.results.models import readable
from bigcodeflow.results.runs import find_run, recorded_runs
from bigcodeflow.store import open_store
from bigcodeflow_harnesses.importing import import_results
from bigcodeflow_harnesses.importing.claims import failed_ground_truths, scores_of
from bigcodeflow_harnesses.importing.reading import read_results
from tests.conftest import ROOT
from tests.doubles.listeners import RecordingListener
from tests.results.conftest import recorded_files

STEM = "m--main--bigcodebench-complete--vllm-0-1-sanitized_calibrated"
TASKS = [json.loads(line) for line in (ROOT / "data" / "starter" / "tasks.jsonl").read_text().splitlines()]
STARTER = {"source": "starter", "ids": "0-2"}


TYPE_ERROR = 'Traceback (most recent call last):\n  File "__test__.py", line 3, in test\nTypeError: no\n'


def entry(number, status="pass", details=None, *, solution="def task_func(): ...", calibrated=True):
    task = TASKS[number]
    program = calibrate(task["code_prompt"], solution) if calibrated else solution
    return {"task_id": task["task_id"], "solution": program, "status": status, "details": details or {}}


PASSES = [entry(number) for number in range(3)]


def write(folder, entries, *, scores=None, date="2025-05-07 20:56", stem=STEM, packed=False):
    folder.mkdir(parents=True, exist_ok=True)
    results = {}
    for one in entries:
        results.setdefault(one["task_id"], []).append(one)
    data = json.dumps({"date": date, "eval": results}).encode()
    path = folder / f"{stem}_eval_results.json{'.gz' if packed else ''}"
    path.write_bytes(gzip.compress(data) if packed else data)
    if scores is not None:
        (folder / f"{stem}_pass_at_k.json").write_text(json.dumps(scores))
    return path


def scores(value, failed=(), **more):
    view = {"model": "m--main", "split": "complete", "subset": "full", "calibrated": True}
    ground_truths = {"gt_pass_rate": 1 - len(failed) / 3, "failed_tasks": list(failed)}
    return {"pass@1": value, **view, **ground_truths, **more}


def take_in(path, store, **more):
    listener = more.pop("listener", RecordingListener())
    return import_results(path, settings=more.pop("settings", STARTER), store=store, listener=listener, **more)


def write_three(folder):
    """A pass, a fail and a timeout, without scores."""
    first = TASKS[1]["test"].partition("def test")[2].partition("(")[0]
    entries = [entry(0), entry(1, "fail", {f"test{first}": TYPE_ERROR}), entry(2, "timeout")]
    return write(folder / "files", entries)


@pytest.fixture
def three(tmp_path):
    return write_three(tmp_path)


@pytest.fixture(scope="module")
def imported(tmp_path_factory):
    """The three imported once, for tests that only read: the run and its store."""
    folder = tmp_path_factory.mktemp("imported")
    return take_in(write_three(folder), folder / "store"), folder / "store"


def metric(run, store, name, **wanted):
    rows = open_store(store).read(run.metrics).to_pylist()
    wanted = {"slice_kind": "all", "metric": name, **wanted}
    return [row["value"] for row in rows if wanted.items() <= row.items()]


def verdicts(store):
    return pq.read_table(find_run(store, "latest").path("execution")).to_pylist()


NAMES = ["status=pass", "variant=raw/k=5", "[1]", "a?b*", "a\\b", "model=[a-c]\\*?", 'it\'s "{x}" #%20 ü']


@pytest.mark.parametrize("name", NAMES)
def test_names_of_folders_are_no_data(tmp_path, name):
    """Scores, catalog, library and a task file are the same wherever they lie; siblings that a pattern fits are not read."""
    home = tmp_path / name
    for sibling in ("1", "axb", "a/b", "model=a/x"):
        write_three(tmp_path / sibling)
    path = write_three(home)
    tasks = home / "tasks.parquet"
    pq.write_table(pa.Table.from_pylist(TASKS), tasks)
    run = take_in(path, home / "store", settings=STARTER | {"source": str(tasks)})
    assert metric(run, home / "store", "pass@k", k=1) == [1 / 3]
    with readable(home / "store" / "results.duckdb") as place, duckdb.connect(place, read_only=True) as catalog:
        assert catalog.execute("SELECT model, split, (SELECT count(*) FROM left_out) FROM runs").fetchall() == [
            ("m--main", "complete", 0)
        ]
        assert catalog.execute("SELECT DISTINCT k, variant FROM pass_at_k").fetchall() == [(1, "calibrated")]
        [(artifact, file)] = catalog.execute("SELECT DISTINCT artifact, file FROM stored.execution").fetchall()
    recorded = find_run(home / "store", "latest")
    assert (artifact, file) == (recorded.keys["execution"], str(recorded.path("execution")))
    assert bcf.read_results(store=home / "store").verdicts["status"].to_list() == ["pass", "fail", "timeout"]
    assert describe_catalog(home / "store" / "results.duckdb")[1] == []


class TestRuns:
    """A file that fits becomes a run like any other."""

    def test_statuses_tests_and_kinds(self, imported):
        """Statuses are the file's; a failing test has its trace and kind; the others of its task have passed."""
        passed, failed, timeout = rows = verdicts(imported[1])
        assert [row["status"] for row in rows] == ["pass", "fail", "timeout"]
        assert [row["failure_kind"] for row in rows] == ["", "exception", "timeout"]
        assert {test["outcome"] for test in passed["tests"]} == {"pass"}
        assert [test["outcome"] for test in failed["tests"]].count("error") == 1
        assert (timeout["tests"], timeout["tests_run"]) == ([], None), "the file does not tell which tests had passed"
        assert [test["name"] for test in failed["tests"]] == sorted(test["name"] for test in failed["tests"])

    def test_nothing_is_claimed_that_the_file_does_not_tell(self, imported):
        """Backend, environment and sanitizer are unknown; times and memory are null, not 0."""
        for row in verdicts(imported[1]):
            assert (row["backend"], row["environment_sha"], row["flaky"]) == ("imported", "unknown", None)
            assert row["sanitizer"] == "unknown"
            assert {row[name] for name in ("wall_seconds", "cpu_seconds", "test_cpu_seconds", "max_rss_mib")} == {None}
            assert all(test["seconds"] is None for test in row["tests"])

    def test_solutions_are_the_programs_without_calibration(self, imported):
        """What calibration put in front is taken off again, so that executing the solution gives the same program."""
        rows = pq.read_table(find_run(imported[1], "latest").path("sanitizing")).to_pylist()
        assert {(row["solution"], row["sanitizer"]) for row in rows} == {("def task_func(): ...", "unknown")}

    def test_uncalibrated_programs_are_the_raw_variant(self, tmp_path):
        """Programs that do not begin with their code_prompt were executed alone."""
        path = write(tmp_path, [entry(number, calibrated=False) for number in range(3)])
        take_in(path, tmp_path / "store")
        assert {row["variant"] for row in verdicts(tmp_path / "store")} == {"raw"}

    def test_unknown_ground_truths_have_no_rate(self, imported):
        """Without scores the file gives a score, no ground-truth rate, no judgeable score, no such artifact."""
        run, store = imported
        assert run.ground_truth is None
        assert metric(run, store, "pass@k", k=1) == [1 / 3]
        for name in ("ground_truth_rate", "pass@k_judgeable"):
            assert not metric(run, store, name)
        question = "SELECT pass_at_k, ground_truth_rate, pass_at_k_judgeable, provisional FROM pass_at_k"
        with duckdb.connect(store / "results.duckdb", read_only=True) as catalog:
            assert catalog.execute(question).fetchall() == [(1 / 3, None, None, False)]
            assert catalog.execute("SELECT count(*) FROM ground_truths").fetchone() == (0,)

    def test_the_record_has_no_defaults(self, imported):
        """Only what the import itself decides on and what the name states has a value; the rest is null."""
        config = find_run(imported[1], "latest").config

        def known(values, above=""):
            for name, value in values.items():
                if isinstance(value, dict):
                    yield from known(value, f"{above}{name}.")
                elif value is not None:
                    yield f"{above}{name}", value

        values = dict(known(config))
        assert values.pop("generation.sampling.temperature") == 0.0
        assert values.pop("generation.n_samples") == 1
        assert values.pop("execution.variants") == ["calibrated"]
        assert {name.partition(".")[0] for name in values} == {"name", "store", "dataset", "samples", "aggregation"}
        for section in ("limits", "environment", "backend"):
            assert section in config["execution"]

    def test_failed_tasks_are_the_ground_truths_that_fail(self, tmp_path):
        """The list gives rate and judgeable score; it does not name failed tests, so those rows have none."""
        failed = [TASKS[1]["task_id"]]
        entries = [entry(0), entry(1, "fail"), entry(2, "fail")]
        run = take_in(write(tmp_path, entries, scores=scores(1 / 3, failed)), tmp_path / "store")
        assert metric(run, tmp_path / "store", "ground_truth_rate") == [2 / 3]
        assert metric(run, tmp_path / "store", "pass@k_judgeable", k=1) == [1 / 2]
        rows = {row["task_id"]: row for row in open_store(tmp_path / "store").read(run.ground_truth).to_pylist()}
        assert (rows[failed[0]]["tests"], rows[failed[0]]["tests_run"]) == ([], None)
        assert {test["outcome"] for test in rows["Starter/0"]["tests"]} == {"pass"}

    @pytest.mark.parametrize(
        "changes",
        [
            {"gt_pass_rate": None},
            {"failed_tasks": None},
            {"gt_pass_rate": 0.5},
            {"failed_tasks": [1]},
            # With --no_gt the original writes a rate of 0 and every task as failed: that is no rate of 0 %.
            {"gt_pass_rate": 0, "failed_tasks": [task["task_id"] for task in TASKS[:3]]},
        ],
    )
    def test_scores_that_do_not_tell_ground_truths_leave_them_unknown(self, tmp_path, changes):
        """A rate that is missing, or that the list does not give, is no reason to let tasks pass."""
        path = write(tmp_path, PASSES, scores=scores(1.0) | changes)
        assert failed_ground_truths(scores_of(path), 3) is None

    def test_several_samples_give_every_k(self, tmp_path):
        """Samples of a task count by their place; each k of the scores beside the file comes out."""
        entries = [entry(number, "pass" if index == 1 else "fail") for number in range(3) for index in range(4)]
        recorded = scores(0.25, **{"pass@2": 0.5})
        run = take_in(write(tmp_path, entries, scores=recorded, stem=STEM.replace("0-1", "0-4")), tmp_path / "store")
        assert metric(run, tmp_path / "store", "pass@k", k=2) == [0.5]
        assert [row["sample_index"] for row in verdicts(tmp_path / "store")] == [0, 1, 2, 3] * 3

    def test_traces_of_subtests_modules_and_classes_and_infra_errors_are_kept(self, tmp_path):
        """A subtest fails its test; other names follow the expected ones; 'ALL' is the module's trace: no test ran."""
        own = TASKS[0]["test"].partition("def test")[2].partition("(")[0]
        entries = [
            entry(0, "fail", {f"test{own} (n=1)": "T1", "5, b=2)": "T2"}),
            entry(1, "fail", {"ALL": "No module named 'foo'"}),
            entry(2, "fail", {"TestCases)": "T"}),
            entry(3, "infra_error"),
            entry(4),
        ]
        run = take_in(write(tmp_path, entries), tmp_path / "store", settings=STARTER | {"ids": "0-4"})
        subtest, module, whole_class, *_ = verdicts(tmp_path / "store")
        traces = {test["name"]: test["trace"] for test in subtest["tests"]}
        assert (traces[f"test{own}"], traces[f"test{own} (n=1)"], traces["5, b=2)"]) == ("T1", "T1", "T2")
        assert subtest["tests_expected"] == len(subtest["tests"]) - 2
        assert subtest["tampering"] == []
        assert (module["module_trace"], module["failure_kind"]) == ("No module named 'foo'", "import")
        assert module["tests_run"] == 0
        assert (whole_class["module_trace"], whole_class["tests_run"]) == ("T", 0)
        assert metric(run, tmp_path / "store", "pass@k", k=1) == [1 / 4]
        assert metric(run, tmp_path / "store", "infra_error_count") == [1.0]

    def test_a_sample_file_adds_the_raw_answers(self, three, tmp_path):
        """With the evaluated sample file, answers are those that the model gave."""
        lines = [
            {"task_id": task["task_id"], "solution": "def task_func(): ...", "raw_solution": f"Sure! {number}"}
            for number, task in enumerate(TASKS[:3])
        ]
        (tmp_path / "s.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        take_in(three, tmp_path / "store", samples=str(tmp_path / "s.jsonl"))
        answers = pq.read_table(find_run(tmp_path / "store", "latest").path("generation"))["raw_text"].to_pylist()
        assert answers == ["Sure! 0", "Sure! 1", "Sure! 2"]
        lines[1]["solution"] = "other"
        (tmp_path / "s.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines[:2]))
        with pytest.raises(SamplesError, match=r"Starter/1, sample 0 is another program than"):
            take_in(three, tmp_path / "store", samples=str(tmp_path / "s.jsonl"), settings=STARTER | {"ids": "0-1"})

    def test_the_same_file_is_one_run_and_a_changed_one_another(self, three, tmp_path):
        """The second import computes nothing and leaves the record's bytes, also from another place and gzipped."""
        first = take_in(three, tmp_path / "store")
        [record] = (tmp_path / "store" / "runs").iterdir()
        before = record.read_bytes()
        packed = tmp_path / "elsewhere" / f"{three.name}.gz"
        packed.parent.mkdir()
        packed.write_bytes(gzip.compress(three.read_bytes()))
        again = RecordingListener()
        assert take_in(packed, tmp_path / "store", listener=again).record == first.record == record.stem
        assert again.computed == []
        assert [path.read_bytes() for path in record.parent.iterdir()] == [before]
        names = [first.record]
        for status in (
            "pass",
            "fail",
            "timeout",
            "pass",
        ):  # names and dates are equal: the latest is the last that came
            changed = write(three.parent, [entry(0, status), entry(1), entry(2, "timeout")])
            names.append(take_in(changed, tmp_path / "store").record)
        assert names.pop() == names[1]
        assert [run.record for run in recorded_runs(tmp_path / "store")] == names

    def test_the_split_is_stated_or_asked_for(self, three, tmp_path):
        """A name that tells nothing needs --split; then the file's name is the run's."""
        mine = three.with_name("my results_eval_results.json")
        shutil.copy(three, mine)
        with pytest.raises(ConfigError, match="add --split"):
            take_in(mine, tmp_path / "store")
        take_in(mine, tmp_path / "store", settings=STARTER | {"split": "instruct"})
        run = find_run(tmp_path / "store", "my-results")
        assert (run.split, run.subset, run.model) == ("instruct", "full", "my results")


class TestDefects:
    """A file that does not fit is not taken in, and one message names all its defects."""

    def test_all_defects_at_once(self, tmp_path):
        """File, task and sample of each, and what to do; nothing is stored."""
        good = entry(0)
        path = tmp_path / f"{STEM}_eval_results.json"
        eval_ = {
            "Starter/0": [good, {**good, "status": "maybe"}, {**good, "solution": 3}, "sample"],
            "Starter/1": [good],
            "Starter/2": [],
            "Other/7": [{**good, "task_id": "Other/7"}],
        }
        path.write_text(json.dumps({"date": "yesterday", "eval": eval_}))
        with pytest.raises(SamplesError) as caught:
            take_in(path, tmp_path / "store")
        lines = str(caught.value).splitlines()
        assert all(line.startswith(str(path)) for line in lines)
        for part in (
            "Starter/0, sample 1: status 'maybe' is none of pass, fail, timeout, infra_error",
            "Starter/0, sample 2: has no solution",
            "Starter/0, sample 3: is no object",
            "Starter/1, sample 0: says that it answers 'Starter/0'",
            "Starter/2: holds no list of samples",
            "date is not of the form",
            "task Other/7 is not in the dataset",
        ):
            assert sum(part in line for line in lines) == 1, part
        assert not (tmp_path / "store" / "runs").exists()

    def test_tasks_without_results_are_left_out(self, tmp_path):
        """The run is one of the others, and says so in its title and on its board, which ranks no whole run with it."""
        take_in(write(tmp_path, [entry(0), entry(1)]), tmp_path / "store", settings=STARTER | {"ids": ""})
        run = find_run(tmp_path / "store", "latest")
        assert run.config["dataset"]["ids"] == "0-1"
        assert run.title.endswith(" · 2 of 45 tasks")
        assert run.board.endswith(" · 2 of 45 tasks")
        assert {row["n_tasks"] for row in run.metrics() if row["slice_kind"] == "all"} == {2}

    def test_other_versions(self, tmp_path):
        """Each program that begins otherwise than this dataset's calibration is named."""
        with pytest.raises(SamplesError, match=r"Starter/1, sample 0 does not begin with the dataset's code_prompt"):
            take_in(write(tmp_path, [entry(0), {**entry(1), "solution": "x"}, entry(2)]), tmp_path / "store")

    def test_scores_of_another_file(self, tmp_path):
        """A pass@k that the samples do not give is refused before a run is recorded."""
        path = write(tmp_path, PASSES, scores=scores(0.5))
        with pytest.raises(SamplesError, match=r"its samples give pass@1 1\.0, and .*_pass_at_k\.json says 0\.5"):
            take_in(path, tmp_path / "store")
        assert not (tmp_path / "store" / "runs").exists()

    def test_a_key_that_stands_twice(self, tmp_path):
        """JSON readers keep the last of two equal keys without a word; here it is a defect."""
        path = tmp_path / f"{STEM}_eval_results.json"
        sample = json.dumps(entry(0))
        path.write_text(f'{{"date": "2025-05-07 20:56", "eval": {{"Starter/0": [{sample}], "Starter/0": [{sample}]}}}}')
        assert "the key 'Starter/0' occurs twice" in read_results(path).defects[0]

    @pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"eval": []}', b'{"eval": {}}', b"\xff", b"[" * 200_000])
    def test_what_is_no_result_file(self, tmp_path, content):
        """One line that names the file and the format; so does a gzip stream that is cut off."""
        path = tmp_path / "x_eval_results.json"
        path.write_bytes(content)
        with pytest.raises(SamplesError, match=r"x_eval_results\.json: .*"):
            read_results(path)
        packed = tmp_path / "x_eval_results.json.gz"
        packed.write_bytes(gzip.compress(b'{"eval": {}}')[:-6])
        with pytest.raises(SamplesError, match="damaged or cut off"):
            read_results(packed)

    @settings(max_examples=40)
    @given(
        samples=st.dictionaries(
            st.sampled_from(["Starter/0", "Starter/1"]),
            st.recursive(
                st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=5),
                lambda inner: (
                    st.lists(inner, max_size=3)
                    | st.dictionaries(st.sampled_from(["task_id", "solution", "status", "details"]), inner, max_size=4)
                ),
                max_leaves=12,
            ),
            min_size=1,
        )
    )
    def test_every_sample_is_an_entry_or_a_defect(self, tmp_path_factory, samples):
        """Whatever JSON stands under a task, each of its samples is accounted for and nothing else is raised."""
        path = tmp_path_factory.mktemp("any") / "x_eval_results.json"
        path.write_text(json.dumps({"date": "2025-05-07 20:56", "eval": samples}))
        found = read_results(path)
        wanted = sum(len(one) if isinstance(one, list) and one else 1 for one in samples.values())
        assert len(found.entries) + len(found.defects) == wanted


@pytest.mark.real_data
@pytest.mark.slow
@pytest.mark.parametrize("model", ["qwen2.5-coder-7b-instruct", "gemma-3-4b-it"])
def test_recorded_files_give_their_recorded_scores(reference_data, tmp_path, model):
    """Scores of 1,140 recorded samples come out to the last digit, also in the catalog; both files are written again."""
    path, recorded, samples = recorded_files(reference_data, model)
    source = {"source": str(reference_data / "bigcodebench-v0.1.4.parquet")}
    run = take_in(path, tmp_path, settings=source, samples=str(samples))
    assert metric(run, tmp_path, "pass@k", k=1) == [recorded["pass@1"]]
    assert metric(run, tmp_path, "ground_truth_rate") == [recorded["gt_pass_rate"]]
    with duckdb.connect(tmp_path / "results.duckdb", read_only=True) as catalog:
        found = catalog.execute("SELECT pass_at_k, ground_truth_rate FROM pass_at_k").fetchall()
        assert found == [(recorded["pass@1"], recorded["gt_pass_rate"])]
        solved = catalog.execute("SELECT sum(n_passed), count(*), count_if(NOT judgeable) FROM solve_rate").fetchone()
    assert solved == (round(1140 * recorded["pass@1"]), 1140, len(recorded["failed_tasks"]))
    content = json.loads(gzip.decompress(path.read_bytes()))["eval"]
    assert all((row["failure_kind"] == "") == (row["status"] == "pass") for row in verdicts(tmp_path))
    kept = find_run(tmp_path, "latest")
    kind = {"variant": "calibrated", "sanitizer": "unknown"}
    tables = {"tasks": kept.path("dataset"), "solutions": kept.path("sanitizing"), "verdicts": kept.path("execution")}
    written = write_eval_results(tmp_path / "x.json", **tables, **kind, evaluated_at=kept.started_at)
    for task_id, [sample] in json.loads(written.read_text())["eval"].items():
        [original] = content.pop(task_id)
        assert sample | {"details": original["details"]} == original
        assert original["details"].items() <= sample["details"].items()  # a failed subtest fails its test, too
    assert content == {}
    metrics, truths = pq.read_table(kept.path("aggregation")), kept.path("ground_truth")
    written = write_pass_at_k(tmp_path / "y.json", metrics=metrics, ground_truth=truths, model=kept.model, **kind)
    again = json.loads(written.read_text())
    assert again | {"failed_tasks": sorted(again["failed_tasks"])} == recorded | {
        "failed_tasks": sorted(recorded["failed_tasks"])
    }
