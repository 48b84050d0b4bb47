"""Further rounds in a flow: tasks of their own, and what the UI and the report show of them."""

from pathlib import Path

import pytest

from tests.flows.observed import RunFlow
from tests.generation.providers.double import model_server
from tests.pipeline.repairing import MendingModel, config

pytestmark = pytest.mark.flow


@pytest.mark.slow
def test_a_flow_asks_again_and_shows_what_that_repaired(run_flow: RunFlow, tmp_path: Path) -> None:
    """Two tasks, of which one is mended in the second round; the score stays that of the first."""
    model = MendingModel()
    with model_server(model) as server:
        run = run_flow(config(tmp_path, server, 2, **{"dataset.ids": "0,2"}))
    assert run.state.is_completed(), run.state.message
    assert model.asked == {1: 2, 2: 1}
    run.assert_states("Completed", repair=["Completed"], sanitizing=["Completed"] * 2, execution=["Completed"] * 2)
    shown = run.shown()
    [study] = [data for key, data in shown.items() if key.startswith("rounds")]
    assert "Scores by round" in study
    assert "100.0 %" in study
    assert "50.0 %" in shown["result"]
    assert "Samples that a further round repaired" in (tmp_path / "out" / "report.html").read_text()
