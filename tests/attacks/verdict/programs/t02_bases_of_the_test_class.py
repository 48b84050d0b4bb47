"""Threat 2: slips a lax base under the test class while the test runs.
uses: lenient"""
# <first>
globals()["TestCases"].__bases__ = (_Lenient,)
