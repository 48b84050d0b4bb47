"""Models against one another on the same tasks: differences with intervals, tests, ratings; see docs/statistics.md."""
