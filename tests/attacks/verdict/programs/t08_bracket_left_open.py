"""Threat 8: ends inside a bracket that the tests would have to close.
fools: harness-only"""
# <end>
CHECKS = [
