"""on_cluster: run stages and partitions on a standalone cluster, and tell in JSON what came out."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from penstock import Stream, flow
from penstock.spark import Spark, keyed_by
from tests.spark.cluster import Cluster


async def doubled(n: int) -> int:
    await asyncio.sleep(0)
    return 2 * n


@flow
def item_stages(rows: Stream[Any]) -> Stream[int]:
    numbers = rows.map(lambda row: row[0]).filter(lambda n: n % 3 != 0)
    return numbers.flat_map(lambda n: range(n % 5)).map_async(doubled, concurrency=8)


@flow
def running_sum(rows: Stream[Any]) -> Stream[tuple[int, int]]:
    return rows.scan(lambda total, row: (row.k, total[1] + row.n), (0, 0))


def where(_: int) -> list[str]:
    import penstock

    return [penstock.__file__]


def main(folder: Path) -> None:
    seen: dict[str, Any] = {}
    with Cluster(folder) as cluster:
        conf = {"spark.executor.memory": "512m", "spark.executor.cores": 1}
        with Spark(master=cluster.master, conf=conf, py_files=[_zipped(folder)]) as spark:
            frame = spark.session.range(0, 1000, 1, 8)
            seen["item"] = [row.n for row in frame.transform(spark.stage(item_stages, "n long")).collect()]
            keyed = frame.selectExpr("id % 7 as k", "id as n")
            step = spark.stage(keyed_by(running_sum, "k", order_by="n"), "k long, n long")
            seen["keyed"] = sorted(map(tuple, keyed.transform(step).collect()))
            seen["files"] = [row.file for row in spark.partitioned(range(8), where, "file string").collect()]
        seen["alive"] = [process.poll() is None for process in cluster.processes]
    print("SEEN", json.dumps(seen))


def _zipped(folder: Path) -> Path:
    """Pack this module, as a user packs a program of several files."""
    import zipfile

    target = folder / "program.zip"
    with zipfile.ZipFile(target, "w") as archive:
        for name in ("on_cluster.py", "cluster.py"):
            archive.write(Path(__file__).parent / name, f"tests/spark/{name}")
    return target


if __name__ == "__main__":
    main(Path(sys.argv[1]))
