"""Whether a program compiles."""

import warnings

from bigcodeflow.sanitizing.grammar import parse


def syntax_error(program: str) -> str:
    """Why a program does not compile, with its line (1-based); empty: it compiles.

    The grammar is Python 3.10's, whichever Python runs this; the words are those of the Python that runs it.
    """
    try:
        tree = parse(program)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # What the grammar permits, the compiler may not, such as a return outside a function.
            compile(tree, "<solution>", "exec", dont_inherit=True)
    except SyntaxError as error:
        where = f"line {error.lineno}: " if error.lineno else ""
        return f"{where}{' '.join((error.msg or 'invalid syntax').split())}"
    except RecursionError:
        return "nested too deeply to be compiled"
    except MemoryError:
        return "nested too deeply to be parsed"
    except ValueError as error:
        return _unreadable(program, error)
    return ""


def _unreadable(program: str, error: ValueError) -> str:
    for number, line in enumerate(program.split("\n"), start=1):
        if "\0" in line:
            return f"line {number}: NUL byte"
        if any("\ud800" <= char <= "\udfff" for char in line):
            return f"line {number}: lone surrogate, which no encoding can hold"
    return " ".join(str(error).split())
