"""cluster: a standalone Spark cluster of one master and some workers on loopback, and a driver that can be asked."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import pyspark

from penstock.spark.session.java import find_java
from tests.spark.processes import QUICK_JVM, above, command, kill_tree

ROOT = Path(__file__).parent.parent.parent
_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
_PACKAGE = "org.apache.spark.deploy"
_WORKER = f"{_PACKAGE}.worker.Worker"


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
        self._logs = 0
        self.master = ""
        self.processes: list[subprocess.Popen[bytes]] = []
        """The master, then the workers."""

    def __enter__(self) -> Cluster:
        port = _free_port()
        self.master = f"spark://127.0.0.1:{port}"
        options = ["--host", "127.0.0.1", "--webui-port", "0"]
        try:
            self._up("I have been elected leader", self._start("master.Master", "--port", str(port), *options))
            self.start_workers()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def start_workers(self) -> None:
        """Start the workers that are missing and wait until the master knows them."""
        missing = self._count - sum(process.poll() is None for process in self.processes[1:])
        options = ["--host", "127.0.0.1", "--webui-port", "0", "--cores", "1", "--memory", "1g"]
        work = ["--work-dir", str(self.folder / "work")]
        started = [self._start("worker.Worker", *options, *work, self.master) for _ in range(missing)]
        for each in started:
            self._up("Successfully registered with master", each)

    def _start(self, name: str, *arguments: str) -> tuple[subprocess.Popen[bytes], Path]:
        log = self.folder / f"{self._logs}.log"
        self._logs += 1
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        environment |= {
            "SPARK_LOCAL_IP": "127.0.0.1",
            "JAVA_HOME": str(find_java().home),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": QUICK_JVM,
        }
        command = [str(_CLASS), f"{_PACKAGE}.{name}", *arguments]
        with log.open("w") as out:
            process = subprocess.Popen(command, stdout=out, stderr=out, env=environment, preexec_fn=_die_with_parent)
        self.processes.append(process)
        return process, log

    @staticmethod
    def _up(line: str, started: tuple[subprocess.Popen[bytes], Path]) -> None:
        """Wait until the log of a process has a line."""
        process, log = started
        pause = threading.Event()
        while line not in log.read_text():
            if process.poll() is not None:
                raise RuntimeError(f"it did not start:\n{log.read_text()}")
            pause.wait(0.05)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        for process in reversed(self.processes):
            with suppress(ProcessLookupError):
                process.terminate()
        for process in self.processes:
            process.wait()


def kill_worker_of(pid: int) -> set[int]:
    """End the worker to which a process belongs, with its executor and all its Python processes, by SIGKILL."""
    (worker,) = [each for each in above(pid) if _WORKER in command(each)]
    return kill_tree(worker)


class Driver:
    """Be asked what `on_cluster` can do, in a process of its own with a session on a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._errors = cluster.folder / "driver.log"
        with self._errors.open("w") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.spark.on_cluster", cluster.master, cluster.folder],
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                preexec_fn=_die_with_parent,
            )

    def ask(self, verb: str, **body: Any) -> Any:
        """Have something done, and return the answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"verb": verb, **body}) + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith("SAYS "):
                answer = json.loads(line.removeprefix("SAYS "))
                assert "raised" not in answer, answer["raised"]
                return answer["told"]
        raise AssertionError(f"the driver has gone:\n{self._errors.read_text()[-5000:]}")

    def close(self) -> int:
        """Let it close its session; return its exit status."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        return self._process.wait()
