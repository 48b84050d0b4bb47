import matplotlib.pyplot as plt
import numpy as np


def task_func(samples, span):
    """
    Plot a series together with its centred moving average. The average at a position covers `span` samples around it
    and exists only where the whole span lies inside the series.

    Parameters:
    - samples (list of float): The series.
    - span (int): Number of samples averaged; odd.

    Returns:
    - tuple: The matplotlib Axes with two lines, labelled 'samples' and 'mean of <span>', drawn over the positions of
      the samples and shown in a legend, and the averages as a numpy array.

    Raises:
    - ValueError: If span is even, not positive, or greater than the number of samples.

    Requirements:
    - matplotlib
    - numpy

    Example:
    >>> axes, means = task_func([1, 2, 6, 4], 3)
    >>> means.tolist()
    [3.0, 4.0]
    """
    if span < 1 or span % 2 == 0 or span > len(samples):
        raise ValueError("span must be odd, positive and at most the number of samples")
    means = np.convolve(np.asarray(samples, dtype=float), np.full(span, 1 / span), mode="valid")
    reach = span // 2
    _, axes = plt.subplots()
    axes.plot(np.arange(len(samples)), samples, label="samples")
    axes.plot(np.arange(reach, len(samples) - reach), means, label=f"mean of {span}")
    axes.legend()
    return axes, means


# --- tests ---
import unittest

import matplotlib.pyplot as plt
import numpy as np


class TestCases(unittest.TestCase):
    def tearDown(self):
        plt.close("all")

    def test_values(self):
        _, means = task_func([1, 2, 6, 4], 3)
        np.testing.assert_allclose(means, [3.0, 4.0])

    def test_span_of_one_repeats_the_series(self):
        _, means = task_func([5.0, 7.0, 9.0], 1)
        np.testing.assert_allclose(means, [5.0, 7.0, 9.0])

    def test_average_is_centred(self):
        axes, _ = task_func(list(range(7)), 5)
        np.testing.assert_allclose(axes.get_lines()[1].get_xdata(), [2, 3, 4])
        np.testing.assert_allclose(axes.get_lines()[1].get_ydata(), [2, 3, 4])

    def test_samples_are_drawn_untouched(self):
        axes, _ = task_func([3, 1, 2], 3)
        np.testing.assert_allclose(axes.get_lines()[0].get_ydata(), [3, 1, 2])

    def test_legend(self):
        axes, _ = task_func([3, 1, 2], 3)
        self.assertEqual([text.get_text() for text in axes.get_legend().get_texts()], ["samples", "mean of 3"])

    def test_bad_spans(self):
        for span in (0, -1, 2, 5):
            with self.assertRaises(ValueError):
                task_func([1, 2, 3, 4], span)
