"""lifecycle: start and close sessions in a process of its own, and tell in JSON what was seen and what was left."""

from __future__ import annotations

import gc
import itertools
import json
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from penstock import Sink, Stream, flow
from penstock.spark import Spark
from tests.spark.asker import Asker
from tests.spark.processes import QUICK_JVM, below

NAMES = ("JAVA_HOME", "PYSPARK_PYTHON", "PYTHONPATH", "SPARK_LOCAL_IP")
WAIT = 120.0


def listening(pids: set[int]) -> list[str]:
    """Return the addresses, as the kernel writes them, on which these processes listen, one for each port."""
    sockets: set[str] = set()
    for pid in pids:
        with suppress(OSError):  # a process may end while we look, and a file be closed
            for link in list(Path(f"/proc/{pid}/fd").iterdir()):
                with suppress(OSError):
                    sockets.add(str(link.readlink()))
    lines = [
        line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]
    ]
    return [line[1].partition(":")[0] for line in lines if line[3] == "0A" and f"socket:[{line[9]}]" in sockets]


def ours() -> set[int]:
    """Return this process and all below it."""
    return below(os.getpid()) | {os.getpid()}


def state() -> dict[str, Any]:
    gc.collect()
    mine = ours()
    return {
        "processes": len(mine) - 1,
        "threads": sorted(thread.name for thread in threading.enumerate()),
        "ports": len(listening(mine)),
        "environment": [os.environ.get(name) for name in NAMES],
    }


def said(use: Callable[[], Any]) -> str:
    """Return what something raises."""
    try:
        use()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "nothing"


def failure(**options: Any) -> str:
    return said(lambda: Spark(**options).close())


# What runs when the session is closed.


@flow
def same(numbers: Stream[int]) -> Stream[int]:
    return numbers.map(lambda n: n)


def endless() -> Stream[tuple[int]]:
    return Stream.from_iterable(itertools.count()).map(lambda n: (n,))


class Busy:
    """Be one of each kind of work, all of them under way."""

    def __init__(self, spark: Spark) -> None:
        large = spark.session.range(0, 10**7, 1, 1)
        self.batch = self._asked(spark.stream(large))
        self.live = self._asked(spark.stream(spark.frame(endless(), "n long", capacity=100)))
        self.through = self._asked(endless() | spark.flow(lambda df: df, "n long", capacity=100))
        self.loop: Iterator[Any] = iter(spark.stream(large))
        next(self.loop)
        arrived = threading.Event()
        self.run = (Stream.from_iterable(itertools.count()) | same | Sink.for_each(lambda _: arrived.set())).run(spark)
        assert arrived.wait(WAIT)
        begun = threading.Event()
        live = spark.frame(endless(), "n long", capacity=100)
        self.query = live.writeStream.foreachBatch(lambda df, number: begun.set()).start()
        assert begun.wait(WAIT)

    @staticmethod
    def _asked(stream: Stream[Any]) -> Asker:
        asker = Asker()
        stream.subscribe(asker)
        asker.ask(10)
        return asker

    def ends(self) -> dict[str, str]:
        """Return how each of them has ended."""
        askers = {"batch": self.batch, "live": self.live, "through": self.through}
        found = {name: f"{type(end).__name__}: {end}" for name, asker in askers.items() for end in [asker.until_end()]}
        return {**found, "loop": said(lambda: list(self.loop)), "run": said(lambda: self.run.wait(WAIT))}


def kept(spark: Spark) -> dict[str, Callable[[], Any]]:
    """Return what may be left of a session in somebody's hands, to be used after its end."""
    numbers = spark.session.range(3)
    stream, through = spark.stream(numbers), spark.flow(lambda df: df, "n long")
    return {
        "session": lambda: spark.session,
        "gate": lambda: spark.gate,
        "frame": lambda: spark.frame(endless(), "n long"),
        "stream": lambda: spark.stream(numbers),
        "stage": lambda: spark.stage(same, "n long"),
        "partitioned": lambda: spark.partitioned([1], list, "n long"),
        "flow": lambda: spark.flow(lambda df: df, "n long"),
        "run": lambda: (Stream.just(1) | same | Sink.count()).run(spark),
        "on_close": lambda: spark.on_close(print),
        "a flow made before": lambda: list(Stream.just((1,)) | through),
        "a stream made before": lambda: list(stream),
    }


def main() -> None:
    seen: dict[str, Any] = {"before": state()}
    seen["bad conf"] = failure(conf={"spark.driver.memory": "nonsense"})  # the JVM ends before it is up
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        busy = {"spark.driver.port": taken.getsockname()[1], "spark.port.maxRetries": 0}
        seen["busy port"] = failure(conf=busy)  # the JVM is up, the session does not start
    seen["after failures"] = state()
    print("STARTING", file=sys.stderr, flush=True)

    with Spark(master="local[5]", conf={"spark.driver.extraJavaOptions": QUICK_JVM}) as spark:
        doubled = flow(lambda rows: rows.map(lambda row: 2 * row.id))
        frame = spark.session.range(5).transform(spark.stage(doubled, "n long"))
        seen["answer"] = [row.n for row in frame.collect()]
        gate = spark.gate
        seen["one gate"] = spark.gate is gate
        seen["second"] = failure()
        left = kept(spark)
        busy = Busy(spark)
        seen["running"] = state()
        seen["addresses"] = listening(ours())
        seen["files"] = sorted(path.name for path in Path().iterdir())
        print("CLOSING", file=sys.stderr, flush=True)
    seen["ends"] = busy.ends()
    seen["gate closed"] = gate.closed
    spark.close()
    seen["kept"] = {name: said(use) for name, use in left.items()}
    session = spark._session
    seen["stopped"] = failure(session=session)
    pause = threading.Event()
    for _ in range(int(WAIT * 10)):  # threads that have just handed on their last word
        seen["closed"] = state()
        if seen["closed"] == seen["before"]:
            break
        pause.wait(0.1)
    print("SEEN", json.dumps(seen))


if __name__ == "__main__":
    main()
