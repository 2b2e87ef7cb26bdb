"""house_walks: the way of the first element and of the first request through the modules, from a real run.

The chain of the page is run once to warm up, so that its loops are woven already, and once more while every call is
written down. A request walks from the call of `request` until the source is read for the first time. An element walks
from the first call of `f` until the subscriber has it. Nothing is left to chance: the request waits until the worker's
thread is idle, and `f` makes no second element before the first one has arrived.

A stop is a module when the walk comes there for the first time on a thread, and every `request` on the way. The
functions of the user are stops too.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import penstock
from penstock import Stream, Subscription, thread

PACKAGE = Path(penstock.__file__).parent
PATIENCE = 60  # seconds, on a machine that has much else to do
MARKED = re.compile(r"<!-- walk: (\w+) -->\n(.*?)<!-- end of the walk -->", re.DOTALL)
WRITTEN = re.compile(r"^\d+\. `([^`]+)`(?:, `([^`]+)`)?", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Call:
    """A call of penstock's code, or of the user's, where `module` is empty."""

    thread: int
    module: str
    function: str

    @property
    def stop(self) -> str:
        """Write it as a stop of a walk."""
        return f"{self.module} {self.function}".strip()


class User:
    """What a user of a chain writes: its three functions, and a subscriber."""

    def __init__(self) -> None:
        self.subscription: Subscription | None = None
        self.arrived = threading.Event()

    def f(self, number: int) -> int:
        """Make no second element before the first one has arrived."""
        if number and not self.arrived.wait(PATIENCE):
            raise TimeoutError("the first element has not arrived")
        return 10 * number

    def g(self, number: int) -> bool:
        """Keep every other element."""
        return number % 20 == 0

    def h(self, number: int) -> list[int]:
        """Make two elements of one."""
        return [number, number + 1]

    def chain(self) -> Stream[int]:
        """Return the chain of the page."""
        return Stream.range(5).map(self.f).publish_on(thread()).filter(self.g).flat_map(self.h)

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Keep the subscription, and ask later."""
        self.subscription = subscription

    def on_next(self, _: int, /) -> None:
        """Take note that the element is here."""
        self.arrived.set()

    def on_error(self, error: Exception, /) -> None:
        """Let nobody wait."""
        self.arrived.set()

    def on_complete(self) -> None:
        """Let nobody wait."""
        self.arrived.set()


class Trace:
    """The calls of a run, in order, on all threads that were started meanwhile."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.idle = threading.Event()
        self._started = threading.get_ident()
        self._depths: dict[int, int] = {}

    def __enter__(self) -> Trace:
        self._others = sys.getprofile(), threading.getprofile()
        threading.setprofile(self._profile)
        sys.setprofile(self._profile)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(self._others[0])
        threading.setprofile(self._others[1])

    def _profile(self, frame: FrameType, event: str, _: Any) -> None:
        if event not in {"call", "return"}:
            return
        here = call_of(frame)
        if here is None:
            return
        depth = self._depths[here.thread] = self._depths.get(here.thread, 0) + (1 if event == "call" else -1)
        caller = None if frame.f_back is None else call_of(frame.f_back)
        if caller is not None and (not here.module or is_loop(here.module)):
            self.calls.append(caller)  # it gives the element to the user's function, or gets it from the loop
        if event == "call":
            self.calls.append(here)
        elif depth == 1 and here.thread != self._started:
            self.idle.set()  # a task has ended, and only the function that waits for tasks is left on the stack


def call_of(frame: FrameType) -> Call | None:
    """Return what a frame is a call of, or None if that is neither penstock nor the user."""
    code = frame.f_code
    here = threading.get_ident()
    if is_loop(code.co_filename):
        return Call(here, re.sub(r" \d+>", ">", code.co_filename), "")
    path = Path(code.co_filename)
    if path.is_relative_to(PACKAGE):
        module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        return Call(here, module, re.sub(r"\.<(locals|lambda)>", "", code.co_qualname))
    if code.co_qualname.startswith(f"{User.__name__}."):
        return Call(here, "", code.co_name)
    return None


def is_loop(name: str) -> bool:
    """Tell whether a name is the one that `engine/weaving/weave.py` gives to the file of a loop."""
    return name.startswith("<penstock ")


def run(user: User, trace: Trace | None = None) -> None:
    """Ask for one element, and wait until it has come."""
    user.chain().subscribe(user)
    assert user.subscription is not None
    if trace is not None:
        assert trace.idle.wait(PATIENCE)
        trace.calls.clear()
    user.subscription.request(1)
    assert user.arrived.wait(PATIENCE)
    user.subscription.cancel()


def stops(calls: Iterable[Call]) -> Iterator[str]:
    """Give each module the first time on a thread, every `request`, and the user's functions."""
    seen: set[tuple[int, str]] = set()
    for call in calls:
        asks = call.function.endswith(".request")
        if asks or not call.module or (call.thread, call.module) not in seen:
            seen.add((call.thread, call.module))
            yield call.stop


def walks() -> dict[str, list[str]]:
    """Run the chain and return the two walks."""
    run(User())
    with Trace() as trace:
        run(User(), trace)
    asking = threading.get_ident()
    here = [call for call in trace.calls if call.thread == asking]
    there = [call for call in trace.calls if call.thread != asking]
    names = [call.stop for call in here]
    first = names.index("f")
    second = names.index("f", first + 1)
    last = [call.stop for call in there].index("on_next")
    return {
        "request": list(stops(here[:first])),
        "element": list(stops([*here[first - 1 : second], *there[: last + 1]])),
    }


def written(page: str) -> dict[str, list[str]]:
    """Read the walks of a page: the stops between its marks, each with the module and the function first."""
    return {
        name: [" ".join(filter(None, stop)) for stop in WRITTEN.findall(text)] for name, text in MARKED.findall(page)
    }


def complaints(page: str) -> list[str]:
    """Say how the walks of a page differ from those of today."""
    there = written(page)
    return [
        f"docs/house.md: the walk of the first {name} is now:\n" + "\n".join(f"  {stop}" for stop in today)
        for name, today in walks().items()
        if there.get(name) != today
    ]
