import pytest

from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.report import select_runs


def test_runs_come_in_the_order_of_their_names_and_once(recorded):
    """A run that two names mean is in the report once, where it was named first."""
    first, second = (recorded.record_one(model=model, run=model) for model in ("a", "b"))
    found = select_runs(recorded.root, ["b", "a", second, "latest"])
    assert [run.recorded.record for run in found] == [second, first]


def test_a_pattern_takes_the_latest_run_of_every_name_that_fits(recorded):
    """A sweep's settings are found together; an older run of the same setting is left out."""
    recorded.record_one(run="sweep+t0.2")
    latest = recorded.record_one(run="sweep+t0.2")
    other = recorded.record_one(run="sweep+t0.8")
    recorded.record_one(run="another")
    assert {run.recorded.record for run in select_runs(recorded.root, ["sweep+*"])} == {latest, other}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("runs", "labels"),
    [
        ([{"model": "o--a--main"}, {"model": "b"}], ["o/a · full · complete", "b · full · complete"]),
        ([{}, {"split": "instruct", "run": "i"}], ["some-model · full · complete", "some-model · full · instruct"]),
        (
            [{"run": "x", "sampling": {"temperature": t}} for t in (0.2, 0.8)],
            [f"some-model · full · complete · temperature {t}" for t in (0.2, 0.8)],
        ),
        ([{"run": "x"}, {"run": "y"}], [f"some-model · full · complete · {hour}:00" for hour in (13, 14)]),
    ],
)
def test_a_label_is_the_title_and_what_tells_runs_apart(recorded, runs, labels):
    """Model, subset and split; where runs share them, sampling, or else when they ran, stands behind."""
    names = [recorded.record_one(**run) for run in runs]
    assert [run.label for run in select_runs(recorded.root, names)] == labels


@pytest.mark.parametrize("name", ["nothing", "no*"])
def test_a_name_without_a_run_is_one_clear_line(recorded, name):
    """The message names what was looked for and where."""
    recorded.record_one()
    with pytest.raises(ArtifactError, match=rf"no recorded run.* '{name.replace('*', '[*]')}'"):
        select_runs(recorded.root, [name])
