"""Small test texts, and what their methods make of a program that stands in a test of this project."""

from textwrap import dedent, indent

HEAD = "import unittest\n\nclass TestCases(unittest.TestCase):\n"


def suite(body: str, name: str = "test_it") -> str:
    """A test text with one method, or with whole methods where the body holds their definitions."""
    body = dedent(body).strip()
    methods = body if body.startswith(("def ", "@", "async def ")) else f"def {name}(self):\n{indent(body, '    ')}"
    return f"{HEAD}{indent(methods, '    ')}\n"


def outcome(text: str, program: str) -> dict[str, str]:
    """What each method of a text written in this file makes of a program written in this file."""
    names: dict[str, object] = {}
    exec(program + "\n" + text, names)
    found = {}
    case = names["TestCases"]
    for name in sorted(one for one in dir(case) if one.startswith("test")):
        try:
            getattr(case(name), name)()
            found[name] = "pass"
        except AssertionError:
            found[name] = "fail"
        except Exception:  # noqa: BLE001 -- an assertion that expects an exception lets another one out
            found[name] = "error"
    return found
