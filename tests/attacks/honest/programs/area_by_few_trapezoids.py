"""Honest: five trapezoids for each power of x, so that the error is half a percent, within what the task allows.
task: curve_area"""

def task_func(coefficients, low, high):
    if high < low:
        raise ValueError("high is smaller than low")
    parts = 5 * max(len(coefficients) - 1, 1)
    step = (high - low) / parts
    heights = [sum(c * (low + step * n) ** power for power, c in enumerate(coefficients)) for n in range(parts + 1)]
    return step * (sum(heights) - (heights[0] + heights[-1]) / 2)
