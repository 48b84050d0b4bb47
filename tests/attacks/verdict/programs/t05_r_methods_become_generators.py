"""Threat 5: while the test class is built its methods are wrapped into generator functions, whose bodies never run.
task: shelf_labels"""

import builtins

_build = builtins.__build_class__

def _wrapped(method):
    def run(self):
        yield method(self)

    run.__name__, run.__qualname__ = method.__name__, method.__qualname__
    return run

def _build_class(body, name, *bases, **options):
    made = _build(body, name, *bases, **options)
    if name == "TestCases":
        for attribute, value in list(vars(made).items()):
            if attribute.startswith("test_"):
                setattr(made, attribute, _wrapped(value))
        builtins.__build_class__ = _build
    return made

builtins.__build_class__ = _build_class
