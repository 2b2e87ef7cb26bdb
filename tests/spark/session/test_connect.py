"""connect: what a client of a real Spark Connect server can do, and how the rest is refused."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyspark
import pytest

from penstock.spark import Spark, SparkSetupError
from penstock.spark.session.connect import connected
from penstock.spark.session.java import find_java
from tests.spark.processes import QUICK_JVM, kill_tree

ROOT = Path(__file__).parents[3]
SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
LIMIT = "needs the driver's own process, and with remote= the driver is elsewhere; use Spark(master=...)"


@pytest.fixture(scope="module")
def remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start a server on a port of its own choice."""
    home = Path(pyspark.__file__).parent
    conf = {
        "spark.ui.enabled": "false",
        "spark.connect.grpc.binding.port": "0",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": QUICK_JVM,
        "spark.sql.shuffle.partitions": "2",
    }
    settings = [word for name, value in conf.items() for word in ("--conf", f"{name}={value}")]
    submit = [str(home / "bin" / "spark-class"), "org.apache.spark.deploy.SparkSubmit", "--master", "local[2]"]
    environment = os.environ | {
        "SPARK_HOME": str(home),
        "JAVA_HOME": str(find_java().home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
    }
    server = subprocess.Popen(
        [*submit, *settings, "--class", SERVER, "spark-internal"],
        cwd=tmp_path_factory.mktemp("server"),
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert server.stderr is not None
    reading = threading.Thread(target=server.stderr.read, daemon=True)  # it goes on writing after its start
    try:
        told: list[str] = []
        for line in server.stderr:
            told.append(line)
            if found := re.search(r"Spark Connect server started at: \S*:(\d+)", line):
                break
        else:
            raise AssertionError("".join(told))
        reading.start()
        yield f"sc://127.0.0.1:{found[1]}"
    finally:
        kill_tree(server.pid)
        server.wait()
        if reading.ident is not None:
            reading.join()
        server.stderr.close()


def test_a_client_does_what_connect_allows_and_is_told_of_the_rest(remote: str) -> None:
    command = [sys.executable, "-m", "tests.spark.on_connect", remote]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    expected: dict[str, Any] = {
        "repr": "Spark(remote)",
        "stage": [n for n in range(1000) if n % 2],
        "partitioned": [1, 2, 10, 20],
        "taken": 3,
        "left running": [],
        "arrow": 1000,
        "kept": sorted([third, sum(range(third, n + 1, 3))] for third in range(3) for n in range(third, 30, 3)),
        "failing": True,
        "no stream": f"SparkLimitError: spark: a stream of a streaming DataFrame {LIMIT}",
        "no option": f"SparkLimitError: spark: stream(ahead=...) {LIMIT}",
        "no flow": f"SparkLimitError: spark: spark.flow {LIMIT}",
        "no pipeline": f"SparkLimitError: spark: a pipeline {LIMIT}",
        "no second": "SparkSetupError: spark: this process is set to Spark Connect; close that session, or unset"
        " SPARK_REMOTE, or give remote=",
        "threads": [],
        "mode": None,
    }
    assert found == expected


def test_a_server_that_does_not_answer_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{connected.__module__}.SparkContext._active_spark_context", None)
    with pytest.raises(SparkSetupError, match=r"^spark: no server answers at sc://127.0.0.1:1: Connection refused$"):
        Spark(remote="sc://127.0.0.1:1")


def test_beside_another_session_it_is_refused(spark: Spark) -> None:
    with pytest.raises(
        SparkSetupError, match=r"^spark: a Spark session runs in this process already; stop it before using remote=$"
    ):
        Spark(remote="sc://127.0.0.1:1")
