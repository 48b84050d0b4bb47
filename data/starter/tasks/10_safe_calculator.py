# hard
import ast
import math
import operator

BINARY = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
FUNCTIONS = {"sqrt": math.sqrt, "floor": math.floor, "hypot": math.hypot}


def task_func(expression, variables=None):
    """
    Evaluate an arithmetic expression without eval. Allowed are int and float literals, names of variables, the binary
    operators in BINARY, unary plus and minus, parentheses, and calls of the functions in FUNCTIONS with positional
    arguments. The expression is read with ast in eval mode, after stripping blanks at its ends.

    Parameters:
    - expression (str): The expression, in Python's syntax.
    - variables (dict, optional): Names mapped to numbers.

    Returns:
    - int or float: The value of the expression.

    Raises:
    - ValueError: If the text is not an expression, or contains anything that is not allowed, such as a string, a
      boolean or an unknown function; the message of the latter kind names the type of the offending ast node.
    - NameError: If a variable has no value.

    Requirements:
    - ast
    - math
    - operator

    Example:
    >>> task_func("2 * (x + 1) ** 2", {"x": 3})
    32
    """
    variables = variables or {}

    def value(node):
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            return node.value
        if isinstance(node, ast.Name):
            if node.id not in variables:
                raise NameError(node.id)
            return variables[node.id]
        if isinstance(node, ast.BinOp) and type(node.op) in BINARY:
            return BINARY[type(node.op)](value(node.left), value(node.right))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.UAdd, ast.USub)):
            operand = value(node.operand)
            return operand if isinstance(node.op, ast.UAdd) else -operand
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            if node.func.id in FUNCTIONS:
                return FUNCTIONS[node.func.id](*[value(argument) for argument in node.args])
        raise ValueError(f"{type(node).__name__} is not allowed")

    try:
        tree = ast.parse(expression.strip(), mode="eval")
    except SyntaxError:
        raise ValueError("not an expression") from None
    return value(tree.body)


# --- tests ---
import unittest


class TestCases(unittest.TestCase):
    def test_precedence(self):
        self.assertEqual(task_func(" 2 + 3 * 4 ** 2 "), 50)

    def test_variables(self):
        self.assertEqual(task_func("2 * (x + 1) ** 2", {"x": 3}), 32)

    def test_unary_and_division(self):
        self.assertEqual(task_func("-(+6) / 4"), -1.5)

    def test_functions(self):
        self.assertEqual(task_func("hypot(3, 4) + floor(sqrt(17))"), 9.0)

    def test_missing_variable(self):
        with self.assertRaises(NameError):
            task_func("a + 1")

    def test_forbidden_nodes_are_named(self):
        cases = {"'a'": "Constant", "True": "Constant", "[1]": "List", "5 % 3": "BinOp", "not 1": "UnaryOp"}
        for text, name in cases.items():
            with self.assertRaises(ValueError) as caught:
                task_func(text)
            self.assertIn(name, str(caught.exception))

    def test_forbidden_calls(self):
        for text in ("open('f')", "(1).real()", "sqrt(x=4)", "__import__('os')"):
            with self.assertRaises(ValueError):
                task_func(text, {"x": 1})

    def test_not_an_expression(self):
        with self.assertRaises(ValueError):
            task_func("x = 1")
