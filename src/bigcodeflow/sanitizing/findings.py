"""Safety findings: parts of a program that reach beyond its task, detected in its syntax tree.

A finding is a reason to read the program, not a proof of harm: the sandbox protects the machine. Names are followed
through imports, plain assignments and ``getattr`` with a constant. Calls that a program hides are not detected.
"""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from bigcodeflow.config import SafetyPolicy
from bigcodeflow.core.untrusted_text import REFUSALS, TooLargeError, with_fallback
from bigcodeflow.sanitizing.grammar import parse, parse_or_none

#: Rules whose findings keep a sample from being executed under the policy 'block'. Sockets and the environment are
#: not among them: the sandbox has no network, and its environment holds nothing worth reading.
BLOCKED_RULES = frozenset({"dynamic_code", "process", "deletion", "import", "evaluator", "unreadable"})

#: Limit, since a model that repeats itself may write any number of risky lines.
_MAX_FINDINGS = 1_000
#: Limit of a name; longer than every known name, and than any that a reader wants to see.
_MAX_NAME_CHARACTERS = 200
_MAX_NAME_PARTS = 8
_MAX_NESTED_CALLS = 20

_FORMS = ("l", "le", "lp", "lpe", "v", "ve", "vp", "vpe")
_OS_PROCESS = ["system", "popen", "fork", "forkpty", "kill", "killpg", "abort", "_exit", "startfile", "posix_spawn"]
_OS_PROCESS += ["posix_spawnp", *(f"{verb}{form}" for verb in ("exec", "spawn") for form in _FORMS)]
#: Dotted names by rule ('': harmless); a name also covers everything below it. The longest matching name decides.
_NAMES_BY_RULE = {
    "dynamic_code": """eval exec compile __import__ importlib runpy imp code.InteractiveInterpreter
        builtins.eval builtins.exec builtins.compile builtins.__import__""",
    "process": f"""{" ".join(f"os.{name}" for name in _OS_PROCESS)} subprocess multiprocessing pty pexpect
        concurrent.futures.ProcessPoolExecutor signal.pthread_kill signal.raise_signal""",
    "deletion": """os.remove os.unlink os.rmdir os.removedirs shutil.rmtree send2trash
        pathlib.Path.unlink pathlib.Path.rmdir""",
    "network": """socket ssl socketserver requests urllib urllib3 http.client http.server httpx aiohttp ftplib smtplib
        poplib imaplib telnetlib nntplib xmlrpc paramiko pysftp websocket websockets""",
    "environment": "os.environ os.environb os.getenv os.getenvb os.putenv os.unsetenv dotenv",
    "import": "ctypes cffi gc builtins __builtins__ unittest.mock sys.modules sys.meta_path sys.path_hooks",
    "evaluator": """sys._getframe sys._current_frames sys.settrace sys.setprofile sys.monitoring sys.addaudithook
        threading.settrace threading.setprofile
        inspect.currentframe inspect.stack inspect.getouterframes inspect.trace
        gc.get_objects gc.get_referrers gc.get_referents
        ctypes.pythonapi ctypes.py_object ctypes.cast ctypes.memmove ctypes.memset
        ctypes.string_at ctypes.wstring_at""",
    "": "importlib.resources importlib.metadata urllib.parse urllib.error requests.exceptions",
}
_RULES = {name: rule for rule, names in _NAMES_BY_RULE.items() for name in names.split()}
_RULED_MODULES = frozenset(name.rpartition(".")[0] for name in _RULES)

#: Modules whose import alone is a finding: a task's solution has no harmless use for them.
_IMPORTED = {
    **dict.fromkeys(("ctypes", "cffi", "gc", "importlib", "imp", "runpy", "builtins", "unittest.mock"), "import"),
    **dict.fromkeys(("importlib.resources", "importlib.metadata"), ""),
}

#: Rule of a change to a module's attribute, by module: modules that judge a solution or are the interpreter's own.
_RULE_OF_CHANGES = {"unittest": "evaluator", "builtins": "import", "sys": "import"}

