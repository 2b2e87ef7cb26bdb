"""census: what this process, Spark's JVM and their neighbours hold, counted, so that two moments can be compared."""

from __future__ import annotations

import gc
import os
import re
import threading
from collections import Counter
from pathlib import Path
from typing import Any

from penstock.spark import Spark
from penstock.spark.versions.planner_threads import EVERY
from tests.spark.processes import below, command

_NUMBER = re.compile(r"[0-9a-f]{8,}|\d+")


def own_threads() -> list[threading.Thread]:
    """Return the threads of penstock, but for the one that lives as long as the JVM does."""
    found = [thread for thread in threading.enumerate() if thread.name.startswith("penstock-")]
    return [thread for thread in found if thread.name != "penstock-jvm-stderr"]


def files() -> Counter[str]:
    """Return what this process has open, numbers left out."""
    found: Counter[str] = Counter()
    for link in Path("/proc/self/fd").iterdir():
        try:
            found[_NUMBER.sub("N", str(link.readlink()))] += 1
        except OSError:
            continue  # the listing itself
    return found


def own_objects() -> Counter[str]:
    """Return how many objects of penstock's classes there are, by class."""
    gc.collect()
    found: Counter[str] = Counter()
    for one in gc.get_objects():
        kind = type(one)
        if str(kind.__module__).startswith("penstock."):
            found[f"{kind.__module__}.{kind.__qualname__}"] += 1
    return found


class Jvm:
    """What is asked of the JVM of a session."""

    def __init__(self, spark: Spark) -> None:
        self._session: Any = spark.session
        context: Any = self._session.sparkContext
        self._context = context
        self._gateway = context._gateway
        self.jvm = context._jvm
        self._pid = int(self.jvm.java.lang.ProcessHandle.current().pid())

    def threads(self) -> Counter[str]:
        """Return its threads by name, numbers left out."""
        beans = self.jvm.java.lang.management.ManagementFactory.getThreadMXBean()
        found = beans.dumpAllThreads(False, False)
        return Counter(_NUMBER.sub("N", str(one.getThreadName())) for one in found if one is not None)

    def heap(self) -> int:
        """Return the bytes in use after a collection."""
        self.jvm.System.gc()
        return int(self.jvm.java.lang.management.ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed())

    def half_closed(self) -> int:
        """Return how many of its TCP sockets were closed on the other side alone (state 08 in Linux' table)."""
        held = {str(link.readlink()) for link in Path(f"/proc/{self._pid}/fd").iterdir() if link.is_socket()}
        lines = [line for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]]
        closed = [fields[9] for fields in map(str.split, lines) if fields[3] == "08"]
        return sum(f"socket:[{inode}]" in held for inode in closed)

    def counts(self) -> dict[str, int]:
        """Return what can be counted exactly."""
        state = self._session._jsparkSession.sessionState()
        manager = state.dataSourceManager()
        maps = [one for one in manager.getClass().getDeclaredFields() if "HashMap" in one.getType().getName()]
        for one in maps:
            one.setAccessible(True)
        server = self._gateway.java_gateway_server
        return {
            "active queries": len(self._session.streams.active),
            "persistent RDDs": self._context._jsc.getPersistentRDDs().size(),
            "listeners": self._context._jsc.sc().listenerBus().listeners().size(),
            "query listeners": len(self._session._jsparkSession.streams().listListeners()),
            "data sources": sum(one.get(manager).size() for one in maps),
            "temporary tables": self._session._jsparkSession.catalog().listTables().count(),
            "Java objects": server.getGateway().getBindings().size(),
            "callbacks": len(self._gateway.gateway_property.pool),
        }


def census(spark: Spark) -> dict[str, Any]:
    """Count everything."""
    jvm = Jvm(spark)
    return {
        "threads": Counter(_NUMBER.sub("N", thread.name) for thread in threading.enumerate()),
        "files": files(),
        "objects": own_objects(),
        "processes": Counter(_NUMBER.sub("N", command(pid)[:300]) for pid in below(os.getpid())),
        "JVM": jvm.counts(),
        "JVM threads": jvm.threads(),
        "JVM sockets half closed": jvm.half_closed(),
        "doors": len(spark.gate.admitted()),
    }


POOLS = ("-N", "process reaper", "Thread-N", "pool-N-thread-N", "Executor task launch worker")
"""What the names of threads end or begin with that Spark keeps for a minute, in pools with a bound."""
SPARE = {"Java objects": 40, "daemon": 2, "Idle Worker Monitor": EVERY}
"""How much more there may be of what is let go of late, or kept for the next task."""


def grown(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Return what there is more of."""
    more: dict[str, Any] = {}
    for part, now in after.items():
        then = before[part]
        if isinstance(now, set):
            found: Any = now - then
        elif isinstance(now, dict):
            found = {
                name: (then.get(name, 0), count)
                for name, count in now.items()
                if count > then.get(name, 0) + _spare(part, name)
            }
        else:
            found = (then, now) if now > then else None
        if found:
            more[part] = found
    return more


def _spare(part: str, name: str) -> float:
    if part == "JVM threads" and (name.endswith(POOLS) or name.startswith(POOLS)):
        return float("inf")
    return next((extra for word, extra in SPARE.items() if word in name), 0)
