"""Part of programs, behind the name of their METHOD: it executes the text of a solution. Python 3.10."""

# Names of these modules need no import in a solution.
MODULES = (
    "string re datetime collections heapq bisect copy math random statistics itertools functools operator io sys json "
    "builtins typing"
)


def load_program(text):
    """Compile a solution; of a method, create its object."""
    global PROGRAM, PRELUDE, SOLUTION
    PROGRAM = compile(text, "<program>", "exec")
    lines = [f"import {name}\nfrom {name} import *" for name in MODULES.split()]
    PRELUDE = compile("\n".join([*lines, "sys.setrecursionlimit(50_000)"]), "<prelude>", "exec")
    if METHOD:
        SOLUTION = executed("solution")["Solution"]()


def executed(name):
    """Execute the program as a module of this name; return its names."""
    names = {"__name__": name}
    exec(PRELUDE, names)
    exec(PROGRAM, names)
    return names


def call_method(*given):
    """Call the method of the class Solution."""
    return getattr(SOLUTION, METHOD)(*given)


def run_script(given):
    """Execute the program with this standard input; return its standard output."""
    import contextlib
    import io
    import os
    import sys
    import tempfile

    printed, before, kept = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True), sys.stdin, os.dup(0)
    with tempfile.TemporaryFile() as file, contextlib.redirect_stdout(printed):
        file.write(given.encode())
        file.seek(0)
        os.dup2(file.fileno(), 0)
        sys.stdin = open(0, closefd=False)
        try:
            executed("__main__")
        except SystemExit:
            pass
        finally:
            os.dup2(kept, 0)
            os.close(kept)
            sys.stdin = before
    return printed.buffer.getvalue().decode("utf-8", "replace")
