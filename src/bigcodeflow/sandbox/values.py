"""Plain data as JSON and back: what a program returns or raises reaches the test's process without the program's code.

An object of a class that the program defines arrives as the plain value that it contains.
"""

from __future__ import annotations

import builtins
import sys
from importlib import import_module

TYPE_CHECKING = False  # typing itself would cost the import of a module that the program then finds loaded
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

globals()["__builtins__"] = dict(vars(builtins))  # functions made below look names up here, whatever a program replaces


def _content(cls: Any) -> Callable[[Any], list[Any]]:
    """What equality and length read of a container, whatever its class iterates; that where they read nothing."""
    return lambda value: list((dict.items if cls is dict else cls.__iter__)(value)) or list(value)


def _array_of(numpy: Any, kind: str, shape: list[int], content: Any) -> Any:
    if kind != "O":
        return numpy.frombuffer(content, dtype=kind).reshape(shape).copy()
    array = numpy.empty(len(content), dtype=object)
    array[:] = content
    return array.reshape(shape)


def _column(value: Any) -> list[Any]:
    array = value.to_numpy()
    return [array if str(array.dtype) == str(value.dtype) else value.astype(object).to_numpy(), str(value.dtype)]


def _frame_of(pandas: Any, columns: Any, index: Any, content: list[Any]) -> Any:
    series = [pandas.Series(values, index=index, dtype=dtype) for values, dtype in content]
    frame = pandas.DataFrame(dict(enumerate(series)), index=index)
    frame.columns = columns
    return frame


#: By name of the type: what it consists of, and how it is made of its module and that; None: the type is called.
_KINDS: dict[str, tuple[Callable[[Any], list[Any]], Callable[..., Any] | None]] = {
    "numpy.ndarray": (
        lambda v: [v.dtype.str, list(v.shape), v.ravel().tolist() if v.dtype.hasobject else v.tobytes()],
        lambda m, kind, *rest: _array_of(m, "O" if "O" in kind else kind, *rest),
    ),
    "numpy.generic": (lambda v: [sys.modules["numpy"].asarray(v)], lambda _, array: array[()]),
    "pandas.Index": (lambda v: [*_column(v), v.name], lambda m, v, dtype, name: m.Index(v, dtype=dtype, name=name)),
    "pandas.Series": (lambda v: [*_column(v), v.index, v.name], lambda m, v, d, i, n: m.Series(v, i, d, n)),
    "pandas.DataFrame": (
        lambda v: [v.columns, v.index, [_column(v.iloc[:, number]) for number in range(v.shape[1])]],
        _frame_of,
    ),
    "builtins.int": (lambda v: [int.__int__(v)], None),
    "builtins.float": (lambda v: [float.__float__(v)], None),
    "builtins.str": (lambda v: [str.__str__(v)], None),
    "builtins.complex": (lambda v: [v.real, v.imag], None),
    "builtins.bytes": (lambda v: [v.decode("latin-1"), "latin-1"], None),
    "builtins.bytearray": (lambda v: [v.decode("latin-1"), "latin-1"], None),
    "builtins.list": (_content(list), lambda _, *parts: list(parts)),
    "builtins.tuple": (_content(tuple), lambda _, *parts: parts),
    "builtins.set": (_content(set), lambda _, *parts: set(parts)),
    "builtins.frozenset": (_content(frozenset), lambda _, *parts: frozenset(parts)),
    "collections.deque": (lambda v: [list(v), v.maxlen], None),
    "collections.OrderedDict": (lambda v: [list(v.items())], None),
    "builtins.dict": (_content(dict), lambda _, *parts: dict(parts)),
}
#: Kinds whose subclasses pass as that kind if they are compared in their own way, or define nothing beyond that kind.
_EXTENDED = frozenset(name for name in _KINDS if name.startswith(("builtins.", "collections.")))
_COMPARED = "__eq__ __ne__ __lt__ __le__ __gt__ __ge__ __hash__ __iter__ __init__ __new__"
_MADE = "__module__ __doc__ __dict__ __weakref__ __static_attributes__ __firstlineno__"
_LEFT_BEHIND = frozenset(f"{_COMPARED} {_MADE}".split())
#: Types of which ``__reduce_ex__`` gives what they are called with.
_REDUCED = {f"datetime.{name}" for name in ("date", "datetime", "time", "timedelta", "timezone")}
_REDUCED |= {"collections.Counter", "decimal.Decimal", "fractions.Fraction", "pathlib.PosixPath"}
_KINDS |= dict.fromkeys(_REDUCED, (lambda v: list(v.__reduce_ex__(4)[1]), None))


