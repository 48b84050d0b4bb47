"""Threat 10: gives its namespace builtins of its own, whose class builder empties the tests.
fools: harness-only"""

import builtins

def _build_class(body, name, *bases, **options):
    cls = builtins.__build_class__(body, name, *bases, **options)
    if name == "TestCases":
        for key in [key for key in vars(cls) if key.startswith("test")]:
            setattr(cls, key, lambda self: None)
    return cls

globals()["__builtins__"] = {**vars(builtins), "__build_class__": _build_class}
