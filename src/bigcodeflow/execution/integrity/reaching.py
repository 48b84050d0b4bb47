"""Which nodes of a function every correct program has it run."""

import ast
from collections.abc import Callable, Iterable, Iterator

from bigcodeflow.execution.integrity.syntax import Definition, expects_failure

_Depends = Callable[[ast.AST], bool]


def reached_parts(function: Definition, depends: _Depends) -> Iterator[ast.AST]:
    """Every node that all correct programs have the function run, none where an assertion is expected to fail.

    What an ``if``, a loop or a handler may skip, depending on the program, is left out: a program that passes because
    an assertion is skipped passes the altered one as well.

    Args:
        function: what is run.
        depends: tells whether a node's value depends on the program.
    """
    yield from _reached_list(function.body, depends)


def _reached_list(statements: Iterable[ast.AST], depends: _Depends) -> Iterator[ast.AST]:
    for statement in statements:
        yield from _reached(statement, depends)
        if _may_leave(statement, depends):
            return


def _reached(node: ast.AST, depends: _Depends) -> Iterator[ast.AST]:
    yield node
    if isinstance(node, ast.With | ast.AsyncWith) and any(expects_failure(item) for item in node.items):
        for item in node.items:
            yield from _reached(item, depends)
        return
    skipped = _skippable(node, depends)
    for name, value in ast.iter_fields(node):
        if name not in skipped:
            parts = value if isinstance(value, list) else [value]
            yield from _reached_list((part for part in parts if isinstance(part, ast.AST)), depends)


def _skippable(node: ast.AST, depends: _Depends) -> tuple[str, ...]:
    """Fields of a node that a correct program may have skipped, or not run to their end."""
    skipped: tuple[str, ...] = ()
    match node:
        case ast.If(test=decisive) | ast.While(test=decisive) | ast.IfExp(test=decisive) | ast.Match(subject=decisive):
            skipped = ("body", "orelse", "cases") if depends(decisive) else ()
        case ast.For(iter=decisive) | ast.AsyncFor(iter=decisive):
            skipped = ("body", "orelse") if depends(decisive) else ()
        case ast.ListComp(generators=made) | ast.GeneratorExp(generators=made) | ast.SetComp(generators=made):
            skipped = ("elt",) if any(depends(one.iter) or one.ifs for one in made) else ()
        case ast.Try(handlers=[_, *_]):
            skipped = ("body", "handlers", "orelse")
        case ast.Lambda() | ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            skipped = ("body",)
        case ast.With(items=items) if any("suppress" in ast.dump(one.context_expr) for one in items):
            skipped = ("body",)
    return skipped


def _may_leave(node: ast.AST, depends: _Depends) -> bool:
    """Whether a statement may end the list that it stands in, depending on the program."""
    match node:
        case ast.If() | ast.Try() | ast.For() | ast.While() | ast.With():
            leaving = (ast.Return, ast.Break, ast.Continue)
            return bool(_skippable(node, depends)) and any(isinstance(part, leaving) for part in ast.walk(node))
    return False