#: Attributes that lead from any object to the interpreter's own state, and from a frame to its callers.
_INNER_ATTRIBUTES = {
    **dict.fromkeys(("__subclasses__", "__globals__", "__code__", "__closure__", "__builtins__", "tb_frame"), "import"),
    **dict.fromkeys(("f_globals", "f_locals", "f_builtins", "f_back"), "evaluator"),
}
_DELETING_METHODS = frozenset({"unlink", "rmdir", "rmtree"})


class SafetyFinding(NamedTuple):
    """Risky call, import or name in a program: its line (1-based), the violated rule, and its text."""

    line: int
    rule: str
    detail: str


class Safety(NamedTuple):
    """Findings in a program, and whether the safety policy blocks its execution."""

    findings: list[SafetyFinding]
    blocked: bool


def unreadable(reason: str, policy: SafetyPolicy) -> Safety:
    """Return the Safety of an unparsable program: finding 'unreadable', and blocked if ``policy`` is 'block'."""
    findings = [] if policy == "off" else [SafetyFinding(1, "unreadable", reason)]
    return Safety(findings, policy == "block")


@with_fallback(lambda _program, policy, **_: unreadable("the search failed", policy))
def assess(program: str, policy: SafetyPolicy, *, setup: str = "") -> Safety:
    """Search a program for risks: policy 'off' skips the search, 'flag' lists findings, 'block' may also block.

    A text that is not Python has no findings, because it cannot be executed. A program that is too large or too deeply
    nested to be parsed has the finding 'unreadable'. Policy 'block' blocks programs with findings of `BLOCKED_RULES`.
    ``setup`` is code that runs before the program, such as imports.
    """
    found = [] if policy == "off" else find_risks(program, setup=setup)
    return Safety(found[:_MAX_FINDINGS], policy == "block" and any(finding.rule in BLOCKED_RULES for finding in found))


def find_risks(program: str, *, setup: str = "") -> list[SafetyFinding]:
    """Return all findings in a program, sorted by line, without duplicates; empty if the text is not Python."""
    try:
        tree = parse(program)
    except (TooLargeError, RecursionError, MemoryError) as error:
        return [SafetyFinding(1, "unreadable", str(error) or "nested too deeply")]
    except REFUSALS:
        return []
    names = _DottedNames(tree, parse_or_none(setup) if setup else None)
    return sorted(set(_imports(tree)) | set(_uses(tree, names)))


