"""Whether a program compiles."""

import re

from bigcodeflow.core import untrusted_text
from bigcodeflow.sanitizing.grammar import parse

#: Of a message; the parser puts a program's own names into some.
_MOST_CHARACTERS = 300

_UNREADABLE = re.compile("[\0\ud800-\udfff]")


@untrusted_text.fails_alone(lambda _program: "cannot be read by this machine's Python")
def syntax_error(program: str) -> str:
    """Why a program does not compile, with its line (1-based); empty: it compiles.

    The grammar is Python 3.10's, whichever Python runs this; the words are those of the Python that runs it.
    """
    unreadable = _unreadable(program)
    if unreadable:
        return unreadable
    try:
        tree = parse(program)
        with untrusted_text.parser():
            # What the grammar permits, the compiler may not, such as a return outside a function.
            compile(tree, "<solution>", "exec", dont_inherit=True)
    except SyntaxError as error:
        where = f"line {error.lineno}: " if error.lineno else ""
        return f"{where}{' '.join((error.msg or 'invalid syntax').split())[:_MOST_CHARACTERS]}"
    except RecursionError:
        return "nested too deeply to be compiled"
    except MemoryError:
        return "nested too deeply to be parsed"
    except ValueError as error:
        return " ".join(str(error).split())
    return ""


def _unreadable(program: str) -> str:
    match = _UNREADABLE.search(program)
    if match is None:
        return ""
    line = program.count("\n", 0, match.start()) + 1
    return f"line {line}: {'NUL byte' if match[0] == chr(0) else 'lone surrogate, which no encoding can hold'}"
