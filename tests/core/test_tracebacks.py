"""The exception that a recorded traceback ends with."""

import traceback

import pytest

from bigcodeflow.core.tracebacks import raised


def trace_of(error):
    """A traceback as Python writes it."""
    try:
        raise error
    except type(error) as caught:
        return "".join(traceback.format_exception(caught))


@pytest.mark.parametrize(
    ("error", "base"),
    [
        (AssertionError("1 != 2\n\nDetails: 3"), "AssertionError"),
        (KeyError("a"), "LookupError"),
        (UnboundLocalError("x"), "NameError"),
        (IndentationError("x"), "SyntaxError"),
        (ModuleNotFoundError("No module named 'a.b'"), "ImportError"),
    ],
)
def test_class_and_bases(error, base):
    """A real traceback gives the class with its bases, whatever lines the message has."""
    found = raised(trace_of(error))
    assert found.exception.split()[0] == type(error).__name__
    assert base in found.exception.split()
    assert found.missing_module == ("a.b" if base == "ImportError" else "")


def test_the_last_of_a_chain():
    """Of chained exceptions the last was raised; a traceback that a message quotes was not."""
    quoted = trace_of(KeyError("quoted"))

    def first():
        raise ValueError("first")

    def second():
        try:
            first()
        except ValueError as error:
            raise TypeError("second\n" + quoted) from error

    with pytest.raises(TypeError) as caught:
        second()
    text = "".join(traceback.format_exception(caught.value))
    assert raised(text).exception.startswith("TypeError ")


@pytest.mark.parametrize(
    ("text", "base"),
    [
        ("name 'np' is not defined", "NameError"),
        ("invalid syntax (__test__.py, line 3)", "SyntaxError"),
        ("cannot import name 'x' from 'y'", "ImportError"),
        ("module 'numpy' has no attribute 'float'", "AttributeError"),
        ('Traceback (most recent call last):\n  File "a"\nnumpy.core._exceptions._UFuncNoLoopError: x', "TypeError"),
        ('Traceback (most recent call last):\n  File "a"\nmine.Error: x', "Exception"),
    ],
)  # fmt: skip
def test_messages_and_foreign_classes(text, base):
    """Bare messages of a module that failed, and classes of libraries, as far as they tell."""
    assert base in raised(text).exception.split()


@pytest.mark.parametrize("text", ["", "something else", "crash (crash): signal 11\n"])
def test_a_text_that_tells_nothing(text):
    """No class is guessed."""
    assert raised(text) == ("", "")
