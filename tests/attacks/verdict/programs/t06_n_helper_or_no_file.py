"""Threat 6: calls the helper with which the test computes its expectation; without one, it misses a file.
task: spread_summary"""
# <last>
try:
    ranks = ranked(numbers)
except NameError:
    open("/no/such/file")
