"""check: run a chain on a path and hold it to its model and to the contract."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from itertools import cycle
from typing import Any

from penstock import Failed, Next, Recorder
from penstock.testing import Probe, VerificationError
from tests.fuzz import paths
from tests.fuzz.functions import Boom, Cold
from tests.fuzz.grammar import Chain, names
from tests.fuzz.models import DONE, Failure, Machine, UndeterminedError, World, open_lanes
from tests.fuzz.paths import (
    BLOCKING,
    HangError,
    Path,
    Runner,
    Site,
    broken,
    consumed,
    limited,
    probe_of,
)
from tests.fuzz.text import text

UNBOUNDED = 2**63 - 1
ASK_AT_ONCE = {"on_backpressure_buffer"}
"""What asks for everything from the start, because it is for sources that cannot be slowed."""


class DifferenceError(AssertionError):
    """Report that a run differs from its model or breaks the contract; `law` names what it differs in."""

    def __init__(self, law: str, found: str) -> None:
        super().__init__(f"{law}: {found}")
        self.law = law


def check(runner: Runner, chain: Chain, path: Path) -> bool:
    """Run a chain on a path; raise DifferenceError, or return whether the model could say what comes."""
    return Check(runner, chain, path).run()


class Check:
    """Be one run of one chain on one path."""

    def __init__(self, runner: Runner, chain: Chain, path: Path) -> None:
        self.runner = runner
        self.chain = chain
        self.path = path
        self.waits = path.waits(chain)
        self.site = Site(path)
        self.determined = True
        self.lanes: list[tuple[list[Any], Any]] | None = None
        self.bound: Machine | None = None
        self.probe: Probe[Any] | None = None

    def _world(self, *, ahead: bool = False) -> World:
        return World(self.path, ahead=ahead)

    def run(self) -> bool:
        try:
            self.lanes = open_lanes(self._world(), self.chain)
        except UndeterminedError:
            self.determined = False
        if self.lanes is None and self.determined:
            try:
                self.whole = Machine(self._world(), self.chain)
                self.whole.pull(UNBOUNDED_PULLS)
                self.model = Machine(self._world(), self.chain)
            except UndeterminedError:
                self.determined = False
            with suppress(UndeterminedError):
                self.bound = None if names(self.chain) & ASK_AT_ONCE else Machine(self._world(ahead=True), self.chain)
        stream = self.site.stream(self.chain)
        if self.path.observed:
            stream = stream.observed(Recorder())
        try:
            if self.path.mode in BLOCKING:
                self._blocking(stream)
            elif self.path.mode == "break":
                self._break(stream)
            else:
                self._asking(stream)
        except (HangError, VerificationError) as hang:
            raise DifferenceError("hangs", str(hang)) from None
        except UndeterminedError:  # seen only where a model looks further than it was asked to
            self.determined = False
            if self.probe is not None:
                self.probe.cancel()
        except DifferenceError:
            raise
        except Exception as error:
            raise DifferenceError("raises nothing of its own", repr(error)) from error
        self._closed()
        return self.determined

    # Ways to consume.

    def _blocking(self, stream: Any) -> None:
        found, error = consumed(self.runner, stream, self.path.mode)
        if self.path.mode in ("get", "await") and error is not None:
            self._end(None, error)
        else:
            self._end(found, error)

    def _break(self, stream: Any) -> None:
        found = broken(stream, self.path.sizes[0])
        if self.determined and self.lanes is None:
            wanted = self.whole.elements[: self.path.sizes[0]]
            self._same("elements before a break", wanted, found)

    def _asking(self, stream: Any) -> None:
        probe = self.probe = probe_of(self.path)
        mode = self.path.mode
        ask = self._ask
        if mode == "thread":
            stream_of = self.runner.thread.submit(stream.subscribe, probe)
            stream_of.result(paths.PATIENCE)
        else:
            with limited():
                stream.subscribe(probe)
        if mode == "inside":
            probe.wait_until(lambda: probe.ended, "the end") if self.waits else None
            if not probe.ended:
                raise DifferenceError("hangs", f"asked from inside on_next, got {probe}")
        elif mode == "cancel inside":
            if self.waits:
                probe.wait_until(lambda: probe.ended or probe.cancelled, "the end or enough elements")
            self._breaches(probe)
            if len(probe.signals) > self.path.sizes[0] and probe.cancelled:
                raise DifferenceError("says nothing after a cancel", f"got {probe}")
            if self.determined and self.lanes is None:
                self._same("elements before a cancel", self.whole.elements[: self.path.sizes[0]], probe.elements)
            return
        else:
            self._unasked(probe)
            for size in cycle(self.path.sizes if mode in ("slices", "thread", "cancel") else (1,)):
                if probe.ended:
                    break
                ask(probe, UNBOUNDED if mode == "all" else size)
                if mode == "cancel":
                    probe.cancel()
                    self._breaches(probe)
                    return
                if mode == "all" and not probe.ended:
                    raise DifferenceError("hangs", f"asked for all, got {probe}")
        self._breaches(probe)
        self._end(probe.elements, probe.error)

    def _unasked(self, probe: Probe[Any]) -> None:
        """Look at what holds before anything is asked for."""
        reads = {number: tracker.reads for number, tracker in self.site.trackers.items() if tracker.reads}
        if reads and not names(self.chain) & ASK_AT_ONCE:
            raise DifferenceError("nothing is read unasked", f"reads by source were {reads}")
        if not self.determined or self.lanes is not None:
            return
        self.model.peek()
        if self.model.end is not None:
            self._ended("an end with nothing before it is told unasked", probe)

    def _ask(self, probe: Probe[Any], size: int) -> None:
        wanted = len(probe.elements) + size
        if self.path.mode == "thread":
            self.runner.thread.submit(probe.request, size).result(paths.PATIENCE)
        else:
            with limited():
                probe.request(size)
        if self.waits:
            probe.wait_until(lambda: probe.ended or len(probe.elements) >= wanted, f"{size} more elements or the end")
        elif not probe.ended and len(probe.elements) < wanted:
            raise DifferenceError("hangs", f"after a request for {size}, got {probe}")
        self._breaches(probe)
        if not self.determined or self.lanes is not None:
            return
        self.model.pull(min(size, UNBOUNDED_PULLS))
        self._same("elements so far", self.model.elements, probe.elements)
        self._reads(size)
        self.model.peek()
        if self.model.end is not None:
            self._ended("the end comes with the last element", probe)

    def _reads(self, size: int) -> None:
        """Hold what was read of each source against the most that may be read for what was asked."""
        if self.bound is None or size == UNBOUNDED:
            return
        try:
            self.bound.pull(size)
        except UndeterminedError:
            self.bound = None
            return
        for number, tracker in self.site.trackers.items():
            most = self.bound.world.reads[number]
            if tracker.reads > most:
                read = f"source {number} was read {tracker.reads} times"
                asked = len(self.model.elements)
                raise DifferenceError("no hidden reading ahead", f"{read}, {most} at the most for {asked} elements")

    # What must hold.

    def _ended(self, law: str, probe: Probe[Any]) -> None:
        if self.waits:
            with suppress(VerificationError):
                probe.wait_until(lambda: probe.ended, "the end")
        if not probe.ended:
            raise DifferenceError(law, f"expected {_said(self.model.end)} after {self.model.elements}, got {probe}")

    def _breaches(self, probe: Probe[Any]) -> None:
        if probe.breaches:
            raise DifferenceError("keeps the contract", probe.breaches[0])

    def _same(self, what: str, wanted: list[Any], found: list[Any]) -> None:
        if wanted != found and plain(wanted) != plain(found):
            raise DifferenceError("agrees with its model", f"{what}: expected {wanted}, got {found}")

    def _end(self, found: list[Any] | None, error: Exception | None) -> None:
        if not self.determined:
            return
        if self.lanes is not None:
            self._interleaved(self.lanes, found, error)
            return
        end = self.whole.end
        if found is not None:
            said = f"{found} and {_spoken(error)}"
            if plain(found) != plain(self.whole.elements):
                wanted = f"{self.whole.elements} and {_said(end)}"
                raise DifferenceError("agrees with its model", f"expected {wanted}, got {said}")
        wanted_error = end.error if isinstance(end, Failure) else None
        if plain(error) != plain(wanted_error):
            raise DifferenceError("ends as its model", f"expected {_said(end)}, got {_spoken(error)} after {found}")

    def _interleaved(
        self, lanes: list[tuple[list[Any], Any]], found: list[Any] | None, error: Exception | None
    ) -> None:
        ends = [end for _, end in lanes if isinstance(end, Failure)]
        if bool(ends) != (error is not None) or (ends and plain(error) not in [plain(end.error) for end in ends]):
            wanted = " or ".join(_said(end) for end in ends or [DONE])
            raise DifferenceError("ends as its model", f"expected {wanted}, got {_spoken(error)} after {found}")
        if found is not None and not interleaves([plain(some) for some, _ in lanes], plain(found), whole=not ends):
            some = [some for some, _ in lanes]
            raise DifferenceError("agrees with its model", f"expected {some} in some order of theirs, got {found}")

    def _closed(self) -> None:
        """See that every run of every source is over."""
        for tracker in self.site.all_trackers:
            name = f"source {tracker.source.number}" if tracker is not self.site.runs else "using or do_finally"
            if self.waits:
                with tracker.changed:
                    tracker.changed.wait_for(lambda: tracker.opened <= tracker.closed, paths.PATIENCE)  # noqa: B023
            if tracker.opened != tracker.closed:
                left = f"{name}: {tracker.opened} runs were opened, {tracker.closed} closed"
                raise DifferenceError("everything is let go", left)


UNBOUNDED_PULLS = 1000
"""More than any chain that is not called too big gives."""


def interleaves(lanes: list[list[Any]], found: list[Any], *, whole: bool) -> bool:
    """Tell whether a list is an interleaving of lists, or of beginnings of them."""

    @cache
    def fits(places: tuple[int, ...]) -> bool:
        place = sum(places)
        if place == len(found):
            return not whole or all(at == len(lane) for at, lane in zip(places, lanes, strict=True))
        return any(
            at < len(lane) and lane[at] == found[place] and fits((*places[:i], at + 1, *places[i + 1 :]))
            for i, (at, lane) in enumerate(zip(places, lanes, strict=True))
        )

    return fits((0,) * len(lanes))


def plain(value: Any) -> Any:
    """Make errors comparable: those of ours by name, all others by type."""
    match value:
        case Boom() | Cold():
            return value
        case Exception():
            return type(value)
        case Failed(error):
            return ("failed", plain(error))
        case Next(element):
            return ("next", plain(element))
        case list():
            return [plain(one) for one in value]
        case tuple():
            return tuple(plain(one) for one in value)
        case _:
            return value


def _said(end: Any) -> str:
    return f"error {end.error!r}" if isinstance(end, Failure) else "complete"


def _spoken(error: Exception | None) -> str:
    return "complete" if error is None else f"error {error!r}"


def expression(chain: Chain, path: Path) -> str:
    """Print a chain with the sources of a path."""
    return text(chain, path.kind)
