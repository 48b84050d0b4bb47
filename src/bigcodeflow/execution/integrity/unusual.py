"""Which programs do what solutions of a task seldom do: they are checked more often, and never judged by it."""

import ast
import builtins
from collections.abc import Iterator

from bigcodeflow.core import untrusted_text

_MODULES = """
    _ctypes _thread ast atexit bdb builtins code codeop copyreg ctypes dis faulthandler gc importlib inspect marshal
    mmap multiprocessing numba opcode pdb pickle pty runpy signal socket symtable sysconfig threading trace traceback
    types unittest weakref
"""
_NAMES = """
    __builtins__ __class__ __code__ __dict__ __globals__ __import__ __subclasses__ _exit _getframe addaudithook
    currentframe delattr eval exec f_back f_globals f_locals fork forkpty getrusage globals locals modules monotonic
    setattr setprofile settrace system times urandom vars
"""
_UNUSUAL_MODULES, _UNUSUAL_NAMES = frozenset(_MODULES.split()), frozenset(_NAMES.split())
#: Programs longer than that, in characters, are not read.
_MOST_CHARACTERS = 100_000


@untrusted_text.fails_alone(lambda _program: True)
def is_unusual(program: str) -> bool:
    """Whether a program defines classes, replaces attributes or builtins, or reaches for the interpreter.

    None of this is forbidden. A program that forges its verdict does some of it, and most solutions do nothing of it.
    """
    if len(program) > _MOST_CHARACTERS:
        return True
    try:
        module = untrusted_text.parse(program)
    except untrusted_text.REFUSALS:
        return True
    return any(_signs(module))


def _signs(module: ast.Module) -> Iterator[bool]:
    for node in ast.walk(module):
        match node:
            case ast.ClassDef() | ast.Global() | ast.Nonlocal():
                yield True
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield hasattr(builtins, name) or name.startswith("__") or bool(node.decorator_list)
            case ast.Import(names=names):
                yield any(alias.name.partition(".")[0] in _UNUSUAL_MODULES for alias in names)
            case ast.ImportFrom(module=source):
                yield (source or "").partition(".")[0] in _UNUSUAL_MODULES
            case ast.Attribute(attr=name, ctx=context):
                yield name in _UNUSUAL_NAMES or not isinstance(context, ast.Load)
            case ast.Name(id=name, ctx=context):
                yield name in _UNUSUAL_NAMES or (not isinstance(context, ast.Load) and hasattr(builtins, name))
