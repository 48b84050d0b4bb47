"""Plug-in: import results of other harnesses (``bigcodeflow import``), and explain why two results differ."""