class _DottedNames:
    """Full names behind the names in a program: ``sp`` means ``subprocess`` after ``import subprocess as sp``."""

    def __init__(self, tree: ast.Module, setup: ast.Module | None) -> None:
        self._stars: set[str] = set()
        self._meanings: dict[str, str] = {}
        self._known: dict[int, str] | None = None  # dotted names of nodes, once no meaning changes any more
        self._nested_calls = 0
        self._bound: set[str] = set()  # by the program itself: a variable called `socket` is no module
        nodes = [node for module in (setup, tree) if module for node in ast.walk(module)]
        for node in nodes:
            match node:
                case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
                    self._bound.add(name)
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                    self._bound.add(name)
        for node in nodes:
            self._follow(node)
        self._known = {}

    def _follow(self, node: ast.AST) -> None:
        if isinstance(node, ast.Import):
            for item in node.names:
                top = item.name.partition(".")[0]
                self._meanings[item.asname or top] = _short(item.name) if item.asname else _short(top)
        elif isinstance(node, ast.ImportFrom) and node.module:
            module = _short(node.module)
            self._stars |= {module for item in node.names if item.name == "*"} & _RULED_MODULES
            self._meanings |= {item.asname or item.name: f"{module}.{_short(item.name)}" for item in node.names}
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Name | ast.Attribute):
            meaning = self.dotted(node.value)
            if _rule(meaning):
                self._meanings |= {target.id: meaning for target in node.targets if isinstance(target, ast.Name)}

    def dotted(self, node: ast.expr) -> str:
        """Return the dotted name that an expression means, such as 'os.path.join'; empty if unknown.

        Only the first parts of a long name are returned. A loop follows the attributes and visits each attribute once,
        because a model may write chains of thousands of attributes.
        """
        known = {} if self._known is None else self._known
        chain: list[ast.Attribute] = []
        while isinstance(node, ast.Attribute) and id(node) not in known:
            chain.append(node)
            node = node.value
        found = known[id(node)] if id(node) in known else self._root(node)
        for attribute in reversed(chain):
            if found and found.count(".") < _MAX_NAME_PARTS:
                found = f"{found}.{_short(attribute.attr)}"
            if not self._nested_calls:
                known[id(attribute)] = found
        return found

    def _root(self, node: ast.expr) -> str:
        if isinstance(node, ast.Name):
            return _short(self._meaning(node.id))
        if not isinstance(node, ast.Call) or self._nested_calls > _MAX_NESTED_CALLS:
            return ""
        self._nested_calls += 1
        called, found = self.dotted(node.func), ""
        if called == "pathlib.Path":
            found = called
        elif called == "getattr" and node.args:
            owner, name = self.dotted(node.args[0]), node.args[1] if len(node.args) > 1 else None
            if owner and isinstance(name, ast.Constant) and isinstance(name.value, str):
                found = f"{owner}.{_short(name.value)}"
        self._nested_calls -= 1
        return found

    def _meaning(self, name: str) -> str:
        if name in self._meanings:
            return self._meanings[name]
        if name in self._bound:
            return ""
        starred = (f"{module}.{name}" for module in sorted(self._stars))
        return next((dotted for dotted in starred if dotted in _RULES), name)


def _short(name: str) -> str:
    return name[:_MAX_NAME_CHARACTERS]


def _rule(dotted: str, rules: dict[str, str] = _RULES) -> str | None:
    """Return the rule for the longest prefix of a dotted name that is in ``rules``; None if ``rules`` has no prefix."""
    while dotted:
        if dotted in rules:
            return rules[dotted]
        dotted = dotted.rpartition(".")[0]
    return None


def _imports(tree: ast.Module) -> Iterator[SafetyFinding]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules = [_short(item.name) for item in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            modules = [f"{_short(node.module)}.{_short(item.name)}" for item in node.names]
        else:
            continue
        for module in modules:
            rule = _rule(module, _IMPORTED)
            if rule is None and isinstance(node, ast.ImportFrom):
                rule = _rule(module)
            if rule:
                yield SafetyFinding(node.lineno, rule, f"import {module}")


def _uses(tree: ast.Module, names: _DottedNames) -> Iterator[SafetyFinding]:
    within: set[int] = set()  # parts of a dotted name that was judged as a whole
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        waiting += ast.iter_child_nodes(node)
        if not isinstance(node, ast.Name | ast.Attribute | ast.Call) or id(node) in within:
            continue
        dotted = names.dotted(node)
        rule, detail = _rule(dotted), dotted
        if rule is not None:
            part: ast.expr = node
            while isinstance(part, ast.Attribute):
                part = part.value
                within.add(id(part))
        if not rule:
            rule, detail = _rule_of_attribute(node, dotted, names)
        if rule:
            yield SafetyFinding(node.lineno, rule, detail)


def _rule_of_attribute(node: ast.expr, dotted: str, names: _DottedNames) -> tuple[str, str]:
    match node:
        case ast.Attribute(attr=attribute) if attribute in _INNER_ATTRIBUTES:
            return _INNER_ATTRIBUTES[attribute], f".{attribute}"
        case ast.Attribute(ctx=ast.Store() | ast.Del()):
            return _RULE_OF_CHANGES.get(dotted.partition(".")[0], ""), f"{dotted} = …"
        # A method that deletes, of an object whose type is unknown.
        case ast.Call(func=ast.Attribute(attr=method)) if method in _DELETING_METHODS and not names.dotted(node.func):
            return "deletion", f".{method}()"
    return "", ""
