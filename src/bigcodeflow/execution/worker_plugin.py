"""What each Dask worker keeps from batch to batch.

Imported only where there are batches to run: Dask takes long to load.
"""

from collections.abc import Callable

from distributed import Worker, WorkerPlugin, get_worker

from bigcodeflow.core.errors import BigCodeFlowError
from bigcodeflow.execution.backends.base import Backend
from bigcodeflow.execution.worker_log_relay import Overheard
from bigcodeflow.execution.worker_preflight import code_version, require_code


class Keeping(WorkerPlugin):
    """Gives every worker process one backend, which all its threads use and which ends with the worker."""

    idempotent = True

    def __init__(self, name: str, make: Callable[[int], Backend]) -> None:
        self.name, self._make = name, make
        self._code_version = code_version()
        self._backend: Backend | None = None
        self._refusal: BigCodeFlowError | None = None
        self._overheard: Overheard | None = None

    def setup(self, worker: Worker) -> None:
        """Make the backend; nothing is started before the first item.

        Raises:
            BigCodeFlowError: this worker cannot do the work. Dask tells who registers the plugin, but not who sends
                work to a worker that joined later: there, asking for the backend raises it.
        """
        self._overheard = Overheard()
        self._overheard.start()
        try:
            require_code(self._code_version)
            self._backend = self._make(worker.state.nthreads)
        except BigCodeFlowError as error:
            self._refusal = error
            raise

    @property
    def backend(self) -> Backend:
        """What executes items here.

        Raises:
            BigCodeFlowError: this worker cannot do the work.
        """
        if self._backend is None:
            raise self._refusal or RuntimeError("the worker plugin is not set up")
        return self._backend

    def warnings(self) -> list[str]:
        """What this worker warned of since this was last asked."""
        return self._overheard.taken() if self._overheard else []

    def end(self) -> list[str]:
        """End what the backend keeps; the last warnings, what it cost among them."""
        if self._backend:
            self._backend.close()
        return self.warnings()

    def teardown(self, worker: Worker) -> None:
        """End everything."""
        del worker
        self.end()
        if self._overheard:
            self._overheard.stop()


def end_kept(name: str) -> list[str]:
    """End what the worker process that this runs in keeps under a name; its last warnings."""
    kept = get_worker().plugins.get(name)
    return kept.end() if isinstance(kept, Keeping) else []
