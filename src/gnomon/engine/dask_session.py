"""Clusters of Dask: started quietly on loopback, reached or refused; what they raise is one sentence."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager

from gnomon.engine.committed import SharedFolder
from gnomon.engine.local import workers
from gnomon.errors import EngineError, GnomonError

try:
    import dask
    from distributed import LocalCluster, Security
except ImportError:
    raise EngineError("The engine dask is not installed; install gnomon[dask].") from None


@contextmanager
def problems() -> Iterator[None]:
    """What Dask raises, as one sentence: its text may hold addresses and cells."""
    try:
        yield
    except GnomonError:
        raise
    except (OSError, TimeoutError):
        raise EngineError("The Dask cluster cannot be reached; check its address and its workers.") from None
    except (ImportError, AttributeError):
        raise EngineError(
            "A worker of the Dask cluster lacks gnomon or one of its parts; install the same version there."
        ) from None
    except Exception as problem:
        if os.environ.get("GNOMON_DEBUG"):
            raise
        raise EngineError(f"The Dask cluster could not do its work ({type(problem).__name__}).") from None


@contextmanager
def local_cluster(count: int | None, processes: bool) -> Iterator[LocalCluster]:
    """On loopback, with TLS of its own, so that nobody else on this machine can give it tasks; no web page."""
    scratch = SharedFolder()  # what workers spill is their owner's alone
    try:
        with dask.config.set({"distributed.scheduler.http.routes": [], "distributed.worker.http.routes": []}):
            cluster = LocalCluster(
                n_workers=count or workers(),
                threads_per_worker=1,
                processes=processes,
                host="127.0.0.1" if processes else None,
                protocol="tls" if processes else "inproc",
                security=Security.temporary() if processes else None,
                dashboard_address="127.0.0.1:0",
                local_directory=str(scratch.path),
                silence_logs=logging.CRITICAL,  # a worker would log what it failed on, cells and all
            )
        with cluster:
            yield cluster
    finally:
        scratch.delete()
