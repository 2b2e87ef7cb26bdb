"""The sessions that the guides only show, on a cluster and with certificates, can be opened as they are shown."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.spark.cluster import Cluster
from tests.spark.processes import QUICK_JVM
from tests.spark.shown_sessions import shown
from tests.test_docs import ROOT


@pytest.mark.slow
def test_every_session_of_the_blocks_that_are_shown_can_be_opened(tmp_path: Path) -> None:
    own = {
        "PYTHONPATH": str(ROOT / "src"),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_SUBMIT_OPTS": QUICK_JVM,
    }
    with Cluster(tmp_path) as cluster:
        done = subprocess.run(
            [sys.executable, "-m", "tests.spark.shown_sessions", cluster.master],
            capture_output=True,
            text=True,
            cwd=ROOT,
            env={**os.environ, **own},
            check=False,
        )
    assert done.returncode == 0, done.stderr[-5000:]
    expected = [each for each in shown(cluster.master) if not each.startswith("from")]
    assert len(expected) == 5
    assert [line for line in done.stdout.splitlines() if line.startswith("spark = ")] == expected
