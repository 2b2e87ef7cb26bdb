"""borrowed and launch: a session that another has started, and one that spark-submit has prepared."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyspark
import pytest

from penstock.spark import Spark, SparkSetupError
from penstock.spark.session.java import find_java
from penstock.spark.stages.stateful import ROCKSDB, STORE
from tests.spark.cluster import Cluster
from tests.spark.processes import QUICK_JVM

ROOT = Path(__file__).parents[3]
CURE = f"start the session with PYSPARK_PYTHON={sys.executable}, or let Spark() start it"

SUBMITTED = """
import sys
from penstock import Sink, Stream, flow
from penstock.spark import Spark, frame, spark_source

@flow
def doubled(numbers: Stream[int]) -> Stream[int]:
    return numbers.map(lambda n: n * 2)

few = frame(lambda df: df.where("value < 10"))
numbers = spark_source(lambda session: session.range(100)) | doubled | few | Sink.to_list()
print("ROWS", sorted(row.value for row in numbers.run().wait()))
with Spark() as spark:
    context = spark.session.sparkContext
    print("MASTER", context.master, spark.session.conf.get("spark.sql.shuffle.partitions"), context.appName)
"""


def program(folder: Path, text: str) -> str:
    """Write a program that stands for a Python."""
    file = folder / "python"
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return str(file)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (
            "echo 3.9",
            f"workers run Python 3.9 (PROGRAM), and this is Python {sys.version_info[0]}.{sys.version_info[1]}",
        ),
        (
            f"echo {sys.version_info[0]}.{sys.version_info[1]}; echo 'ImportError: no pyarrow' >&2; exit 1",
            "workers run PROGRAM, where PySpark cannot use Arrow: ImportError: no pyarrow",
        ),
        ("exit 3", "workers run PROGRAM, where PySpark cannot use Arrow: it ended without a word"),
        (None, "workers run PROGRAM, which does not start"),
    ],
)
def test_a_session_on_another_python_is_refused(
    spark: Spark, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str | None, wrong: str
) -> None:
    found = str(tmp_path / "none") if text is None else program(tmp_path, text)
    monkeypatch.setattr(spark.session.sparkContext, "pythonExec", found)
    message = f"spark: the session's {wrong.replace('PROGRAM', found)}; {CURE}"
    with pytest.raises(SparkSetupError, match=f"^{re.escape(message)}$"):
        Spark(session=spark.session)


def test_a_session_of_pyspark_alone_is_given_the_package_and_is_left_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    other = tmp_path / "bin" / "python3"
    other.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')  # it has all but what this process has on its path
    other.chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if name != "PYSPARK_PYTHON"}
    environment |= {
        "PATH": f"{other.parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")]),
        "JAVA_HOME": str(find_java().home),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    command = [sys.executable, "-m", "tests.spark.on_given"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert all(file.endswith("penstock.zip/penstock/__init__.py") for file in found.pop("files"))
    assert found == {
        "live": 98 + 99,
        "batch": 45,
        "locked": f"SparkSetupError: keyed_by: this session does not let {STORE} be set, and Spark keeps states with"
        f" {ROCKSDB} alone; set it where the session is started",
        "still there": 5,
        "stopped": "SparkClosedError: spark: the session was stopped by its own stop() while a run or a stream still"
        " needed it; stop those first, and make a new Spark()",
    }


def test_a_program_that_is_submitted_runs_where_spark_submit_says(tmp_path: Path) -> None:
    file = tmp_path / "submitted.py"
    file.write_text(SUBMITTED)
    with Cluster(tmp_path, workers=1) as cluster:
        conf = {
            "spark.ui.enabled": "false",
            "spark.driver.memory": "512m",
            "spark.executor.memory": "512m",
            "spark.driver.extraJavaOptions": QUICK_JVM,
            "spark.executor.extraJavaOptions": QUICK_JVM,
            "spark.sql.shuffle.partitions": "3",
            "spark.pyspark.python": sys.executable,
        }
        settings = [word for name, value in conf.items() for word in ("--conf", f"{name}={value}")]
        home = Path(pyspark.__file__).parent
        done = subprocess.run(
            [home / "bin" / "spark-submit", "--master", cluster.master, "--name", "mine", *settings, file],
            cwd=tmp_path,
            env={
                **os.environ,
                "SPARK_HOME": str(home),
                "JAVA_HOME": str(find_java().home),
                "SPARK_LOCAL_IP": "127.0.0.1",
                "PYTHONPATH": str(ROOT / "src"),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-5000:]
        told = [line for line in done.stdout.splitlines() if line.startswith(("ROWS", "MASTER"))]
        assert told == ["ROWS [0, 2, 4, 6, 8]", f"MASTER {cluster.master} 3 mine"]
