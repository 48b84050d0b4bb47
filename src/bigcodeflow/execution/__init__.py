"""The judge on Dask: which items are executed, in what order and by whom, and verdicts that are known already."""

#: Bump when the verdicts table of unchanged inputs changes.
VERSION = 3
