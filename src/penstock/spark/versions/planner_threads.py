"""planner_threads: end the threads that Spark forgets of the processes that plan its Python sources.

For each such process Spark starts a thread that looks for idle workers, of which these processes have none, and lets it
sleep and wake as long as the JVM lives. It also holds the session of its query. So a program that runs one query after
the other would have more and more of both.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from itertools import count
from typing import Any

EVERY = 16
"""After how many queries their threads are ended."""
_ended = count(1)
_looking = threading.Lock()
_NAME = "Idle Worker Monitor"
_PLANS = "python_streaming_source_runner"
"""What the name of the module ends with that such a process runs."""


def query_ended(context: Any) -> None:
    """End such threads now and then: each look asks the JVM for all of its threads, which is a question for each."""
    if next(_ended) % EVERY == 0 and _looking.acquire(blocking=False):
        try:
            end_planner_threads(context)
        finally:
            _looking.release()


def end_planner_threads(context: Any) -> None:
    """End the threads of processes that plan; workers of executors keep theirs, which have something to do."""
    with suppress(Exception):  # where a session lets no one look inside, or is closed, they stay
        jvm = context._jvm
        quiet = None
        for thread in _threads(context._gateway, jvm):
            if _NAME in str(thread.getName()) and _plans(thread):
                quiet = quiet or _quiet(jvm)
                thread.setUncaughtExceptionHandler(quiet)
                thread.interrupt()


def _threads(gateway: Any, jvm: Any) -> list[Any]:
    group = jvm.java.lang.Thread.currentThread().getThreadGroup()
    while (above := group.getParent()) is not None:
        group = above
    found = gateway.new_array(jvm.java.lang.Thread, 2 * group.activeCount() + 16)
    filled = group.enumerate(found, True)
    return [found[at] for at in range(filled)]


def _plans(thread: Any) -> bool:
    factory = _field(thread, "$outer")
    return str(_field(factory, "workerModule")).endswith(_PLANS)


def _field(owner: Any, name: str) -> Any:
    field = owner.getClass().getDeclaredField(name)
    field.setAccessible(True)
    return field.get(owner)


def _quiet(jvm: Any) -> Any:
    """Return a handler that does nothing; the JVM would print that a thread was interrupted."""
    invoke, named = jvm.java.lang.invoke, jvm.java.lang.Class.forName
    takes = invoke.MethodType.fromMethodDescriptorString("(Ljava/lang/Thread;Ljava/lang/Throwable;)V", None)
    handler = named("java.lang.Thread$UncaughtExceptionHandler")
    return invoke.MethodHandleProxies.asInterfaceInstance(handler, invoke.MethodHandles.empty(takes))


__all__ = ["EVERY", "end_planner_threads", "query_ended"]
