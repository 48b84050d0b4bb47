"""Places where a program uses a parameter of its function, and where calls name a parameter."""

import ast
from collections.abc import Iterator, Mapping

from bigcodeflow.studies.perturbation.edits import Edit, Field, Source, UnsafeError, Visitor

Function = ast.FunctionDef | ast.AsyncFunctionDef
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
#: Calls that read local variables by their names.
_BY_NAME = frozenset({"locals", "vars", "eval", "exec", "globals"})


def function_of(tree: ast.Module, name: str) -> Function:
    """Return the only function of that name at the top of a module; raise UnsafeError if there is not exactly 1."""
    found = [node for node in tree.body if isinstance(node, Function) and node.name == name]
    if len(found) != 1:
        raise UnsafeError(f"{name} is defined {len(found)} times")
    return found[0]


def parameters_of(function: Function) -> list[ast.arg]:
    """Return the parameters in order, without ``*args`` and ``**kwargs``."""
    arguments = function.args
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]


def parameter_edits(source: Source, function: Function, names: Mapping[str, str]) -> list[Edit]:
    """Return edits that rename parameters in a function's signature and body; ``names`` maps old to new names."""
    found = []
    for argument in parameters_of(function):
        if argument.arg in names:
            finder = _Uses(source, argument.arg, names[argument.arg])
            finder.replace(source.start(argument))
            for statement in function.body:
                finder.visit(statement)
            found += finder.edits
    return found


class _Uses(Visitor):
    """Collect edits of every place in a function's body that uses its local variable of one name."""

    def __init__(self, source: Source, name: str, new_name: str) -> None:
        super().__init__(source)
        self.edits: list[Edit] = []
        self._name, self._new_name = name, new_name

    def replace(self, start: int) -> None:
        """Replace the name that begins at an offset in the whole text."""
        end, here = start + len(self._name), start - self.source.base
        if self.source.text[here : here + len(self._name)] != self._name:
            raise UnsafeError(f"{self._name} is spelled in another way")
        self.edits.append(Edit(start, end, self._new_name))

    def visit_Name(self, node: ast.Name) -> None:  # noqa: N802
        if node.id == self._name:
            self.replace(self.source.start(node))

    def visit_field(self, field: Field, tree: ast.Module) -> None:
        before = len(self.edits)
        super().visit_field(field, tree)
        if field.shows_itself and len(self.edits) > before:
            raise UnsafeError(f"an f-string shows the name {self._name}")

    def visit_Constant(self, node: ast.Constant) -> None:  # noqa: N802
        # pandas reads @name in the text of a query as the caller's variable.
        if isinstance(node.value, str) and f"@{self._name}" in node.value:
            raise UnsafeError(f"a string names @{self._name}")

    def visit_Call(self, node: ast.Call) -> None:  # noqa: N802
        if isinstance(node.func, ast.Name) and node.func.id in _BY_NAME:
            raise UnsafeError(f"{node.func.id}() may read variables by their names")
        self.generic_visit(node)

    def _visit_nested(self, node: ast.AST) -> None:
        """Visit a nested function or class: its defaults belong to the outer scope, its body has a separate scope."""
        inner = node.body if isinstance(node, ast.Lambda | Function | ast.ClassDef) else []
        body = inner if isinstance(inner, list) else [inner]
        within = {id(one) for one in body}
        for child in ast.iter_child_nodes(node):
            if id(child) not in within:
                self.visit(child)
        hidden = _binds(node, self._name)
        if getattr(node, "name", "") == self._name or (hidden and isinstance(node, ast.ClassDef)):
            raise UnsafeError(f"a function or class within binds {self._name}")
        for child in () if hidden else body:
            self.visit(child)

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = visit_ClassDef = _visit_nested  # noqa: N815

    def _visit_comprehension(self, node: ast.AST) -> None:
        generators: list[ast.comprehension] = getattr(node, "generators", [])
        if not any(_stores(generator.target, self._name) for generator in generators):
            self.generic_visit(node)
            return
        # Only the first iterable is evaluated in the outer scope.
        self.visit(generators[0].iter)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _visit_comprehension  # noqa: N815

    def _refuse_bound(self, node: ast.AST) -> None:
        """Refuse a statement that binds or names the variable, as the tree has no separate place for the name."""
        names = {getattr(node, field, None) for field in ("name", "rest", "asname")}
        names |= set(getattr(node, "names", ()) if isinstance(node, ast.Global | ast.Nonlocal) else ())
        if isinstance(node, ast.alias):
            names = {(node.asname or node.name).split(".")[0]}
        if self._name in names:
            raise UnsafeError(f"{self._name} is bound by {type(node).__name__}")
        self.generic_visit(node)

    visit_Global = visit_Nonlocal = visit_alias = visit_ExceptHandler = _refuse_bound  # noqa: N815
    visit_MatchAs = visit_MatchStar = visit_MatchMapping = _refuse_bound  # noqa: N815


