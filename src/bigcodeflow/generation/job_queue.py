"""What is still to be asked: new requests as they are needed, and those that are to be asked again."""

import heapq
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import count

from bigcodeflow.generation.answer_ledger import AnswerKey
from bigcodeflow.generation.model_api import Request, RequestError


@dataclass(slots=True)
class QueuedRequest:
    """A request and what has become of it so far."""

    request: Request
    attempts: int = 0
    error: RequestError | None = None
    """What the last attempt ended with."""


def narrowed(request: Request, indices: Sequence[int]) -> Iterator[QueuedRequest]:
    """The request for some of its samples only, in as many parts as there are gaps between them.

    A seed belongs to a request's first sample, and each further one takes the next number. The parts therefore move it
    along: with the old one the rest would be the samples that are there already, word for word.
    """
    runs: list[list[int]] = []
    for index in indices:
        if runs and index == runs[-1][-1] + 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    for run in runs:
        seed = None if request.seed is None else request.seed + run[0] - request.sample_indices[0]
        yield QueuedRequest(replace(request, sample_indices=tuple(run), seed=seed))


class RequestQueue:
    """Jobs in the order in which they may go: retries that are due, then what the requests' source gives.

    The source is read one request at a time, when there is room for it. No sample is handed out twice, and none of
    those that are known.
    """

    def __init__(self, requests: Iterable[Request], known: AbstractSet[AnswerKey]) -> None:
        self.samples_known = 0
        """Samples of the requests read so far that were there before."""
        self._source, self._known = iter(requests), known
        self._claimed: set[AnswerKey] = set()
        self._new: deque[QueuedRequest] = deque()
        self._retries: list[tuple[float, int, QueuedRequest]] = []
        self._order = count()

    def delay(self, now: float) -> float:
        """Seconds until there is a job; infinite where none waits."""
        due_seconds = max(0.0, self._retries[0][0] - now) if self._retries else float("inf")
        while due_seconds and not self._new:
            request = next(self._source, None)
            if request is None:
                return due_seconds
            keys = [AnswerKey(request.task_id, request.prompt_sha, at) for at in dict.fromkeys(request.sample_indices)]
            self.samples_known += sum(key in self._known for key in keys)
            missing = [key for key in keys if key not in self._known and key not in self._claimed]
            self._claimed.update(missing)
            self._new.extend(narrowed(request, [key.sample_index for key in missing]))
        return 0.0

    def first(self, now: float) -> QueuedRequest:
        """The job that is to go next; only where `delay` is 0."""
        return self._retries[0][2] if self._retries and self._retries[0][0] <= now else self._new[0]

    def take(self, now: float) -> QueuedRequest:
        """Remove that job."""
        due = self._retries and self._retries[0][0] <= now
        return heapq.heappop(self._retries)[2] if due else self._new.popleft()

    def put_back(self, job: QueuedRequest, due_at: float) -> None:
        """Queue a job that is to be asked again."""
        heapq.heappush(self._retries, (due_at, next(self._order), job))

    def put_rest(self, job: QueuedRequest, answered: int) -> None:
        """Queue what a reply left out, as requests of their own that go next."""
        self._new.extendleft(narrowed(job.request, job.request.sample_indices[answered:]))

    def waiting_retries(self) -> Iterator[QueuedRequest]:
        """Jobs that failed and were not asked again yet."""
        return (job for _, _, job in self._retries)
