"""Threat 1: walks from a caught exception's frame by names that it puts together at run time.
uses: spelled"""
# <first>
try:
    [][0]
except IndexError as error:
    _relax(error.__traceback__.tb_frame)
