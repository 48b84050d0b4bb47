"""Isolated execution: the items, their order, their sandboxes, and the meaning of their outcomes."""

#: Bump when the verdicts table of unchanged inputs changes.
VERSION = 3
