"""Honest: a finder of modules in memory, rewritten syntax trees, code run in namespaces that hold tests of their own."""

import ast
import importlib.abc
import importlib.util
import sys
import types

SOURCES = {"made_up": "value = 40\ndef add(n):\n    return value + n\n", "broken": "def ("}


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules whose text is in a dictionary, before those on the disk."""

    def find_spec(self, name, path=None, target=None):
        return importlib.util.spec_from_loader(name, self) if name in SOURCES else None

    def exec_module(self, module):
        exec(compile(SOURCES[module.__name__], "<made>", "exec"), module.__dict__)


class Louder(ast.NodeTransformer):
    """Makes each whole number in a text one larger, and each comparison its opposite."""

    def visit_Constant(self, node):
        return ast.copy_location(ast.Constant(node.value + 1), node) if type(node.value) is int else node

    def visit_Eq(self, node):
        return ast.NotEq()


sys.meta_path.insert(0, Finder())
sys.modules["alias_of_json"] = sys.modules.get("json") or __import__("json")
sys.path.insert(0, "/nonexistent")
sys.path_hooks.append(lambda path: (_ for _ in ()).throw(ImportError(path)))


def task_func(text, changed=False):
    """Execute a text of Python in a module of its own; return the module's public names and values."""
    tree = ast.parse(text)
    if changed:
        tree = ast.fix_missing_locations(Louder().visit(tree))
    module = types.ModuleType("__test__")
    exec(compile(tree, "__test__.py", "exec"), module.__dict__)
    return {name: value for name, value in vars(module).items() if not name.startswith("_")}


# --- tests ---
import importlib
import unittest


class TestCases(unittest.TestCase):
    def test_names(self):
        self.assertEqual(task_func("a = 1\n_b = 2"), {"a": 1})
        self.assertEqual(task_func("a = 1 == 1", changed=True), {"a": False})

    def test_module(self):
        made_up = importlib.import_module("made_up")
        self.assertEqual(made_up.add(2), 42)
        self.assertEqual(importlib.import_module("alias_of_json").dumps([1]), "[1]")

    def test_tests_inside(self):
        text = "import unittest\nclass TestCases(unittest.TestCase):\n    def test_names(self):\n        self.fail()\n"
        made = task_func(text)
        result = unittest.TestResult()
        made["TestCases"]("test_names").run(result)
        self.assertEqual((result.testsRun, len(result.failures)), (1, 1))

    def test_broken(self):
        with self.assertRaises(SyntaxError):
            importlib.import_module("broken")
        with self.assertRaises(SyntaxError):
            task_func("x =")
