"""Honest: exec, eval, modules from text and from a written file, a finder, rewritten syntax trees, tests inside."""

import ast
import importlib.abc
import importlib.util
import sys
import types
import unittest

SOURCES = {"made_up": "value = 40\ndef add(n):\n    return value + n\n", "broken": "def ("}
TESTS = "import unittest\nclass TestCases(unittest.TestCase):\n    def test_names(self):\n        self.fail()\n"

class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        return importlib.util.spec_from_loader(name, self) if name in SOURCES else None

    def exec_module(self, module):
        exec(compile(SOURCES[module.__name__], "<made>", "exec"), module.__dict__)

class Louder(ast.NodeTransformer):
    def visit_Constant(self, node):
        return ast.copy_location(ast.Constant(node.value + 1), node) if type(node.value) is int else node

    def visit_Eq(self, node):
        return ast.NotEq()

def made(tree, name="__test__"):
    module = types.ModuleType(name)
    exec(compile(tree, f"{name}.py", "exec"), module.__dict__)
    return module

sys.meta_path.insert(0, Finder())
sys.modules["alias_of_json"] = sys.modules.get("json") or __import__("json")
sys.path.insert(0, "/nonexistent")
sys.path_hooks.append(lambda path: (_ for _ in ()).throw(ImportError(path)))
with open("written.py", "w") as file:
    file.write(SOURCES["made_up"])
# <first>
spec = importlib.util.spec_from_file_location("written", "written.py")
written = importlib.util.module_from_spec(spec)
spec.loader.exec_module(written)
names = {}
exec(compile("value = 4", "<given>", "exec"), names)
assert eval("value + 1", names) == 5 and written.value == 40
assert importlib.import_module("made_up").add(2) == 42
assert importlib.import_module("alias_of_json").dumps([1]) == "[1]"
louder = made(ast.fix_missing_locations(Louder().visit(ast.parse("a = 1 == 1"))))
result = unittest.TestResult()
made(ast.parse(TESTS)).TestCases("test_names").run(result)
assert (louder.a, result.testsRun, len(result.failures)) == (False, 1, 1)
try:
    importlib.import_module("broken")
except SyntaxError as error:
    assert "<made>" in str(error)
