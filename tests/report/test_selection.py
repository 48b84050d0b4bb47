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


@pytest.mark.parametrize("name", ["nothing", "no*"])
def test_a_name_without_a_run_is_one_clear_line(recorded, name):
    """The message names what was looked for and where."""
    recorded.record_one()
    with pytest.raises(ArtifactError, match=rf"no recorded run.* '{name.replace('*', '[*]')}'"):
        select_runs(recorded.root, [name])
