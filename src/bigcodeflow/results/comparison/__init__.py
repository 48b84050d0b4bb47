"""Comparison of models on the same tasks: differences with intervals, tests and ratings; see docs/statistics.md."""
