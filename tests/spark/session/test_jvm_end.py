"""end: where the JVM of a session has gone, all that needed it is told so, and another session can be made."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_a_jvm_that_ends_under_a_run_is_told_of_and_leaves_nothing_here() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "tests.spark.session.ended_jvm"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])},
        capture_output=True,
        text=True,
        check=False,
        timeout=1000,
    )
    assert ran.returncode == 0, ran.stderr
    no_memory, killed, again, threads = json.loads(ran.stdout.splitlines()[-1])
    assert no_memory == (
        "SparkClosedError: spark: the JVM of the session has ended for want of memory; make a new Spark() with more,"
        " such as conf={'spark.driver.memory': '4g'}, or let its tasks have less at once"
    )
    assert killed == (
        "SparkClosedError: spark: the JVM of the session has ended with exit code -9 while a run or a stream still"
        " needed it; what it has printed may say why; make a new Spark()"
    )
    assert (again, threads) == ("3", ["MainThread"])
