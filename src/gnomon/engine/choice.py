"""Which engine a name means; its library is loaded only when it is asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from gnomon.engine.base import Engine
from gnomon.errors import ParameterError

CREDENTIALS = re.compile(r"//[^/]*@|(token|password|secret|authorization|key)[^;=]*=")
ENGINES = ("local", "dask", "spark")


@contextmanager
def engine_named(
    name: str = "local", cluster: str | None = None, shared: str | None = None
) -> Iterator[Engine | None]:
    """The engine, for as long as it is used; None leaves the choice to the table."""
    if CREDENTIALS.search((cluster or "").lower()):
        raise ParameterError(
            "The address of the cluster holds a token or a password, which other users of this machine can see; leave it "
            "out, and set SPARK_CONNECT_AUTHENTICATE_TOKEN in the environment."
        )
    if name == "local":
        if cluster is not None or shared is not None:
            raise ParameterError(
                "The engine local has no cluster and no shared folder; name another --engine."
            )
        yield None
    elif name == "dask":
        from gnomon.engine.dask import DaskEngine

        with DaskEngine(cluster, place=shared) as engine:
            yield engine
    elif name == "spark":
        from gnomon.engine.spark import SparkEngine

        with SparkEngine(cluster, place=shared) as spark:
            yield spark
    else:
        raise ParameterError(f"The engine must be one of {', '.join(ENGINES)}. Got {name!r} instead.")
