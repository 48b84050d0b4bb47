import math
import statistics


def task_func(readings, window=3, threshold=2.0):
    """
    Find the positions of spikes in a series of sensor readings. A reading is a spike when its distance from the
    median of the last `window` valid readings before it exceeds `threshold` times the mean absolute distance of
    those readings from their median. A mean distance of zero counts as 1.0. NaN readings are invalid: they are
    never spikes and never enter a window. Spikes themselves do enter later windows.

    Parameters:
    - readings (list of float): The series, oldest first.
    - window (int): Number of valid readings that are looked back at. Default is 3.
    - threshold (float): Factor above which a reading is a spike. Default is 2.0.

    Returns:
    - list of int: 0-based positions of the spikes, ascending.

    Raises:
    - ValueError: If window is smaller than 1.

    Requirements:
    - math
    - statistics

    Example:
    >>> task_func([1.0, 1.0, 1.0, 9.0, 1.0])
    [3]
    """
    if window < 1:
        raise ValueError("window must be at least 1")
    recent = []
    spikes = []
    for position, value in enumerate(readings):
        if math.isnan(value):
            continue
        if len(recent) == window:
            center = statistics.median(recent)
            spread = statistics.fmean(abs(past - center) for past in recent) or 1.0
            if abs(value - center) > threshold * spread:
                spikes.append(position)
        recent = (recent + [value])[-window:]
    return spikes


# --- tests ---
import unittest


class TestCases(unittest.TestCase):
    def test_single_spike(self):
        self.assertEqual(task_func([1.0, 1.0, 1.0, 9.0, 1.0]), [3])

    def test_flat_series_has_none(self):
        self.assertEqual(task_func([4.0] * 10), [])

    def test_nan_is_skipped_but_keeps_its_position(self):
        self.assertEqual(task_func([1.0, float("nan"), 1.0, 1.0, 8.0]), [4])

    def test_spread_scales_the_limit(self):
        self.assertEqual(task_func([0.0, 10.0, 20.0, 22.0], window=3, threshold=2.0), [])
        self.assertEqual(task_func([0.0, 10.0, 20.0, 22.0], window=3, threshold=1.5), [3])

    def test_window_must_fill_first(self):
        self.assertEqual(task_func([1.0, 100.0], window=3), [])

    def test_exact_limit_is_no_spike(self):
        self.assertEqual(task_func([1.0, 3.0], window=1, threshold=2.0), [])

    def test_bad_window(self):
        with self.assertRaises(ValueError):
            task_func([1.0], window=0)
