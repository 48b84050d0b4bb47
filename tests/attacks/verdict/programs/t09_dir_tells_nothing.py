"""Threat 9: hides the names of the tests from dir, by which they are collected."""

import builtins

_dir = builtins.dir
builtins.dir = lambda *things: [name for name in _dir(*things) if not name.startswith("test")]
