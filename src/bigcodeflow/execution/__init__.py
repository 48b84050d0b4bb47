"""Isolated execution: what is run, in which order, in which sandbox, and what the outcome means."""

#: Bump when the verdicts table of unchanged inputs changes.
VERSION = 3
