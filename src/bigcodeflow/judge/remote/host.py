"""Host program of a container or cloud sandbox: read items from standard input, write outcomes to standard output.

    python -m bigcodeflow.judge.remote.host --environment NAME

The program ends when its input ends, so that a killed client leaves nothing behind.
"""

import argparse
import os
import sys
import threading
from collections.abc import Iterable
from concurrent.futures import Future
from dataclasses import asdict
from typing import Any, BinaryIO

from pydantic import ValidationError

from bigcodeflow.config import LimitsConfig
from bigcodeflow.core.errors import BigCodeFlowError
from bigcodeflow.judge.environments import find_environment
from bigcodeflow.judge.host.base import NOT_STARTED, Outcome
from bigcodeflow.judge.items import require_code
from bigcodeflow.judge.remote import protocol
from bigcodeflow.judge.remote.executor_pool import ExecutionMode, ExecutorPool


class Host:
    """Server of one client: it answers the client's messages, in any order."""

    def __init__(self, pool: ExecutorPool, output: BinaryIO) -> None:
        self._pool, self._output = pool, output
        self._writing = threading.Lock()
        self._ended = threading.Event()
        self._mode = ExecutionMode(LimitsConfig())
        self._open: set[object] = set()

    def serve(self, messages: Iterable[bytes]) -> int:
        """Answer messages until the input ends; return the exit code: 1 if a message was refused, else 0."""
        threading.Thread(target=self._send_alive, name="alive", daemon=True).start()
        try:
            for line in messages:
                self._handle(protocol.message_of(line))
        except BigCodeFlowError as error:
            self._send({"type": "refused", "message": str(error)})
            return 1
        finally:
            self._ended.set()
            self._pool.close()
        return 0

    def _handle(self, message: dict[str, Any]) -> None:
        kind, number = message["type"], message.get("number")
        try:
            if kind == "begin":
                self._begin(message)
            elif kind == "prepare":
                request = {name: message.get(name) for name in ("tests", "programs")}
                texts = protocol.programs_of(protocol.PrepareRequest.model_validate(request, strict=True))
                threading.Thread(target=self._prepare, args=(number, texts), name="prepare", daemon=True).start()
            elif kind == "item":
                item = protocol.Item.model_validate(message.get("item"), strict=True)
                self._open.add(number)
                work = protocol.work_item_of(item, self._mode.limits.time_seconds)
                future = self._pool.submit(work, self._mode, lambda: self._send({"type": "long", "number": number}))
                future.add_done_callback(lambda done: self._send_outcome(number, done))
            else:
                raise protocol.ProtocolError(
                    f"a client's message has the unknown type {kind!r}: install the same bigcodeflow at both ends"
                )
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            raise protocol.ProtocolError(f"a {kind!r} message is invalid at {first['loc']}: {first['msg']}") from None

    def _begin(self, message: dict[str, Any]) -> None:
        if message.get("protocol") != protocol.PROTOCOL:
            raise protocol.ProtocolError(
                f"the host speaks protocol {protocol.PROTOCOL}, the client {message.get('protocol')}: install the same "
                "version of bigcodeflow at both ends"
            )
        require_code(str(message.get("code_version")))
        limits = LimitsConfig.model_validate(message.get("limits"))
        self._mode = ExecutionMode(limits, "cold" if message.get("start") == "cold" else "warm")
        self._send({"type": "ready"} | self._pool.description(self._pool.check(self._mode)))

    def _prepare(self, number: object, texts: list[tuple[str, str]]) -> None:
        self._send({"type": "prepared", "number": number, "starts": self._pool.prepare(texts)})

    def _send_outcome(self, number: object, done: Future[Outcome]) -> None:
        if done.cancelled():
            return
        error = done.exception()
        # Without an answer, the client would wait for the item until it gives up the whole host.
        outcome = Outcome(exit=f"{NOT_STARTED}{error!r}") if error else done.result()
        self._send({"type": "outcome", "number": number, "outcome": asdict(outcome)})
        self._open.discard(number)

    def _send_alive(self) -> None:
        while not self._ended.wait(protocol.ALIVE_SECONDS):
            self._send({"type": "alive", "open": list(self._open)})

    def _send(self, message: dict[str, Any]) -> None:
        with self._writing:
            try:
                self._output.write(protocol.line(message))
                self._output.flush()
            except OSError:  # the client is gone; the input ends as well
                self._ended.set()


def main() -> int:
    parser = argparse.ArgumentParser(description="Execute the items that come in on standard input.")
    parser.add_argument("--environment", required=True, help="name of a sandbox environment that is built here")
    parser.add_argument("--cores", type=int, default=0, help="cores to keep busy; 0 takes all")
    parser.add_argument("--slots-per-core", type=int, default=8, help="items in flight for each core")
    options = parser.parse_args()
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output of other code here must not mix with the messages
    try:
        environment = find_environment(options.environment)
    except BigCodeFlowError as error:
        output.write(protocol.line({"type": "refused", "message": str(error)}))
        output.flush()
        return 1
    pool = ExecutorPool(environment, cores=options.cores, slots_per_core=options.slots_per_core)
    return Host(pool, output).serve(sys.stdin.buffer)


if __name__ == "__main__":
    # Threads of running samples hold nothing that outlives their sandboxes; waiting for them would only delay the end.
    code = main()
    sys.stderr.flush()
    os._exit(code)
