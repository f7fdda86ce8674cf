"""A standalone Spark cluster on loopback: a master, two workers, and a Connect server, which end with the tests."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
    "spark.cores.max": "2",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "4",
    "spark.log.level": "OFF",
}
_PACKAGES = ["lang", "lang.invoke", "io", "net", "nio", "util", "util.concurrent"]
_OPENS = [*(f"java.{name}" for name in _PACKAGES), "sun.nio.ch", "sun.security.action"]


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


class SparkProcesses:
    def __init__(self, home: Path, folder: Path) -> None:
        self._home, self._folder, port = home, folder, free_port()
        self._processes: list[subprocess.Popen[bytes]] = []
        self.master = f"spark://127.0.0.1:{port}"
        told = ["--host", "127.0.0.1", "--port", str(port), "--webui-port", str(free_port())]
        self._java("org.apache.spark.deploy.master.Master", *told)
        self._wait_for(port)
        for i in range(2):
            host = f"127.0.0.{i + 1}"  # two hosts, without which Spark makes no speculative copies
            told = ["--host", host, "--cores", "2", "--memory", "2g", "--webui-port", str(free_port())]
            work = ["--work-dir", str(folder / f"work-{i}"), self.master]
            self._java("org.apache.spark.deploy.worker.Worker", *told, *work)

    def connect_server(self) -> str:
        port = free_port()
        binding = {
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.connect.grpc.binding.port": str(port),
        }
        told = [part for key, value in (binding | SETTINGS).items() for part in ("--conf", f"{key}={value}")]
        name = "org.apache.spark.sql.connect.service.SparkConnectServer"
        submit = ["org.apache.spark.deploy.SparkSubmit", "--class", name, "--master", self.master]
        self._java(*submit, *told, "spark-internal")
        self._wait_for(port)
        return f"sc://127.0.0.1:{port}"

    def _java(self, *command: str) -> None:
        told = {"SPARK_HOME": str(self._home), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_SCALA_VERSION": "2.13"}
        opens = [f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in _OPENS]
        with (self._folder / f"log-{len(self._processes)}").open("wb") as log:
            self._processes.append(
                subprocess.Popen(
                    ["java", "-Xmx512m", *opens, "-cp", f"{self._home}/jars/*", *command],
                    env={**os.environ, **told, "PYSPARK_PYTHON": sys.executable},
                    cwd=self._folder,
                    stdout=log,
                    stderr=log,
                )
            )

    def _wait_for(self, port: int, seconds: int = 90) -> None:
        for _ in range(seconds * 5):
            with socket.socket() as one:
                if one.connect_ex(("127.0.0.1", port)) == 0:
                    return
            time.sleep(0.2)
        raise TimeoutError("a process of Spark did not open its port")

    def stop(self) -> None:
        for process in reversed(self._processes):
            process.terminate()
        for process in self._processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
