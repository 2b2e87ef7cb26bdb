"""conftest: the one Spark session that all tests of penstock.spark share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from py4j.java_gateway import JavaClass

from penstock.spark import Spark
from tests.spark.processes import QUICK_JVM


def pytest_configure(config: pytest.Config) -> None:
    """Know the marks below, also where pytest-timeout is not installed."""
    config.addinivalue_line("markers", "timeout(seconds): fail a test that takes longer")
    config.addinivalue_line("markers", "session: it shares the one Spark session")
    # py4j leaves a socket to the collector that did not reach a JVM which has ended; the next test would be blamed.
    config.addinivalue_line("filterwarnings", r"ignore:unclosed <socket.*laddr=\('0\.0\.0\.0', \d+\)>:ResourceWarning")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give tests here time for the start of a JVM, or of a whole cluster, on a busy machine.

    Those that share the session are marked, so that those with processes of their own can run beside them.
    """
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.timeout(1200))
            if "spark" in getattr(item, "fixturenames", ()):
                item.add_marker(pytest.mark.session)


@pytest.fixture(scope="session")
def spark() -> Iterator[Spark]:
    """Start Spark once, on two cores and with small batches, so that small data crosses the edges of batches."""
    conf = {
        "spark.sql.execution.arrow.maxRecordsPerBatch": 100,
        "spark.sql.session.timeZone": "Asia/Kolkata",  # not UTC, so that a forgotten zone shows
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": QUICK_JVM,
    }
    with Spark(master="local[2]", conf=conf) as running:
        write_checkpoints_quickly(running.session)
        yield running


def write_checkpoints_quickly(session: Any) -> None:
    """Let Spark write the files of checkpoints without other programs, and without files of checksums beside them.

    What it takes by default for a local folder starts `readlink` and `chmod` for each of them, dozens in a micro-batch.
    Sessions that tests start in processes of their own keep that default.
    """
    session.conf.set("spark.sql.streaming.checkpoint.fileChecksum.enabled", "false")
    streaming = session._jvm.org.apache.spark.sql.execution.streaming
    for package in (streaming.checkpointing, streaming):  # its name has changed since Spark 4.0
        manager = package.FileSystemBasedCheckpointFileManager
        if isinstance(manager, JavaClass):
            session.conf.set("spark.sql.streaming.checkpointFileManagerClass", manager._fqn)
            return


@pytest.fixture
def few_partitions(spark: Spark) -> Iterator[None]:
    """Keep states in two partitions; Spark's two hundred would take minutes."""
    before = spark.session.conf.get("spark.sql.shuffle.partitions")
    spark.session.conf.set("spark.sql.shuffle.partitions", "2")
    yield
    spark.session.conf.set("spark.sql.shuffle.partitions", before)
