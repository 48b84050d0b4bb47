import re
import string


def task_func(template, values, strict=True):
    """
    Fill the ${name} placeholders of a template. A placeholder may carry a default after a colon, as in ${name:none},
    which is used when the name has no value; a default ends at the first closing brace and may be empty. Two dollar
    signs stand for one. Names consist of ASCII letters, digits and underscores and do not start with a digit.

    Parameters:
    - template (str): The text with placeholders.
    - values (dict): Names mapped to values, which are written with str().
    - strict (bool): Whether a placeholder without value and default is an error; otherwise it is left as it stands.
      Default is True.

    Returns:
    - str: The filled text. Values are not expanded again.

    Raises:
    - KeyError: If strict and a placeholder has neither a value nor a default; the key is its name.

    Requirements:
    - re
    - string

    Example:
    >>> task_func("Dear ${name}, you owe $$${sum:0}.", {"name": "Ada"})
    'Dear Ada, you owe $0.'
    """
    start = string.ascii_letters + "_"
    pattern = rf"\$\$|\$\{{([{start}][{start}{string.digits}]*)(?::([^}}]*))?\}}"

    def fill(match):
        if match.group() == "$$":
            return "$"
        name, default = match.groups()
        if name in values:
            return str(values[name])
        if default is not None:
            return default
        if strict:
            raise KeyError(name)
        return match.group()

    return re.sub(pattern, fill, template)


# --- tests ---
import unittest


class TestCases(unittest.TestCase):
    def test_value_default_and_dollar(self):
        self.assertEqual(task_func("Dear ${name}, you owe $$${sum:0}.", {"name": "Ada"}), "Dear Ada, you owe $0.")

    def test_value_beats_default(self):
        self.assertEqual(task_func("${a:x}${a}", {"a": 7}), "77")

    def test_empty_default(self):
        self.assertEqual(task_func("[${gone:}]", {}), "[]")

    def test_strict_names_the_key(self):
        with self.assertRaises(KeyError) as caught:
            task_func("${missing}", {})
        self.assertEqual(caught.exception.args, ("missing",))

    def test_lenient_leaves_it(self):
        self.assertEqual(task_func("${missing} ${a}", {"a": 1}, strict=False), "${missing} 1")

    def test_values_are_not_expanded(self):
        self.assertEqual(task_func("${a}", {"a": "${b} $$", "b": 1}), "${b} $$")

    def test_other_dollars_stay(self):
        self.assertEqual(task_func("$5 ${1x} $name", {}), "$5 ${1x} $name")
