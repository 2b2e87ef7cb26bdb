"""paths: the ways to run a chain: what its sources are, and how it is consumed."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from penstock import Recorder, Registry, Stream, VirtualClock, inline
from penstock.testing import Probe
from tests.fuzz.functions import Add, Boom, Breaks, Fizz, InOrder, weight
from tests.fuzz.grammar import Chain, Grammar, Inner, Made, Src, Step
from tests.fuzz.sources import KINDS, POOL, Tracker

PATIENCE = 20.0
"""How many seconds a signal from another thread may take; only a hang takes so long."""

BLOCKING = ("for", "get", "async for", "await")
ASKING = ("all", "one", "slices", "inside", "thread")
CANCELLING = ("cancel", "cancel inside", "break")
WAITING_STEPS = {"map_async", "map_async_unordered", "parallel_mapped"}


@dataclass(frozen=True)
class Path:
    """Be one way to run a chain."""

    mode: str = "for"
    kinds: tuple[str, ...] = ("listed",)
    """The kinds of the sources, by their numbers, again and again."""
    sizes: tuple[int, ...] = (1,)
    """How much is asked for, again and again; the first says also after how many elements to cancel."""
    observed: bool = False

    def kind(self, source: Src) -> str:
        return self.kinds[source.number % len(self.kinds)]

    def waits(self, chain: Chain) -> bool:
        """Tell whether signals may come from elsewhere, so that one has to wait for them."""
        return any(KINDS[kind].waits for kind in self.kinds) or _waits(chain)

    def knows(self, source: Src, fails: bool) -> bool:
        """Tell whether a source tells its end with its last item."""
        name = self.kind(source)
        kind = KINDS[name]
        if fails:
            alone = not source.items and not source.flaky
            return kind.fails or (alone and name in ("listed", "just", "wrapped", "inlined", "pooled"))
        return kind.completes and (kind.fails or not source.error)

    def plain(self, source: Src) -> bool:
        """Tell whether a source need not be subscribed to see that it has no element."""
        return self.kind(source) in ("listed", "just")

    def held(self, source: Src) -> int:
        return KINDS[self.kind(source)].held


def _waits(value: Any) -> bool:
    match value:
        case Chain(source, steps, _):
            return _waits(source) or any(map(_waits, steps))
        case Step(name, args, options):
            return name in WAITING_STEPS or any(map(_waits, args)) or any(_waits(option) for _, option in options)
        case Inner(chain, _):
            return _waits(chain)
        case Breaks(fn, _, _):
            return _waits(fn)
        case Made(what):
            return what == "pool"
        case _:
            return False


SLOW_KINDS = [name for name, kind in KINDS.items() if kind.waits]
FAST_KINDS = [name for name, kind in KINDS.items() if not kind.waits]


@dataclass(frozen=True)
class RunPath(Path):
    """Be a run of a pipeline whose sources are told what is done; so many elements of each may be uncommitted."""

    window: int = 1000

    def knows(self, source: Src, fails: bool) -> bool:
        return False


def run_path(g: Grammar) -> RunPath:
    """Draw a run."""
    kinds = SLOW_KINDS if g.chance(8) else FAST_KINDS
    return RunPath("run", (g.one_of(kinds),), window=g.one_of((1000, 1000, 4, 2, 1)))


def path(g: Grammar) -> Path:
    """Draw a path."""
    if g.chance(4):
        return run_path(g)
    modes = (*ASKING, *BLOCKING, *CANCELLING)
    mode = modes[g.below(len(modes))]
    kinds = SLOW_KINDS if g.chance(8) else FAST_KINDS
    some = tuple(g.one_of(kinds) for _ in range(1 + (g.below(3) if g.below(2) else 0)))
    sizes = tuple(1 + g.below(4) for _ in range(1 + g.below(2))) if mode not in BLOCKING else (1,)
    return Path(mode, some, sizes, g.chance(8))


# Building a chain.


class Site:
    """Build one chain for one path, and keep what its sources count."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.trackers: dict[int, Tracker] = {}
        self.runs = Tracker(Src(-1, ()))
        """The runs of using and do_finally."""

    def stream(self, chain: Chain) -> Stream[Any]:
        source = chain.source
        if isinstance(source, Src):
            made = self.made(source)
        elif chain.start == "defer":
            made = Stream.defer(lambda: self._given(source))
        else:
            made = Stream.using(self.runs.open, lambda _: self._given(source), lambda _: self.runs.close())
        return self.applied(made, chain.steps)

    def applied(self, made: Stream[Any], steps: tuple[Step, ...]) -> Stream[Any]:
        """Return a stream with steps behind it."""
        for one in steps:
            arguments = [self._argument(argument) for argument in one.args]
            options = {key: self._argument(argument) for key, argument in one.options}
            if one.name in MACROS:
                made = MACROS[one.name](made, *arguments, **options)
            else:
                made = getattr(made, one.name)(*arguments, **options)
        return made

    def made(self, source: Src) -> Stream[Any]:
        """Return the stream of a source."""
        made: Stream[Any] = KINDS[self.path.kind(source)].make(self._tracker(source))
        return made

    def _tracker(self, source: Src) -> Tracker:
        return self.trackers.setdefault(source.number, Tracker(source))

    def _given(self, chain: Chain) -> Any:
        """Return what a function may return for a chain: a stream, or the bare source."""
        if isinstance(chain.source, Src) and not chain.steps:
            raw = KINDS[self.path.kind(chain.source)].raw
            if raw is not None:
                return raw(self._tracker(chain.source))
        return self.stream(chain)

    def _argument(self, argument: Any) -> Any:
        match argument:
            case Chain():
                return self.stream(argument)
            case Inner(chain, shifted):
                if shifted:
                    return lambda element: self.stream(chain).map(Add(weight(element)))
                return lambda _: self._given(chain)
            case Breaks(Inner() as inner, _, _):
                return replace(argument, fn=self._argument(inner))
            case Made(what):
                return MADE[what](self)
            case _:
                return argument

    @property
    def all_trackers(self) -> list[Tracker]:
        return [*self.trackers.values(), self.runs]


