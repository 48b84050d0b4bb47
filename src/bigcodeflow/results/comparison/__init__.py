"""Models against one another on the same tasks: differences with intervals, tests, ratings; see docs/statistics.md."""

from bigcodeflow.results.comparison.bradley_terry import Rating, Ratings
from bigcodeflow.results.comparison.common_tasks import By
from bigcodeflow.results.comparison.comparison import Comparison, compare
from bigcodeflow.results.comparison.pairs import Method, Pair
from bigcodeflow.results.comparison.run_metrics import Grid, GridRun
from bigcodeflow.results.comparison.run_selection import ComparedRun, RunRef, load_runs, open_runs

__all__ = [
    "By",
    "ComparedRun",
    "Comparison",
    "Grid",
    "GridRun",
    "Method",
    "Pair",
    "Rating",
    "Ratings",
    "RunRef",
    "compare",
    "load_runs",
    "open_runs",
]
