"""Execution of items on Dask: their order, workers and repetitions, and the reuse of known verdicts."""

#: Bump when the verdicts table of unchanged inputs changes.
VERSION = 4
