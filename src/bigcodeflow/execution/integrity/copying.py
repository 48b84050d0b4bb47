"""A test text in which the function under test cannot change what the test goes on to use."""

import ast

from bigcodeflow.core import untrusted_text


def _unchanged(test: str, _entry_point: str) -> str:
    return test


@untrusted_text.fails_alone(_unchanged)
def copying_text(test: str, entry_point: str) -> str:
    """The test text with a deep copy of every argument in the calls of the function, as nothing is shared then."""
    try:
        module = untrusted_text.parse(test)
    except untrusted_text.REFUSALS:
        return test
    return ast.unparse(ast.fix_missing_locations(_Copying(entry_point).visit(module)))


class _Copying(ast.NodeTransformer):
    def __init__(self, entry_point: str) -> None:
        self._entry_point = entry_point

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == self._entry_point:
            node.args = [self._copied(one) for one in node.args]
            node.keywords = [ast.keyword(one.arg, self._copied(one.value)) for one in node.keywords]
        return node

    @staticmethod
    def _copied(node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Starred | ast.Constant):
            return node
        copy = ast.parse("__import__('copy').deepcopy", mode="eval").body
        return ast.Call(copy, [node], [])
