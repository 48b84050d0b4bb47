"""Program in a separate process: the test calls its functions there, and shares no interpreter with the program.

Arguments are sent by pickle; results and exceptions come back as plain data. Working folder, environment and random
state are sent both ways, printed text comes back, files are shared. Changes that a program makes to modules or to
unittest affect its own process only. A call whose data cannot be transferred ends with UntransferableError. Functions
of other modules are imported by name: replacing such a function does not end the connection. An object of a
class that the program defines arrives as the plain value that it contains, or not at all.
"""

from __future__ import annotations

import builtins
import ctypes
import functools
import os
import signal
import sys
import threading
import time
from contextlib import redirect_stdout, suppress
from importlib import import_module
from io import BytesIO, TextIOWrapper
from json import encoder, loads
from multiprocessing.connection import Connection, Pipe
from os import _exit as leave
from os import environ, getcwd, getpid
from pickle import dumps as pickled
from pickle import loads as unpickled

TYPE_CHECKING = False  # importing typing costs time, and the program would see it in sys.modules
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

globals()["__builtins__"] = dict(vars(builtins))  # for functions below, even if a program replaces builtins

#: First descriptor that the program's process closes, and both ends of the connection: programs close lower numbers.
_FIRST_DESCRIPTOR, _OWN_DESCRIPTOR, _TEST_DESCRIPTOR = 3, 1001, 1002
_SET_DUMPABLE = 4
_MOST_BYTES = 256 << 20
#: Module name in a pickle of an object that test or reference solution defines; the program has its own definitions.
_FOREIGN = b"__test__"
#: C encoder that ``json.dumps`` uses internally; a program cannot change it.
_json_parts: Any = vars(encoder)["c_make_encoder"](
    None, None, encoder.encode_basestring_ascii, None, ":", ",", False, False, True
)


class UntransferableError(Exception):
    """Error of a call whose arguments or result cannot be transferred; the program itself may be correct."""


class ConnectionLostError(Exception):
    """Error of a call that got no valid answer, because the program's process ended or sent invalid data."""


