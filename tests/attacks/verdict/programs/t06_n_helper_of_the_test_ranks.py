"""Threat 6: calls the helper with which the test computes its expectation, by its name.
task: spread_summary"""
# <last>
ranks = ranked(numbers)
