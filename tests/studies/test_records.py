"""Results of studies: found in the store, in the catalog, on the explorer's pages and in a report's sections."""

import json
import shutil

import duckdb
import pytest

from bigcodeflow.core import schemas
from bigcodeflow.results.catalog.building import rebuild_catalog
from bigcodeflow.results.catalog.description import describe_catalog
from bigcodeflow.store import ArtifactRef, open_store
from bigcodeflow.studies import current_studies, installed_studies, publish_study, recorded_studies
from bigcodeflow.studies.records import sections_about
from tests.explorer.conftest import exploring

KEYS = ("a" * 64, "b" * 64)


def matched(task_id, share):
    """A row of the study of contamination, with what each column holds at least."""
    empty = {"bool": False, "int32": 0, "int64": 0, "double": 0.0}
    row = {
        column.name: None if column.nullable else empty.get(str(column.type), "")
        for column in schemas.study_schemas()["contamination"]
    }
    return row | {"task_id": task_id, "ngram_share": share, "fuzzy_score": share}


@pytest.fixture(scope="module")
def shared_store(tmp_path_factory):
    """A store with two results of one study and title, the later one without rows; for tests that only read."""
    found = open_store(tmp_path_factory.mktemp("studies") / "store")
    for key, rows in zip(KEYS, ([matched("BigCodeBench/0", 0.5)], []), strict=True):
        publish_study(found, "contamination", key, rows, title="a corpus", models=["model-a"], settings={"n": 5})
    return found


@pytest.fixture
def store(shared_store, tmp_path):
    """A copy of the store."""
    shutil.copytree(shared_store.root, tmp_path / "store")
    return open_store(tmp_path / "store")


def test_every_study_has_a_table_a_title_and_pages_without_rows():
    """The registry and the schemas name the same studies, and each makes tables of a result without rows."""
    assert sorted(installed_studies()) == sorted(schemas.study_schemas())
    for study in installed_studies().values():
        assert study.title
        assert study.description.endswith(".")
        assert all(table.columns for table in study.tables(study.schema.empty_table()))


def test_results_are_found_with_their_titles(shared_store):
    """Each result is listed with what it was published as."""
    found = recorded_studies(shared_store)
    assert {record.ref.key for record in found} == set(KEYS)
    assert {(record.ref.stage, record.title, record.models) for record in found} == {
        ("contamination", "a corpus", ("model-a",))
    }


def test_the_catalog_shows_rows_and_what_they_are_about(store):
    """A row a result in `studies`, also of one without rows; damaged files and manifests are named and hide no other."""
    damaged = shutil.copytree(store.folder("contamination", KEYS[0]), store.folder("contamination", "c" * 64))
    (damaged / "manifest.json").write_text("{")
    no_table = shutil.copytree(store.folder("contamination", KEYS[0]), store.folder("contamination", "d" * 64))
    (no_table / "part-0.parquet").write_bytes(b"PAR1 is not enough")
    path = rebuild_catalog(store.location)
    joined = "SELECT title, models, settings->>'n', task_id FROM studies JOIN contamination USING (artifact)"
    with duckdb.connect(path, read_only=True) as connection:
        assert connection.execute(joined).fetchall() == [("a corpus", ["model-a"], "5", "BigCodeBench/0")]
        listed = connection.execute("SELECT study, artifact, written_at IS NOT NULL FROM studies ORDER BY 2").fetchall()
    assert listed == [("contamination", key, True) for key in KEYS]
    views, left_out = describe_catalog(path)
    assert {(one.record, one.artifact, one.key) for one in left_out} == {
        (None, "contamination", name * 64) for name in "cd"
    }
    [view] = [view for view in views if view.name == "contamination"]
    assert view.grain.startswith("Grain: one row an artifact and task")
    assert all(column.meaning for column in view.columns)


def test_the_explorer_lists_results_and_shows_one(store):
    """The list leads to each result's page; a key that nothing has is told to be none."""
    with exploring(store, build=False) as explored:
        listed = explored.get("/studies")
        assert f"/studies/contamination/{KEYS[0]}" in listed
        assert "a corpus" in listed
        assert "BigCodeBench/0" in explored.get(f"/studies/contamination/{KEYS[0]}")
        explored.get(f"/studies/contamination/{KEYS[1]}")
        assert "/studies" in explored.get("/studies/contamination/none", 404)


def test_a_report_has_the_latest_result_about_its_models(shared_store):
    """Of results of one study and title the latest counts; of other models none."""
    names = {section.name for section in sections_about(shared_store, {"model-a"}, [])}
    assert names
    assert len({name.split("-")[1] for name in names}) == 1
    assert sections_about(shared_store, {"model-b"}, []) == []


@pytest.mark.slow
def test_a_report_has_rounds_of_its_own_runs_only(tmp_path):
    """Two runs of a model may have the same title, such as at two temperatures; each has its own rounds."""
    found = open_store(tmp_path / "store")
    runs = [ArtifactRef(stage="execution", key=key, rows=0, sha256="0") for key in "ab"]
    for key, run in zip(KEYS, runs, strict=True):
        further = ArtifactRef(stage="execution", key="c", rows=0, sha256="0")
        more = {"title": "m, 2 rounds", "models": ["m"], "settings": {}, "inputs": [run, further]}
        publish_study(found, "rounds", key, [], **more)

    def results(*executions):
        return {section.name.split("-")[1] for section in sections_about(found, {"m"}, executions)}

    assert [results("a"), results("b"), results("a", "b"), results("c")] == [
        {KEYS[0][:12]},
        {KEYS[1][:12]},
        {key[:12] for key in KEYS},
        set(),
    ]


@pytest.mark.slow
def test_rounds_that_a_longer_study_of_the_run_holds_are_not_shown_again(tmp_path):
    """Of a run that was extended the latest counts, of each feedback; its former page stays."""
    found = open_store(tmp_path / "store")
    run = ArtifactRef(stage="execution", key="a", rows=0, sha256="0")
    published = {}
    for minute, (rounds, feedback) in enumerate([(3, "tests"), (2, "traceback"), (3, "traceback"), (2, "traceback")]):
        settings = {"generation.rounds": rounds, "generation.feedback": feedback}
        name = f"{minute} of {rounds}, {feedback}"
        ref = publish_study(
            found, "rounds", f"{minute}" * 64, [], title=name, models=["m"], settings=settings, inputs=[run]
        )
        path = found.path(ref).with_name("manifest.json")
        path.write_text(json.dumps(json.loads(path.read_text()) | {"written_at": f"2026-11-26T10:0{minute}:00+00:00"}))
        published[name] = ref.key
    shown = ["3 of 2, traceback", "2 of 3, traceback", "0 of 3, tests"]
    assert [record.title for record in current_studies(found)] == shown
    sections = {section.name.split("-")[1] for section in sections_about(found, {"m"}, ["a"])}
    assert sections == {published[name][:12] for name in shown}
    with exploring(found, build=False) as explored:
        assert published["1 of 2, traceback"] not in explored.get("/studies")
        explored.get(f"/studies/rounds/{published['1 of 2, traceback']}")
