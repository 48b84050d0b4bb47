"""Marks of answers that leave work to others: to the prompt, or to the reader."""

import ast
import re
from collections.abc import Sequence

from bigcodeflow.core.untrusted_text import fails_alone
from bigcodeflow.sanitizing.statements import Statement, statements_of

_YOUR_CODE = re.compile(
    r"(?:your|rest of the|actual) (?:code|implementation|logic)|to ?do\b|implement (?:this|here|me)", re.IGNORECASE
)


@fails_alone(lambda *_: False)
def omitted_setup(solution: str, code_prompt: str, entry_point: str) -> bool:
    """Whether a solution uses imports or constants of its prompt that it does not state itself.

    Such a solution works only calibrated. A solution that is no program omits nothing.
    """
    statements = statements_of(solution)
    prompt = statements_of(code_prompt + "\n    pass\n") or statements_of(code_prompt)
    if statements is None or prompt is None:
        return False
    given = {name for item in prompt for name in item.binds} - {entry_point}
    stated = {name for item in statements for name in item.binds}
    if any(item.is_import and "*" in item.mentions for item in statements):
        return False
    return bool({name for item in statements for name in item.needs} & given - stated)


@fails_alone(lambda *_: False)
def placeholder(solution: str, entry_point: str) -> bool:
    """Whether the entry point is defined but its body does no work.

    False where the entry point is missing or the solution is no program: other columns say so.
    """
    statements = statements_of(solution)
    return statements is not None and is_placeholder(statements, entry_point)


def is_placeholder(statements: Sequence[Statement], entry_point: str) -> bool:
    """Whether the statement that finally binds the entry point is a function without work in it."""
    binding = [item for item in statements if entry_point in item.binds]
    if not binding:
        return False
    node = binding[-1].node
    comments = (line.partition("#")[2] for line in binding[-1].text.split("\n"))
    promised = any(_YOUR_CODE.search(comment) for comment in comments if comment)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return all(_does_nothing(statement, promised=promised) for statement in node.body)
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
        return isinstance(node.value.body, ast.Constant) and node.value.body.value in {None, ...}
    return False


def _does_nothing(node: ast.stmt, *, promised: bool) -> bool:
    if isinstance(node, ast.Pass):
        return True
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    if isinstance(node, ast.Raise):
        raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"
    if isinstance(node, ast.Return):
        return node.value is None or (isinstance(node.value, ast.Constant) and (promised or node.value.value is None))
    return False