def encoded(value: Any) -> Any:
    """The value as JSON has it: itself, or an object of its kind and its parts.

    Raises:
        TypeError: it is no plain data.
    """
    cls = type(value)
    if value is None or cls in (bool, int, float, str):
        return value
    depth, kind = next(((depth, kind) for depth, kind in enumerate(map(_kind_of, cls.__mro__)) if kind), (0, ""))
    own = {name for base in cls.__mro__[: depth * (kind in _EXTENDED)] for name in vars(base)}
    if not kind or (own - _LEFT_BEHIND and ("__eq__" not in own or own & {"__len__", "__getitem__"})):
        raise TypeError(f"{cls.__module__}.{cls.__qualname__} is no plain data")
    return {"kind": kind, "parts": [encoded(part) for part in _KINDS[kind][0](value)]}


def _kind_of(cls: type) -> str:
    name = f"{cls.__module__.partition('.')[0]}.{cls.__name__}"
    return name if name in _KINDS else ""


def decoded(told: Any) -> Any:
    """The value of which ``encoded`` made this; anything else is refused, or makes plain data as well."""
    if not isinstance(told, dict):
        return told
    root, _, name = told["kind"].partition(".")
    make, module = _KINDS[told["kind"]][1], import_module(root)
    parts = [decoded(part) for part in told["parts"]]
    return make(module, *parts) if make else getattr(module, name)(*parts)


def encoded_error(error: BaseException) -> dict[str, Any]:
    """An exception as JSON: names of the library's kinds that it is of, arguments, members, and text.

    Raises:
        TypeError: it bears what is no plain data.
    """
    kinds = _library_kinds(type(error))
    leaves = [one for one in kinds if not any(other is not one and issubclass(other, one) for other in kinds)]
    names = [[one.__module__, one.__qualname__] for one in leaves]
    reduced = error.__reduce__()
    members = reduced[2] if len(reduced) > 2 else {}  # noqa: PLR2004 -- as pickle has it
    return {"kinds": names, "parts": encoded(list(reduced[1])), "members": encoded(members), "text": str(error)}


def _library_kinds(cls: type) -> list[type]:
    module = sys.modules.get(cls.__module__)
    if getattr(module, "__spec__", None) and cls is getattr(module, cls.__qualname__, None):
        return [cls] if issubclass(cls, BaseException) else []
    return list(dict.fromkeys(kind for base in cls.__bases__ for kind in _library_kinds(base)))


def decoded_error(told: dict[str, Any]) -> BaseException:
    """An exception of these kinds.

    Raises:
        TypeError: it cannot be made here.
    """
    found = tuple(_exception_class(*name) for name in told["kinds"])
    cls: Any = found[0] if len(found) == 1 else type("Error", found, {})
    error: BaseException = cls(*decoded(told["parts"]))
    vars(error).update(decoded(told["members"]))
    if str(error) != told["text"]:
        error.args = (told["text"],)
    if str(error) != told["text"]:
        raise TypeError("an exception with a text of its own")
    return error


def _exception_class(module: str, name: str) -> type[BaseException]:
    found = getattr(sys.modules.get(module), name, None)
    if not isinstance(found, type) or not issubclass(found, BaseException):
        raise TypeError(f"an exception that is not known here, {module}.{name}")
    return found
