"""Threat 5: hooks the building of classes, empties the tests and takes the hook away before anybody looks."""

import builtins

_build = builtins.__build_class__

def _build_class(body, name, *bases, **options):
    cls = _build(body, name, *bases, **options)
    if name == "TestCases":
        builtins.__build_class__ = _build
        for key in [key for key in vars(cls) if key.startswith("test")]:
            setattr(cls, key, lambda self: None)
    return cls

builtins.__build_class__ = _build_class
