"""The program at the far end of a link: items in on standard input, outcomes out on standard output.

    python -m bigcodeflow.execution.remote.host --environment NAME

It runs inside a container or a cloud sandbox and ends with its input, so that a client which was killed leaves nothing.
"""

import argparse
import os
import sys
import threading
from collections.abc import Iterable
from concurrent.futures import Future
from typing import Any, BinaryIO

from pydantic import ValidationError

from bigcodeflow.config import LimitsConfig
from bigcodeflow.core.errors import BigCodeFlowError
from bigcodeflow.environments import find_environment
from bigcodeflow.execution.backends.base import NOT_STARTED, Outcome
from bigcodeflow.execution.remote import protocol
from bigcodeflow.execution.remote.executor_pool import Kind, Workshop
from bigcodeflow.execution.worker_preflight import require_code


class Host:
    """One client's host: takes its messages and answers them in any order."""

    def __init__(self, workshop: Workshop, answers: BinaryIO) -> None:
        self._workshop, self._answers = workshop, answers
        self._writing = threading.Lock()
        self._ended = threading.Event()
        self._kind = Kind(LimitsConfig())

    def serve(self, messages: Iterable[bytes]) -> int:
        """Answer until the input ends; the exit code is 0 unless the client was refused."""
        threading.Thread(target=self._tell_life, name="alive", daemon=True).start()
        try:
            for line in messages:
                self._take(protocol.message_of(line))
        except BigCodeFlowError as error:
            self._say({"type": "refused", "message": str(error)})
            return 1
        finally:
            self._ended.set()
            self._workshop.close()
        return 0

    def _take(self, message: dict[str, Any]) -> None:
        match message["type"]:
            case "begin":
                self._begin(message)
            case "prepare":
                threading.Thread(target=self._prepare, args=(message,), name="prepare", daemon=True).start()
            case "item":
                number, item = message.get("number"), protocol.item_of(message.get("item"))
                done = self._workshop.submit(item, self._kind)
                done.add_done_callback(lambda future: self._answer(number, future))
            case other:
                raise protocol.WireError(f"a host takes no message of type {other!r}")

    def _begin(self, message: dict[str, Any]) -> None:
        if message.get("protocol") != protocol.PROTOCOL:
            raise protocol.WireError(
                f"the host speaks protocol {protocol.PROTOCOL}, the client {message.get('protocol')}"
            )
        require_code(str(message.get("code_version")))
        try:
            self._kind = Kind(LimitsConfig.model_validate(message.get("limits")), message["start"])
        except (ValidationError, KeyError) as error:
            raise protocol.WireError(f"the client's limits cannot be used: {' '.join(str(error).split())}") from None
        self._say({"type": "ready"} | self._workshop.described(self._workshop.check(self._kind)))

    def _prepare(self, message: dict[str, Any]) -> None:
        tests = message["tests"]
        starts = self._workshop.prepare([(program, tests[index]) for program, index in message["programs"]])
        self._say({"type": "prepared", "number": message["number"], "starts": starts})

    def _answer(self, number: object, future: Future[Outcome]) -> None:
        if future.cancelled():
            return
        error = future.exception()
        # An item that got no answer would be waited for until its client gives the whole host up.
        outcome = Outcome(exit=f"{NOT_STARTED}{error!r}") if error else future.result()
        self._say({"type": "outcome", "number": number, "outcome": protocol.outcome_fields(outcome)})

    def _tell_life(self) -> None:
        while not self._ended.wait(protocol.ALIVE_SECONDS):
            self._say({"type": "alive"})

    def _say(self, message: dict[str, Any]) -> None:
        with self._writing:
            try:
                self._answers.write(protocol.line(message))
                self._answers.flush()
            except OSError:  # nobody listens any more; the input ends as well
                self._ended.set()


def main() -> int:
    """Serve the standard streams."""
    parser = argparse.ArgumentParser(description="Execute the items that come in on standard input.")
    parser.add_argument("--environment", required=True, help="name of a sandbox environment that is built here")
    parser.add_argument("--cores", type=int, default=0, help="cores to keep busy; 0 takes all")
    parser.add_argument("--slots-per-core", type=int, default=8, help="items in flight for each core")
    parser.add_argument(
        "--unisolated", action="store_true", help="run items as bare processes, where this place is one big sandbox"
    )
    told = parser.parse_args()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what anything here prints must not get between the answers
    try:
        environment = find_environment(told.environment)
    except BigCodeFlowError as error:
        answers.write(protocol.line({"type": "refused", "message": str(error)}))
        answers.flush()
        return 1
    workshop = Workshop(environment, cores=told.cores, slots_per_core=told.slots_per_core, isolated=not told.unisolated)
    return Host(workshop, answers).serve(sys.stdin.buffer)


if __name__ == "__main__":
    # Threads of running samples hold nothing that outlives their sandboxes; waiting for them would only delay the end.
    code = main()
    sys.stderr.flush()
    os._exit(code)