MADE: dict[str, Callable[[Site], Any]] = {
    "int": lambda _: int,
    "Fizz": lambda _: Fizz,
    "Boom": lambda _: Boom,
    "inline": lambda _: inline(),
    "pool": lambda _: POOL,
    "clock": lambda _: VirtualClock(),
    "registry": lambda _: Registry(),
    "recorder": lambda _: Recorder(),
    "runs": lambda site: site.runs,
}


def _sorted(stream: Stream[Any]) -> Stream[Any]:
    return stream.to_list().map(InOrder()).flatten()


def _both(parts: tuple[Stream[Any], Stream[Any]]) -> Stream[Any]:
    return parts[0].merge(parts[1])


# What text.MACROS prints.
MACROS: dict[str, Callable[..., Stream[Any]]] = {
    "combined_last": lambda s, *others, **o: s.combine_latest(*others, **o).last(),
    "do_finally": lambda s, runs: s.tap(on_subscribe=runs.open).do_finally(runs.close),
    "expanded": lambda s, fn, concurrency: _sorted(s.expand(fn, concurrency=concurrency)),
    "flat_mapped": lambda s, fn, **o: _sorted(s.flat_map(fn, **o)),
    "groups_listed": lambda s, key: _sorted(
        s.group_by(key).flat_map(lambda g: g.to_list().map(lambda some: (g.key, some)), concurrency=64)
    ),
    "joined": lambda s, other, key, how: _sorted(s.join(other, key, how=how)),
    "map_async_unordered": lambda s, fn, concurrency: _sorted(s.map_async(fn, concurrency=concurrency, ordered=False)),
    "merged": lambda s, *others, **o: _sorted(s.merge(*others, **o)),
    "parallel_mapped": lambda s, rails, fn, predicate: s.parallel(
        rails, lambda some: some.map(fn).filter(predicate), prefetch=4, executor=POOL
    ),
    "partition_both": lambda s, predicate: _sorted(_both(s.partition(predicate))),
    "partition_first": lambda s, predicate: s.partition(predicate)[0],
    "partition_second": lambda s, predicate: s.partition(predicate)[1],
    "race_never": lambda s: Stream.never().race(s),
    "skip_until_now": lambda s: s.skip_until(Stream.just(0)),
    "switched_once": lambda s, fn: s.take(1).switch_map(fn),
    "take_until_never": lambda s: s.take_until(Stream.never()),
    "windows_begun": lambda s, count: s.window(count).concat_map(lambda w: w.take(1)),
    "windows_listed": lambda s, count: s.window(count).concat_map(lambda w: w.to_list()),
    "windows_whole": lambda s, count: s.window(count).concat_map(lambda w: w),
    "with_latest_from_one": lambda s: s.with_latest_from(Stream.just(60)),
}


