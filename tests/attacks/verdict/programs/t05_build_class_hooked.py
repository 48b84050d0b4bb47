"""Threat 5: hooks the building of classes and empties the bodies of test methods."""

import builtins

_build = builtins.__build_class__

def _build_class(body, name, *bases, **options):
    cls = _build(body, name, *bases, **options)
    if name == "TestCases":
        for key in [key for key in vars(cls) if key.startswith("test")]:
            setattr(cls, key, lambda self: None)
    return cls

builtins.__build_class__ = _build_class
