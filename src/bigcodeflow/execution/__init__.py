"""Isolated execution: what is run, in which order, in which sandbox, and what the outcome means."""
