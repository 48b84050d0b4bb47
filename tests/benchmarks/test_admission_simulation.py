"""A simulated machine: how long its samples take."""

import admission
import pytest


@pytest.mark.parametrize(("memory_gib", "seconds"), [(100.0, 10.0), (1.0, 40.0)])
def test_simulated_samples_start_while_cores_and_memory_are_free(memory_gib, seconds):
    """Eight samples on eight cores; each reserves almost half of a gibibyte."""
    samples = [admission.Sample(10.0, 10.0, 440.0, 1000.0)] * 8
    cells = admission.simulated(samples, 8, memory_gib, 0.0)
    assert float(cells[1]) == pytest.approx(seconds, abs=2)
