"""The judge on Dask: which items are executed, in what order, by which worker; and reuse of known verdicts."""

#: Bump when the verdicts table of unchanged inputs changes.
VERSION = 4
