"""Clusters of Dask: started quietly on loopback, reached or refused; what they raise is one sentence."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Thread

from gnomon.engine.committed import SharedFolder
from gnomon.engine.local import workers
from gnomon.errors import EngineError, GnomonError

try:
    import dask
    from dask.utils import parse_timedelta
    from distributed import Client, LocalCluster, Security
except ImportError:
    raise EngineError("The engine dask is not installed; install gnomon[dask].") from None

SPARE = 5.0  # seconds for a greeting, after a connection


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


def client_of(cluster: LocalCluster | str) -> Client:
    """A client, or a sentence in time: Dask itself waits for ever for the greeting of what is no scheduler."""
    if str(cluster).startswith("tls://") and Security().get_connection_args("client")["ssl_context"] is None:
        raise EngineError(
            "The address of the Dask cluster begins with tls://, which needs certificates; name them in Dask's own "
            "configuration (distributed.comm.tls)."
        )
    found: Future[Client] = Future()

    def connect() -> None:
        try:
            found.set_result(Client(cluster, set_as_default=False))
        except Exception as problem:
            found.set_exception(problem)

    Thread(target=connect, daemon=True).start()
    try:
        return found.result(SPARE + parse_timedelta(dask.config.get("distributed.comm.timeouts.connect")))
    except Exception:
        raise OSError from None


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
