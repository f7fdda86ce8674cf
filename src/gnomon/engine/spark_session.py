"""Sessions of Spark: started quietly, reached or refused in time, and asked how far a job is."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from threading import Event, Thread
from typing import Any
from urllib.parse import urlsplit

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from gnomon.errors import EngineError, GnomonError, ParameterError

PATIENCE = 10.0  # seconds for a connection
LOOK = 0.5  # seconds between two looks at a job
CONNECT_PORT = 15002
UNREACHED = "The Spark cluster cannot be reached; check its address."
KNOWN = {
    "No module named 'gnomon": "A worker of the Spark cluster lacks gnomon; install the same version there, and set "
    "PYSPARK_PYTHON to the Python that has it.",
    "PYTHON_VERSION_MISMATCH": "A worker of the Spark cluster has another version of Python than the driver; install the "
    "same version there, and set PYSPARK_PYTHON to it.",
    "Cannot run program": "A worker of the Spark cluster has no Python at the path that PYSPARK_PYTHON names; set it to "
    "the Python that has gnomon there.",
}
QUOTING = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
SETTINGS = {"spark.app.name": "gnomon", "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
LOOPBACK = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


def session_of(cluster: str | None) -> SparkSession:
    """A session of a master (spark://..., local[2], by default local[*] on loopback) or a Connect server (sc://...)."""
    master = "local[*]" if cluster is None else cluster
    if master.startswith("sc://"):
        _reach([urlsplit(master.partition(";")[0]).netloc], CONNECT_PORT)
        _greet(master)
        return SparkSession.builder.remote(master).getOrCreate()
    if master.startswith("spark://"):
        _reach(master.removeprefix("spark://").split(","), 7077)
    elif not master.startswith(("local", "yarn", "k8s://")):
        raise ParameterError(
            "The address of a Spark cluster begins with spark:// (a master) or sc:// (Connect)."
        )
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        raise EngineError(
            "Spark needs Java 17 or later, which is not installed; install it (Debian: openjdk-17-jre-headless), or set "
            "JAVA_HOME."
        )
    local = master.startswith("local")
    if local:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    conf = SparkConf().setMaster(master).setAll([*SETTINGS.items(), *(LOOPBACK.items() if local else ())])
    try:
        SparkContext(conf=conf, gateway=_gateway())
    except Exception:
        if local:
            raise
        raise EngineError(UNREACHED) from None
    return SparkSession.builder.getOrCreate()


@cache
def _gateway() -> Any:
    """Java, whose log goes nowhere: it is long, and may quote what a frame's own functions complain about."""
    if "GNOMON_DEBUG" in os.environ:
        return launch_gateway()
    return launch_gateway(popen_kwargs={"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL})


def _reach(places: list[str], port: int) -> None:
    """Refuse addresses that nobody answers; Spark itself would try again for minutes."""
    for place in places:
        with suppress(OSError, ValueError):
            parts = urlsplit(f"//{place}")
            socket.create_connection((parts.hostname or "", parts.port or port), timeout=PATIENCE).close()
            return
    raise EngineError(UNREACHED)


def _greet(master: str) -> None:
    """Refuse what is no Connect server: Spark itself would wait for its greeting without end."""
    import grpc
    from pyspark.sql.connect.client import DefaultChannelBuilder

    with DefaultChannelBuilder(master).toChannel() as channel:
        try:
            grpc.channel_ready_future(channel).result(timeout=PATIENCE)
        except grpc.FutureTimeoutError:
            raise EngineError(UNREACHED) from None


@contextmanager
def problems() -> Iterator[None]:
    """What Spark raises, as one sentence: its text may hold addresses and cells."""
    try:
        with _unlogged():
            yield
    except GnomonError:
        raise
    except Exception as problem:
        if os.environ.get("GNOMON_DEBUG"):
            raise
        for sign, sentence in KNOWN.items():
            if sign in str(problem):
                raise EngineError(sentence) from None
        raise EngineError(f"The Spark cluster could not do its work ({type(problem).__name__}).") from None


@contextmanager
def _unlogged() -> Iterator[None]:
    """Without what PySpark writes to the standard error about a failed expression: the cell that it failed on."""
    loggers = [PySparkLogger.getLogger(name) for name in QUOTING]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = "GNOMON_DEBUG" not in os.environ
    try:
        yield
    finally:
        for logger, disabled in zip(loggers, before, strict=True):
            logger.disabled = disabled


@contextmanager
def watched(session: SparkSession, told: Callable[[int], None]) -> Iterator[None]:
    """While a job runs, `told` is called now and then with how many tasks of its first stage are done."""
    if "connect" in type(session).__module__:
        with _watched_by_server(session, told):
            yield
    else:
        with _watched_by_tracker(session.sparkContext, told):
            yield


@contextmanager
def _watched_by_server(session: SparkSession, told: Callable[[int], None]) -> Iterator[None]:
    def handler(stages: Any, inflight_tasks: int, operation_id: str | None, done: bool) -> None:
        first = min(stages or (), key=lambda stage: stage.stage_id, default=None)
        if first is not None:
            told(first.num_completed_tasks)

    session.registerProgressHandler(handler)
    try:
        yield
    finally:
        session.removeProgressHandler(handler)


@contextmanager
def _watched_by_tracker(context: SparkContext, told: Callable[[int], None]) -> Iterator[None]:
    key, group, over = "spark.jobGroup.id", f"gnomon-{uuid.uuid4().hex}", Event()

    def look() -> None:
        tracker = context.statusTracker()
        while not over.wait(LOOK):
            with suppress(Exception):  # of a session that ends meanwhile
                jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
                stages = [stage for job in jobs if job is not None for stage in job.stageIds]
                if stages and (info := tracker.getStageInfo(min(stages))) is not None:
                    told(info.numCompletedTasks)

    before = context.getLocalProperty(key)
    context.setLocalProperty(key, group)
    watcher = Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
        context.setLocalProperty(key, before)


def stop(session: SparkSession | None) -> None:
    if session is not None:
        session.stop()
