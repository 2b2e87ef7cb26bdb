"""cluster: a standalone Spark cluster of one master and some workers on loopback, for tests."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType

import pyspark

from penstock.spark.java import find_java

_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
_PACKAGE = "org.apache.spark.deploy"


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


_libc = ctypes.CDLL(None)


def _die_with_parent() -> None:
    _libc.prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG: a test that is killed leaves no cluster behind


class Cluster:
    """Run a master and workers of one core each, whose Python finds nothing but what is installed."""

    def __init__(self, folder: Path, workers: int = 2) -> None:
        self.folder = folder
        self._count = workers
        self.master = ""
        self.processes: list[subprocess.Popen[bytes]] = []
        """The master, then the workers."""

    def __enter__(self) -> Cluster:
        port = _free_port()
        self.master = f"spark://127.0.0.1:{port}"
        options = ["--host", "127.0.0.1", "--webui-port", "0"]
        try:
            self._start("master.Master", "--port", str(port), *options, until="I have been elected leader")
            for _ in range(self._count):
                self.start_worker()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def start_worker(self) -> None:
        """Start one more worker and wait until the master knows it."""
        options = ["--host", "127.0.0.1", "--webui-port", "0", "--cores", "1", "--memory", "1g"]
        work = ["--work-dir", str(self.folder / "work")]
        self._start("worker.Worker", *options, *work, self.master, until="Successfully registered with master")

    def _start(self, name: str, *arguments: str, until: str) -> None:
        """Start a process and wait until its log has a line."""
        log = self.folder / f"{len(self.processes)}.log"
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        environment |= {"SPARK_LOCAL_IP": "127.0.0.1", "JAVA_HOME": str(find_java().home)}
        command = [str(_CLASS), f"{_PACKAGE}.{name}", *arguments]
        with log.open("w") as out:
            process = subprocess.Popen(command, stdout=out, stderr=out, env=environment, preexec_fn=_die_with_parent)
        self.processes.append(process)
        while until not in log.read_text():
            if process.poll() is not None:
                raise RuntimeError(f"{name} did not start:\n{log.read_text()}")
            time.sleep(0.05)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        for process in reversed(self.processes):
            with suppress(ProcessLookupError):
                process.terminate()
        for process in self.processes:
            process.wait()