# Consuming it.


class HangError(Exception):
    """Report that nothing came for a long time."""


class limited:
    """Raise HangError in a main thread that waits too long; a timer that was set before goes on.

    It is no generator, because contextlib sets attributes of the exceptions that pass, which some of them refuse.
    """

    def __enter__(self) -> None:
        self._handler = signal.signal(signal.SIGALRM, self._ring)
        self._before = signal.setitimer(signal.ITIMER_REAL, PATIENCE)

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, *self._before)
        signal.signal(signal.SIGALRM, self._handler)

    @staticmethod
    def _ring(*_: object) -> None:
        raise HangError(f"nothing came for {PATIENCE} seconds")


class Runner:
    """Own the event loop and the thread that consumers run on; made once for many runs."""

    def __init__(self) -> None:
        self.loop = asyncio.Runner()
        self.thread = ThreadPoolExecutor(1, "fuzz-consumer")

    def close(self) -> None:
        self.loop.close()
        self.thread.shutdown()


def consumed(runner: Runner, stream: Stream[Any], mode: str) -> tuple[list[Any], Exception | None]:
    """Take everything in one of the blocking ways; return the elements before the end, and the error."""
    found: list[Any] = []
    try:
        with limited():
            if mode == "for":
                for element in stream:
                    found.append(element)  # noqa: PERF402  an error must leave those before it
            elif mode == "get":
                found = stream.to_list().get()
            elif mode == "async for":
                runner.loop.run(_collect(stream, found))
            else:
                found = runner.loop.run(_value(stream))
    except HangError:
        raise
    except Exception as error:
        return found, error
    return found, None


async def _collect(stream: Stream[Any], found: list[Any]) -> None:
    async for element in stream:
        found.append(element)  # noqa: PERF401


async def _value(stream: Stream[Any]) -> list[Any]:
    made: list[Any] = await stream.to_list()
    return made


def broken(stream: Stream[Any], count: int) -> list[Any]:
    """Leave a `for` loop after so many elements."""
    found: list[Any] = []
    with limited(), stream.open(window=1) as elements:
        try:
            for element in elements:
                found.append(element)
                if len(found) == count:
                    break
        except HangError:
            raise
        except Exception:
            pass
    return found


def probe_of(path: Path) -> Probe[Any]:
    """Return a subscriber for the ways of asking."""
    size = path.sizes[0]
    if path.mode == "inside":

        def ask(_: object) -> None:
            if not probe.ended:
                probe.request(1)

        probe: Probe[Any] = Probe(1, on_signal=ask, patience=PATIENCE)
        return probe
    if path.mode == "cancel inside":

        def cancel(_: object) -> None:
            if not stopped.cancelled and len(stopped.elements) == size:
                stopped.cancel()

        stopped: Probe[Any] = Probe(2**63 - 1, on_signal=cancel, patience=PATIENCE)
        return stopped
    return Probe(patience=PATIENCE)
