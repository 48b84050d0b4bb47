"""What is still to be asked: new requests as they are needed, and those that are to be asked again."""

import heapq
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from itertools import count

from bigcodeflow.generation.answer_ledger import AnswerKey
from bigcodeflow.generation.model_api import Request, RequestError


@dataclass(slots=True)
class QueuedRequest:
    """A request and what has become of it so far."""

    request: Request
    prompt_sha: str
    attempts: int = 0
    error: RequestError | None = field(default=None)
    """What the last attempt ended with."""


def narrowed(request: Request, indices: Sequence[int]) -> Iterator[Request]:
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
        yield replace(request, sample_indices=tuple(run), seed=seed)


class RequestQueue:
    """Jobs in the order in which they may go: retries that are due, then what the requests' source gives.

    The source is read one request at a time, when there is room for it. No sample is handed out twice.
    """

    def __init__(self, requests: Iterable[Request], known: AbstractSet[AnswerKey]) -> None:
        """Queue requests.

        Args:
            requests: what is wanted.
            known: answers that are there.
        """
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
        return 0.0 if due_seconds == 0.0 or self._has_new() else due_seconds

    def first(self, now: float) -> QueuedRequest:
        """The job that is to go next; only where `delay` is 0."""
        return self._retries[0][2] if self._is_due(now) else self._new[0]

    def take(self, now: float) -> QueuedRequest:
        """Remove that job."""
        return heapq.heappop(self._retries)[2] if self._is_due(now) else self._new.popleft()

    def put_back(self, job: QueuedRequest, due_at: float) -> None:
        """Queue a job that is to be asked again."""
        heapq.heappush(self._retries, (due_at, next(self._order), job))

    def put_rest(self, job: QueuedRequest, answered: int) -> None:
        """Queue what a reply left out, as requests of their own that go next."""
        left = job.request.sample_indices[answered:]
        self._new.extendleft(QueuedRequest(request, job.prompt_sha) for request in narrowed(job.request, left))

    def waiting_retries(self) -> Iterator[QueuedRequest]:
        """Jobs that failed and were not asked again yet."""
        return (job for _, _, job in self._retries)

    def _is_due(self, now: float) -> bool:
        return bool(self._retries) and self._retries[0][0] <= now

    def _has_new(self) -> bool:
        while not self._new:
            request = next(self._source, None)
            if request is None:
                return False
            self._new.extend(self._unanswered(request))
        return True

    def _unanswered(self, request: Request) -> Iterator[QueuedRequest]:
        prompt_sha = request.prompt_sha
        keys = [AnswerKey(request.task_id, prompt_sha, index) for index in dict.fromkeys(request.sample_indices)]
        self.samples_known += sum(key in self._known for key in keys)
        missing = [key for key in keys if key not in self._known and key not in self._claimed]
        self._claimed.update(missing)
        for part in narrowed(request, [key.sample_index for key in missing]):
            yield QueuedRequest(part, prompt_sha)
