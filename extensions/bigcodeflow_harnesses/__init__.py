"""Plug-in: results of other harnesses for ``bigcodeflow import``, and the referee: why do two results differ?"""
