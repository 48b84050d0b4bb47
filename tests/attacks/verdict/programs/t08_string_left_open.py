"""Threat 8: ends inside a string that the first quotes of the tests would close.
fools: harness-only"""
# <end>
NOTES = """
