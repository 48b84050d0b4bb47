# <module>
def task_func(start, room, steps):
    """Temperatures of a cup: in each step it comes nearer to the room's by a tenth of the difference.

    Parameters: start, room (numbers), steps (int).
    Returns: list of float, each rounded to 2 places, with the start first; empty for no step.
    """
    temperatures = [float(start)]
    for _ in range(steps):
        temperatures.append(temperatures[-1] + (room - temperatures[-1]) / 10)
    temperatures = [round(one, 2) for one in temperatures][: steps + 1 if steps else 0]
    # <last>
    return temperatures

# --- tests ---
import time
import unittest

class TestCases(unittest.TestCase):
    def test_a_one_step(self):
        self.assertEqual(task_func(90, 20, 1), [90.0, 83.0])

    def test_b_no_step(self):
        self.assertEqual(task_func(90, 20, 0), [])

    def test_b_warmer_room(self):
        self.assertEqual(task_func(10, 20, 1), [10.0, 11.0])

    def test_b_start(self):
        self.assertEqual(task_func(40, 20, 1)[0], 40.0)

    def test_c_in_time(self):
        began = time.monotonic()
        time.sleep(0.3)
        self.assertLess(len(task_func(60, 20, 40)) + time.monotonic() - began, 45)

    def test_d_many_steps(self):
        self.assertEqual(task_func(60, 20, 3), [60.0, 56.0, 52.4, 49.16])

# --- wrong ---
# <module>
def task_func(start, room, steps):
    """Temperatures of a cup: it cools by the same in each step."""
    step = (room - start) / 10
    # <first>
    temperatures = [round(start + number * step, 2) for number in range(steps + 1)] if steps else []
    # <last>
    return temperatures