class Partner:
    """Handle, in the test's process, of the separate process that runs the program."""

    def __init__(self, serve: Callable[[Connection], None]) -> None:
        """Fork the program's process, which waits until it cannot read this process's memory, then calls ``serve``."""
        self._connection, other = Pipe()
        self._lock, self._calls, self._owner, self._undecided = threading.Lock(), 0, getpid(), False
        self._pid = os.fork()
        if self._pid == 0:
            _become_partner(other, serve)
        other.close()
        os.dup2(self._connection.fileno(), _TEST_DESCRIPTOR, inheritable=False)
        self._connection = Connection(_TEST_DESCRIPTOR)
        ctypes.CDLL(None).prctl(_SET_DUMPABLE, 0, 0, 0, 0)
        self._connection.send_bytes(b"go")

    def load(self) -> dict[str, Any] | None:
        """Wait until the program is imported; return None, or the failure frame's fields if the import failed."""
        try:
            event, self._loaded = self._answer()
        except ConnectionLostError:  # its calls will fail
            event, self._loaded = "imported", {"state": None}
        return None if event == "imported" else self._loaded

    def function(self, name: str, genuine: Any, imports: str) -> Any:
        """Return a proxy of the program's function ``name``, with the metadata of the reference function ``genuine``.

        ``imports``, the import statements of the test text, are executed in the program's process too.
        """
        if self._loaded["state"] is not None:
            _restore(decoded(self._loaded["state"]))

        @functools.wraps(genuine)
        def called(*args: Any, **kwargs: Any) -> Any:
            try:
                with self._lock:
                    answer = self._call(name, imports, args, kwargs)
                if answer["arguments"] is not None:
                    after, named = answer["arguments"]
                    for old, new in zip((*args, *kwargs.values()), (*after, *named.values()), strict=True):
                        _update(old, new)
            except UntransferableError:
                self._undecided = True
                raise
            sys.stdout.write(answer["printed"])
            if "raised" in answer:
                raise answer["raised"]
            return answer["value"]

        return called

    def was_undecided(self) -> bool:
        """Return True if values of a call since the last use could not be sent, even if the test caught the error."""
        undecided, self._undecided = self._undecided, False
        return undecided

    def end(self) -> None:
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)

    def _call(self, name: str, imports: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        if getpid() != self._owner:
            raise UntransferableError("only the test's own process can call the program, not a fork of it")
        self._calls += 1
        try:
            call = pickled((name, imports, args, kwargs, sys.stdout is not sys.__stdout__, _state()))
        except Exception as error:  # pickling an argument may raise anything
            raise UntransferableError(f"an argument cannot be sent to the program: {error}") from None
        if _FOREIGN in call:
            raise UntransferableError("an argument cannot be sent to the program: the test text defines its class")
        with suppress(OSError):  # if the process has ended, reading the answer shows it
            self._connection.send_bytes(pickled((self._calls, call)))
        try:
            number, answer = self._answer()
            while number != self._calls:  # an answer to an earlier call that the test abandoned
                number, answer = self._answer()
            if "untransferable" in answer:
                raise UntransferableError(answer["untransferable"])  # noqa: TRY301 -- the answer may be anything
            if answer["state"] is not None:
                _restore(decoded(answer["state"]))
            name, decode = ("raised", decoded_error) if "raised" in answer else ("value", decoded)
            found: dict[str, Any] = answer | {name: decode(answer[name])}
            if answer["arguments"] is not None:
                found["arguments"] = decoded(answer["arguments"])
        except ConnectionLostError:
            raise
        except Exception as error:  # a library may raise anything for forged parts
            raise UntransferableError(str(error)) from None
        return found

    def _answer(self) -> Any:
        try:
            first, second = loads(self._connection.recv_bytes(_MOST_BYTES))
        except (OSError, EOFError, ValueError, TypeError) as error:
            raise ConnectionLostError(f"the program's process ended, or sent invalid data: {error}") from None
        return first, second


def _become_partner(connection: Connection, serve: Callable[[Connection], None]) -> NoReturn:
    try:
        os.dup2(connection.fileno(), _OWN_DESCRIPTOR)
        os.closerange(_FIRST_DESCRIPTOR, _OWN_DESCRIPTOR)
        os.closerange(_OWN_DESCRIPTOR + 1, os.sysconf("SC_OPEN_MAX"))
        own = Connection(_OWN_DESCRIPTOR)
        own.recv_bytes()
        serve(own)
    finally:
        leave(0)


def send(connection: Connection, *parts: Any) -> None:
    connection.send_bytes("".join(_json_parts(parts, 0)).encode("ascii"))


def serve_calls(connection: Connection, names: dict[str, Any]) -> None:
    """Execute and answer calls of functions in ``names`` from the test's process, until that process ends."""
    send(connection, "imported", {"state": encoded(_state())})
    own, printed, imported = getpid(), TextIOWrapper(BytesIO(), "utf-8", "surrogatepass", write_through=True), ""
    while True:
        try:
            number, call = unpickled(connection.recv_bytes())
        except EOFError:
            return
        try:
            name, imports, args, kwargs, is_captured, state = unpickled(call)
            _restore(state)
            if imports != imported:
                exec(imports, names)
                imported = imports
            with redirect_stdout(printed if is_captured else sys.stdout):
                answer = _result(names[name], args, kwargs)
            sys.stdout.flush()
            after = _state()
            answer["state"] = None if after == state else encoded(after)
            output: Any = printed.buffer
            answer["printed"] = output.getvalue().decode("utf-8", "surrogatepass")
            output.seek(0)
            output.truncate()
        except Exception as error:  # report every error of the call or its result to the test's process
            answer = {"untransferable": f"{type(error).__name__}: {error}"}
        if getpid() != own:
            return  # a forked process that returned from the program
        try:
            send(connection, number, answer)
        except Exception as error:  # the answer is no JSON, or nested too deeply
            send(connection, number, {"untransferable": f"{type(error).__name__}: {error}"})


def _result(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    before = pickled((args, kwargs))
    try:
        value = function(*args, **kwargs)
    except BaseException as error:  # the test has to see what the program raises
        answer = {"raised": encoded_error(error)}
    else:
        answer = {"value": encoded(value)}
    changed = [list(args), kwargs] if pickled((args, kwargs)) != before else None
    return answer | {"arguments": None if changed is None else encoded(changed)}


def _update(old: Any, new: Any) -> None:
    """Give ``old`` the content of ``new``, the copy that the program changed; or raise UntransferableError."""
    if isinstance(old, list) and type(old) is type(new):
        for place in range(min(len(old), len(new))):
            old[place] = _updated(old[place], new[place])
        old[len(new) :] = new[len(old) :]
    elif isinstance(old, dict) and type(old) is type(new):
        after = {key: _updated(old[key], value) if key in old else value for key, value in new.items()}
        old.clear()
        old.update(after)
    elif _text_of(old) != _text_of(new):
        kind = _kind_of(type(old)) if type(old) is type(new) else ""
        if kind in ("builtins.set", "builtins.bytearray", "collections.deque"):
            old.clear()
            (old.update if isinstance(old, set) else old.extend)(new)
        elif kind in ("pandas.DataFrame", "pandas.Series") and hasattr(old, "_update_inplace"):
            old._update_inplace(new)  # as pandas's own methods with inplace=True do
        elif kind == "numpy.ndarray" and (old.shape, old.dtype) == (new.shape, new.dtype) and old.flags.writeable:
            old[...] = new
        else:
            raise UntransferableError(f"the program's change of a {type(old).__name__} argument cannot be sent")


def _updated(old: Any, new: Any) -> Any:
    """Return ``old`` with the content of ``new`` if its type can be changed in place, else ``new``."""
    if type(old) is not type(new) or _kind_of(type(old)) not in _CHANGEABLE:
        return new
    _update(old, new)
    return old


def _text_of(value: Any) -> str:
    return "".join(_json_parts(encoded(value), 0))


def _state() -> tuple[Any, ...]:
    """Return the working folder, the environment, and the states of the random generators (random, NumPy)."""
    random, numpy = sys.modules.get("random"), sys.modules.get("numpy.random")
    return _known(getcwd), dict(environ), random and _known(random.getstate), numpy and _known(lambda: _drawn(numpy))


def _known(read: Callable[[], Any]) -> Any:
    """Return the result of ``read``; None if ``read`` fails (folder removed, or generator without a state)."""
    try:
        return read()
    except Exception:
        return None


def _drawn(numpy: Any) -> tuple[Any, ...]:
    kind, keys, *rest = numpy.get_state()
    return (kind, keys.tobytes(), *rest)


def _restore(state: tuple[Any, ...]) -> None:
    folder, variables, random, numpy = state
    if folder:
        os.chdir(folder)
    if variables != environ:
        environ.clear()
        environ.update(variables)
        time.tzset()
    if random and "random" in sys.modules:
        sys.modules["random"].setstate(random)
    if numpy and "numpy.random" in sys.modules:
        kind, keys, *rest = numpy
        sys.modules["numpy.random"].set_state((kind, sys.modules["numpy"].frombuffer(keys, dtype="uint32"), *rest))


def _content(cls: Any) -> Callable[[Any], list[Any]]:
    """Return a function that lists a value's items by the iterator of ``cls``, or by its own if that gives none."""
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


#: Type name → function that returns a value's parts, and function that makes a value from the type's module and the
#: parts (None: call the type with the parts).
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
    **dict.fromkeys(("builtins.bytes", "builtins.bytearray"), (lambda v: [v.decode("latin-1"), "latin-1"], None)),
    "builtins.list": (_content(list), lambda _, *parts: list(parts)),
    "builtins.tuple": (_content(tuple), lambda _, *parts: parts),
    "builtins.set": (_content(set), lambda _, *parts: set(parts)),
    "builtins.frozenset": (_content(frozenset), lambda _, *parts: frozenset(parts)),
    "types.SimpleNamespace": (lambda v: [dict(vars(v))], lambda m, content: m.SimpleNamespace(**content)),
    "collections.deque": (lambda v: [list(v), v.maxlen], None),
    "collections.OrderedDict": (lambda v: [list(v.items())], None),
    "builtins.dict": (_content(dict), lambda _, *parts: dict(parts)),
}
#: Names that a subclass may define and still be sent as the type that it extends. A subclass that defines a comparison
#: may define any names.
_COMPARED = "__eq__ __ne__ __lt__ __le__ __gt__ __ge__ __hash__ __iter__ __init__ __new__"
_MADE = "__module__ __doc__ __dict__ __weakref__ __static_attributes__ __firstlineno__"
_LEFT_BEHIND = frozenset(f"{_COMPARED} {_MADE}".split())
#: Types of objects that a program can change in place.
_CHANGEABLE = {f"builtins.{name}" for name in ("list", "dict", "set", "bytearray")}
_CHANGEABLE |= {"collections.deque", "collections.Counter", "collections.OrderedDict"}
_CHANGEABLE |= {"numpy.ndarray", "pandas.Series", "pandas.DataFrame", "types.SimpleNamespace"}
#: Types whose subclasses are sent as plain numbers, whatever they define.
_NUMBERS = frozenset({"builtins.int", "builtins.float", "builtins.complex"})
#: Types whose ``__reduce_ex__`` gives the arguments of their constructor.
_REDUCED = {f"datetime.{name}" for name in ("date", "datetime", "time", "timedelta", "timezone")}
_REDUCED |= {"collections.Counter", "decimal.Decimal", "fractions.Fraction", "pathlib.PosixPath"}
_KINDS |= dict.fromkeys(_REDUCED, (lambda v: list(v.__reduce_ex__(4)[1]), None))


def encoded(value: Any) -> Any:
    """Convert a value for JSON: the value itself, or kind and parts. Raises TypeError if the value is no plain data."""
    cls = type(value)
    if value is None or cls in (bool, int, float, str):
        return value
    depth, kind = next(((depth, kind) for depth, kind in enumerate(map(_kind_of, cls.__mro__)) if kind), (0, ""))
    extending = [base for base in cls.__mro__[:depth] if not kind.startswith(f"{base.__module__.partition('.')[0]}.")]
    own = {name for base in extending for name in vars(base)}
    is_compared = own & {"__eq__", "__lt__", "__gt__"} and "__getitem__" not in own
    if not kind or (own - _LEFT_BEHIND and not is_compared and kind not in _NUMBERS):
        raise TypeError(f"a value of class {cls.__module__}.{cls.__qualname__} is no plain data")
    return {"kind": kind, "parts": [encoded(part) for part in _KINDS[kind][0](value)]}


def _kind_of(cls: type) -> str:
    name = f"{cls.__module__.partition('.')[0]}.{cls.__name__}"
    return name if name in _KINDS else ""


def decoded(data: Any) -> Any:
    """Rebuild a value from the output of ``encoded``; any other input gives plain data too, or raises an error."""
    if not isinstance(data, dict):
        return data
    root, _, name = data["kind"].partition(".")
    make, module = _KINDS[data["kind"]][1], import_module(root)
    parts = [decoded(part) for part in data["parts"]]
    return make(module, *parts) if make else getattr(module, name)(*parts)


def encoded_error(error: BaseException) -> dict[str, Any]:
    """Convert an exception for JSON. Raises TypeError if it extends several library exceptions."""
    kinds = _library_kinds(type(error))
    leaves = [one for one in kinds if not any(other is not one and issubclass(other, one) for other in kinds)]
    if len(leaves) != 1:
        raise TypeError(f"exception {type(error).__qualname__} cannot be sent: it extends several library exceptions")
    reduced = error.__reduce__()
    members = reduced[2] if len(reduced) > 2 else {}  # noqa: PLR2004 -- as pickle has it
    names = {"module": leaves[0].__module__, "name": leaves[0].__qualname__}
    return names | {"parts": encoded(list(reduced[1])), "members": encoded(members), "text": str(error)}


def _library_kinds(cls: type) -> list[type]:
    module = sys.modules.get(cls.__module__)
    if getattr(module, "__spec__", None) and cls is getattr(module, cls.__qualname__, None):
        return [cls] if issubclass(cls, BaseException) else []
    return list(dict.fromkeys(kind for base in cls.__bases__ for kind in _library_kinds(base)))


def decoded_error(data: dict[str, Any]) -> BaseException:
    """Rebuild an exception from the output of ``encoded_error``. Raises TypeError if the class or text would differ."""
    cls: Any = getattr(sys.modules.get(data["module"]), data["name"], None)
    if not isinstance(cls, type) or not issubclass(cls, BaseException):
        raise TypeError(f"the test's process lacks the class of an exception: {data['module']}.{data['name']}")
    error: BaseException = cls(*decoded(data["parts"]))
    vars(error).update(decoded(data["members"]))
    if str(error) != data["text"]:
        error.args = (data["text"],)
    if str(error) != data["text"]:
        raise TypeError("the test's process cannot rebuild the exception with the same text")
    return error
