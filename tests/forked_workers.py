"""Local Dask workers that start as forks of a process with their imports, instead of importing everything again."""

import multiprocessing
from collections.abc import Iterator

import pytest

_IMPORTED = ["distributed.nanny", "bigcodeflow.execution.worker_plugin", "bigcodeflow.execution.engine"]


@pytest.fixture(scope="module")
def forked_workers() -> Iterator[None]:
    """Have runs of a module fork their workers; these keep the environment variables of the first of all tests."""
    import dask
    from distributed.utils import get_mp_context

    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        get_mp_context()  # sets modules of its own the first time
        multiprocessing.set_forkserver_preload(_IMPORTED)
        yield
