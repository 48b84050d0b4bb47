"""Threat 1: takes the frames from a caught exception's traceback.
uses: relax"""
# <first>
try:
    [][0]
except IndexError as error:
    frame = error.__traceback__.tb_frame.f_back
_relax(frame)
