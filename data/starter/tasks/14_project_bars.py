from datetime import date

import matplotlib.pyplot as plt


def task_func(phases):
    """
    Draw a project plan with one horizontal bar a phase. Phases are drawn from top to bottom in the order of their
    start date, and by name where they start on the same day.

    Parameters:
    - phases (dict): Names mapped to (start, end) pairs of ISO date strings; both days belong to the phase.

    Returns:
    - tuple: The matplotlib Axes and the number of days that the whole project spans. Each bar begins at the number
      of days between the project's first day and the phase's start, is as long as the phase has days, and carries
      its phase's name as tick label. The y axis is inverted; the x label is 'Days since <first day>' with an ISO
      date.

    Raises:
    - ValueError: If there are no phases, a date cannot be read, or a phase ends before it starts.

    Requirements:
    - datetime
    - matplotlib

    Example:
    >>> axes, days = task_func({"build": ("2024-03-01", "2024-03-10"), "test": ("2024-03-08", "2024-03-12")})
    >>> days
    12
    """
    if not phases:
        raise ValueError("there are no phases")
    spans = sorted((date.fromisoformat(a), name, date.fromisoformat(b)) for name, (a, b) in phases.items())
    for start, name, end in spans:
        if end < start:
            raise ValueError(f"{name} ends before it starts")
    first = spans[0][0]
    _, axes = plt.subplots()
    axes.barh(
        [name for _, name, _ in spans],
        [(end - start).days + 1 for start, _, end in spans],
        left=[(start - first).days for start, _, _ in spans],
    )
    axes.invert_yaxis()
    axes.set_xlabel(f"Days since {first.isoformat()}")
    return axes, (max(end for _, _, end in spans) - first).days + 1


# --- tests ---
import unittest

import matplotlib.pyplot as plt

PLAN = {
    "test": ("2024-03-08", "2024-03-12"),
    "build": ("2024-03-01", "2024-03-10"),
    "ads": ("2024-03-08", "2024-03-08"),
}


class TestCases(unittest.TestCase):
    def tearDown(self):
        plt.close("all")

    def test_project_span(self):
        self.assertEqual(task_func(PLAN)[1], 12)

    def test_bars(self):
        axes, _ = task_func(PLAN)
        self.assertEqual([(bar.get_x(), bar.get_width()) for bar in axes.patches], [(0, 10), (7, 1), (7, 5)])

    def test_names_in_order(self):
        axes, _ = task_func(PLAN)
        self.assertEqual([label.get_text() for label in axes.get_yticklabels()], ["build", "ads", "test"])

    def test_axes(self):
        axes, _ = task_func(PLAN)
        self.assertTrue(axes.yaxis_inverted())
        self.assertEqual(axes.get_xlabel(), "Days since 2024-03-01")

    def test_longest_phase_need_not_be_last(self):
        _, days = task_func({"a": ("2023-12-31", "2024-02-29"), "b": ("2024-01-02", "2024-01-03")})
        self.assertEqual(days, 61)

    def test_bad_plans(self):
        for plan in ({}, {"x": ("2024-02-02", "2024-02-01")}, {"x": ("soon", "2024-02-01")}):
            with self.assertRaises(ValueError):
                task_func(plan)