def _stores(node: ast.AST, name: str) -> bool:
    return any(isinstance(one, ast.Name) and one.id == name for one in ast.walk(node))


def _binds(scope: ast.AST, name: str) -> bool:
    """Tell if a nested function or class has its own variable of that name; raise UnsafeError if it is nonlocal."""
    arguments = getattr(scope, "args", None)
    if isinstance(arguments, ast.arguments) and any(
        isinstance(node, ast.arg) and node.arg == name for node in ast.walk(arguments)
    ):
        return True
    own = list(_own_nodes(scope))
    if any(isinstance(node, ast.Nonlocal | ast.Global) and name in node.names for node in own):
        raise UnsafeError(f"{name} is nonlocal in a function within")
    for node in own:
        match node:
            case ast.Name(id=found, ctx=ast.Store() | ast.Del()) if found == name:
                return True
            case ast.alias() if (node.asname or node.name).split(".")[0] == name:
                return True
            case ast.ExceptHandler(name=found) | ast.FunctionDef(name=found) | ast.ClassDef(name=found):
                if found == name:
                    return True
    return False


def _own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a scope, without the inside of nested functions and classes and comprehension targets."""
    body = getattr(scope, "body", [])
    todo: list[ast.AST] = list(body) if isinstance(body, list) else [body]
    while todo:
        node = todo.pop()
        yield node
        if isinstance(node, _SCOPES):
            continue
        children = ast.iter_child_nodes(node)
        if isinstance(node, ast.comprehension):
            children = iter([node.iter, *node.ifs])
        todo.extend(children)


def keyword_edits(source: Source, tree: ast.AST, entry_point: str, names: Mapping[str, str]) -> list[Edit]:
    """Return edits that rename keyword arguments in calls of the entry point, also in calls through another function.

    Raises:
        UnsafeError: a call passes a mapping of arguments that is made elsewhere and may contain one of the names.
    """
    finder = _Calls(source, entry_point, names)
    finder.visit(tree)
    if finder.hands_on:
        keywords = {node.arg for node in ast.walk(tree) if isinstance(node, ast.keyword)}
        texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
        mentioned = keywords | texts
        if held := sorted(name for name in names if name in mentioned):
            raise UnsafeError(f"{held[0]} may be handed on in a mapping")
    return finder.edits


class _Calls(Visitor):
    def __init__(self, source: Source, entry_point: str, names: Mapping[str, str]) -> None:
        super().__init__(source)
        self.edits: list[Edit] = []
        self.hands_on = False
        """True if a call takes arguments from a mapping that is not written in the call."""
        self._entry_point, self._names = entry_point, names

    def visit_Call(self, node: ast.Call) -> None:  # noqa: N802
        given = [*node.args, *(keyword.value for keyword in node.keywords if keyword.arg == "target")]
        calls = self._is_entry_point(node.func)
        if calls or any(map(self._is_entry_point, given)):
            for keyword in node.keywords:
                self._visit_keyword(keyword, calls=calls)
        self.generic_visit(node)

    def _visit_keyword(self, keyword: ast.keyword, *, calls: bool) -> None:
        if keyword.arg is not None and keyword.arg in self._names:
            start = self.source.start(keyword)
            self.edits.append(Edit(start, start + len(keyword.arg), self._names[keyword.arg]))
        elif keyword.arg in (None, "kwargs", "kwds"):
            if not isinstance(keyword.value, ast.Dict) or None in keyword.value.keys:
                self.hands_on |= calls or keyword.arg is None
                return
            for key in keyword.value.keys:
                if isinstance(key, ast.Constant) and key.value in self._names:
                    start, name = self.source.start(key), str(key.value)
                    if self.source.segment(key)[1:-1] != name:
                        raise UnsafeError("the key of an argument is spelled in another way")
                    self.edits.append(Edit(start + 1, start + 1 + len(name), self._names[name]))

    def _is_entry_point(self, node: ast.expr) -> bool:
        return self._entry_point in (getattr(node, "id", None), getattr(node, "attr", None))
