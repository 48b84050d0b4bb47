"""The program in a process of its own: the test calls it there, and shares no interpreter with it.

Arguments go by pickle, results and exceptions come back as plain data. Working folder, environment and random state go
both ways, printed text comes back, files are shared. Whatever a program does to modules or to unittest, it does in its
process only. What cannot pass so ends the call with UntransferableError. Functions of other modules are imported by
name: a program that replaces them there does not end the connection.
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
from io import BytesIO, TextIOWrapper
from json import encoder, loads
from multiprocessing.connection import Connection, Pipe
from os import _exit as leave
from os import environ, getcwd, getpid
from pickle import dumps as pickled
from pickle import loads as unpickled

TYPE_CHECKING = False  # typing itself would cost the import of a module that the program then finds loaded
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

    from bigcodeflow.sandbox import values
else:
    import values

globals()["__builtins__"] = dict(vars(builtins))  # functions made below look names up here, whatever a program replaces

_OWN_DESCRIPTOR = 3
_SET_DUMPABLE = 4
_MOST_BYTES = 256 << 20
#: In the pickle of an object whose class or function the test or the solution defines; the program has others.
_FOREIGN = b"__test__"
#: The function within ``json.dumps``, which a program cannot change.
_json_parts: Any = vars(encoder)["c_make_encoder"](
    None, None, encoder.encode_basestring_ascii, None, ":", ",", False, False, True
)


class UntransferableError(Exception):
    """A call tells nothing of the program: what would have to pass is no plain data."""


class Partner:
    """The process of the program, as the process of the test sees it."""

    def __init__(self, serve: Callable[[Connection], None]) -> None:
        """Fork it; it serves as soon as it cannot look into this process any more."""
        self._connection, other = Pipe()
        self._lock, self._calls, self._owner, self._undecided = threading.Lock(), 0, getpid(), False
        self._pid = os.fork()
        if self._pid == 0:
            _become_partner(other, serve)
        other.close()
        ctypes.CDLL(None).prctl(_SET_DUMPABLE, 0, 0, 0, 0)
        self._connection.send_bytes(b"go")

    def load(self) -> dict[str, Any] | None:
        """Wait until the program is imported; None, or the fields of the frame that tells why it is not."""
        event, fields = self._answer()
        self._loaded = fields
        return None if event == "imported" else fields

    def function(self, name: str, genuine: Any, imports: str) -> Any:
        """What calls the program's function of that name, and looks like the genuine one.

        Args:
            name: of the function.
            genuine: the function of the task's own solution, which was executed meanwhile.
            imports: import statements of the test text, which the program shares with it.
        """
        _restore(values.decoded(self._loaded["state"]))

        @functools.wraps(genuine)
        def called(*args: Any, **kwargs: Any) -> Any:
            try:
                with self._lock:
                    answer = self._call(name, imports, args, kwargs)
            except UntransferableError:
                self._undecided = True
                raise
            sys.stdout.write(answer["printed"])
            if "raised" in answer:
                raise answer["raised"]
            return answer["value"]

        return called

    def was_undecided(self) -> bool:
        """Whether a call since the last time told nothing; a test may have caught that."""
        undecided, self._undecided = self._undecided, False
        return undecided

    def end(self) -> None:
        """End it."""
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)

    def _call(self, name: str, imports: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        if getpid() != self._owner:
            raise UntransferableError("a call from a process that the test has forked")
        self._calls += 1
        try:
            call = pickled((name, imports, args, kwargs, sys.stdout is not sys.__stdout__, _state()))
        except Exception as error:  # whatever an argument's own pickling raises
            raise UntransferableError(f"an argument: {error}") from None
        if _FOREIGN in call:
            raise UntransferableError("an argument: it is of a class of the test")
        with suppress(OSError):  # the answer says that it has ended
            self._connection.send_bytes(pickled((self._calls, call)))
        number, answer = self._answer()
        while number != self._calls:  # of a call that the test gave up
            number, answer = self._answer()
        try:
            return _decoded(answer)
        except Exception as error:  # whatever a library raises of parts that the program made up
            raise UntransferableError(str(error)) from None

    def _answer(self) -> Any:
        try:
            return loads(self._connection.recv_bytes(_MOST_BYTES))
        except ConnectionError:
            raise EOFError("the process of the program has ended") from None


def _decoded(answer: dict[str, Any]) -> dict[str, Any]:
    if "untransferable" in answer:
        raise UntransferableError(str(answer["untransferable"]))
    if answer["state"] is not None:
        _restore(values.decoded(answer["state"]))
    if "raised" in answer:
        return answer | {"raised": values.decoded_error(answer["raised"])}
    return answer | {"value": values.decoded(answer["value"])}


def _become_partner(connection: Connection, serve: Callable[[Connection], None]) -> NoReturn:
    try:
        os.dup2(connection.fileno(), _OWN_DESCRIPTOR)
        os.closerange(_OWN_DESCRIPTOR + 1, os.sysconf("SC_OPEN_MAX"))
        own = Connection(_OWN_DESCRIPTOR)
        own.recv_bytes()
        serve(own)
    finally:
        leave(0)


def send(connection: Connection, *parts: Any) -> None:
    """Send the other process some JSON."""
    connection.send_bytes("".join(_json_parts(parts, 0)).encode("ascii"))


def serve_calls(connection: Connection, names: dict[str, Any]) -> None:
    """Answer calls of functions among the names until the process of the test ends."""
    send(connection, "imported", {"state": values.encoded(_state())})
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
            answer["state"] = None if after == state else values.encoded(after)
            answer["printed"] = _taken(printed.buffer)
        except Exception as error:  # whatever the call or its result leads to, the test's process has to hear of it
            answer = {"untransferable": f"{type(error).__name__}: {error}"}
        if getpid() != own:
            return  # a process that the program forked, and that went on
        try:
            send(connection, number, answer)
        except Exception as error:  # the answer is no JSON, or nested too deeply
            send(connection, number, {"untransferable": f"{type(error).__name__}: {error}"})


def _result(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    before = pickled((args, kwargs))
    try:
        value = function(*args, **kwargs)
    except BaseException as error:  # what the program raises, the test is to see
        answer = {"raised": values.encoded_error(error)}
    else:
        answer = {"value": values.encoded(value)}
    if pickled((args, kwargs)) != before:
        raise TypeError("the program changes its arguments, and the test may look at them")
    if threading.active_count() > 1:
        raise TypeError("threads of the program go on, and the test may wait for them")
    return answer


def _taken(buffer: Any) -> str:
    text: str = buffer.getvalue().decode("utf-8", "surrogatepass")
    buffer.seek(0)
    buffer.truncate()
    return text


def _state() -> tuple[Any, ...]:
    """The working folder, the environment, and what the random generators would give next."""
    random, numpy = sys.modules.get("random"), sys.modules.get("numpy.random")
    drawn = None
    if numpy:
        kind, keys, *rest = numpy.get_state()
        drawn = (kind, keys.tobytes(), *rest)
    return getcwd(), dict(environ), random and random.getstate(), drawn


def _restore(state: tuple[Any, ...]) -> None:
    folder, variables, random, numpy = state
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
