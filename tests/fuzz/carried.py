"""carried: random chains as runs whose sources are told what is done, held to their models and to what was told."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any

from penstock import NotCarriedError, Sink, Stream
from tests.fuzz import paths
from tests.fuzz.check import UNBOUNDED_PULLS, DifferenceError, interleaves, plain
from tests.fuzz.grammar import Chain, Src, names
from tests.fuzz.models import Failure, Machine, UndeterminedError, World, open_lanes
from tests.fuzz.paths import RunPath, Site
from tests.fuzz.sources import POOL, PREFETCH, Run, Tracker

AGAIN = {"retry"}
"""What opens sources again: the models begin anew, and a source that is told what is done goes on."""
ENOUGH = {
    *("all", "any", "contains", "element_at", "first", "is_empty", "single", "take", "take_while"),
    *("on_error_complete", "on_error_resume", "on_error_return", "switched_once", "zip"),
}
"""What ends a run before all that was read has come to its end; that is given again by another run."""
REMEMBERS = {
    "distinct",
    "drop_repeats",
    "element_at",
    "enumerate",
    "scan",
    "skip",
    "skip_last",
    "skip_while",
    "start_with",
    "stateful_map",
}
"""What goes on otherwise when it begins in the middle, so that results may be lost that were never had."""
WIDE = 1000
"""How many elements may be uncommitted where that is more than a chain has."""
STOOD_STILL = "as many as may be are uncommitted"


@dataclass
class Told:
    """Know what one source has given and was told."""

    given: int = 0
    told: int = 0
    after: int = 0
    ended: bool = False
    wrong: list[str] = field(default_factory=list)


class CarriedSite(Site):
    """Build a chain whose own sources are told what is done; those that functions make are of a kind of the path."""

    def __init__(self, path: RunPath, roots: frozenset[int], after: dict[int, int] | None = None) -> None:
        super().__init__(path)
        self.window = path.window
        self.roots = roots
        self.after = after or {}
        self.told: dict[int, Told] = {}

    def made(self, source: Src) -> Stream[Any]:
        tracker = self._tracker(source)
        if source.number not in self.roots:
            return super().made(source)
        told = self.told.setdefault(source.number, Told(after=self.after.get(source.number, 0)))
        told.told = told.given = told.after
        return Stream.resumable(_Opens(tracker, told, self.path.kind(source)), _Tells(told), window=self.window)

    def check(self, *, all_told: bool) -> None:
        """Hold what the sources were told to what they have given."""
        for number, told in self.told.items():
            if told.wrong:
                raise DifferenceError("what is told goes on, and not beyond what was given", f"{number}: {told.wrong}")
            if all_told and told.ended and told.told < told.given:
                words = f"source {number}: {told.told} of {told.given} were told"
                raise DifferenceError("a run that has come to its end has told all", words)


@dataclass(frozen=True, eq=False)
class _Opens:
    tracker: Tracker
    told: Told
    kind: str

    def __call__(self, after: int | None) -> Any:
        pairs = self._pairs(self.told.after if after is None else after)
        if self.kind == "asynchronous":
            return _later(pairs)
        if self.kind in ("pooled", "threaded"):
            return Stream.from_iterable(pairs).publish_on(POOL, prefetch=PREFETCH)
        return pairs

    def _pairs(self, after: int) -> Iterator[tuple[int, Any]]:
        told = self.told
        run = Run(self.tracker)
        if after > told.given or after < told.told:
            told.wrong.append(f"opened behind {after}, when {told.told} was told and {told.given} given")
        try:
            for place, item in enumerate(run, 1):
                if place > after:
                    told.given = max(told.given, place)
                    yield place, item
            told.ended = True
        finally:
            run.close()


async def _later(pairs: Iterator[tuple[int, Any]]) -> AsyncIterator[tuple[int, Any]]:
    try:
        for pair in pairs:
            await asyncio.sleep(0)
            yield pair
    finally:
        pairs.close()  # type: ignore[attr-defined]


@dataclass(frozen=True, eq=False)
class _Tells:
    told: Told

    def __call__(self, position: int) -> None:
        told = self.told
        if not told.told < position <= told.given:
            told.wrong.append(f"{position} was told behind {told.told}, when {told.given} were given")
        told.told = position


def own_sources(chain: Chain) -> frozenset[int]:
    """Return the numbers of the sources that a chain has by itself, and not by a function."""
    if chain.start:
        return frozenset()
    source = chain.source
    found = {source.number} if isinstance(source, Src) else set(own_sources(source))
    for step in chain.steps:
        for argument in (*step.args, *(option for _, option in step.options)):
            if isinstance(argument, Chain):
                found |= own_sources(argument)
    return frozenset(found)


def stood_still(error: Exception | None) -> bool:
    """Tell whether a run was refused because steps kept all elements that may be uncommitted."""
    return error is not None and STOOD_STILL in str(error)


class _BrokenOffError(Exception):
    pass


class _FullError(Exception):
    """Say that steps may have kept as many elements as may be uncommitted: it is not always known, and is logged."""


class CarriedCheck:
    """Be the runs of one chain."""

    def __init__(self, chain: Chain, path: RunPath) -> None:
        self.chain = chain
        self.path = path
        self.roots = own_sources(chain)

    def run(self) -> bool:
        """Run it whole and broken off; raise DifferenceError, or return whether positions travel through it."""
        if not self.roots:
            return False
        try:
            return self._held()
        except (NotCarriedError, _FullError):
            return False

    def _held(self) -> bool:
        site, found, error = self._once(None, {})
        if stood_still(error) and self.path.window < WIDE:
            return True
        used = names(self.chain)
        if not used & AGAIN:
            self._agrees(found, error)
        site.check(all_told=error is None and not used & ENOUGH)
        if error is None and len(self.roots) == 1 and len(found) < 40 and not used & REMEMBERS:
            self._broken_off(found)
        return True

    def _once(self, most: int | None, after: dict[int, int]) -> tuple[CarriedSite, list[Any], Exception | None]:
        site = CarriedSite(self.path, self.roots, after)
        found: list[Any] = []

        def take(element: Any) -> None:
            if most is not None and len(found) >= most:
                raise _BrokenOffError
            found.append(element)

        error: Exception | None = None
        stream = site.stream(self.chain)
        run = (stream | Sink.for_each(take)).run()
        narrow = self.path.window < WIDE
        try:
            run.wait(1.0 if narrow else paths.PATIENCE)
        except TimeoutError:
            run.cancel()
            if narrow:
                raise _FullError from None
            told = ", ".join(f"{number}: {one}" for number, one in site.told.items())
            raise DifferenceError("hangs", f"a run with window {self.path.window} gave {found}; {told}") from None
        except Exception as failure:
            error = failure
        site.check(all_told=False)
        for tracker in site.all_trackers:
            with tracker.changed:
                tracker.changed.wait_for(lambda: tracker.opened <= tracker.closed, paths.PATIENCE)  # noqa: B023
            if tracker.opened != tracker.closed:
                left = f"{tracker.source.number}: {tracker.opened} runs were opened, {tracker.closed} closed"
                raise DifferenceError("everything is let go", left)
        return site, found, error

    def _agrees(self, found: list[Any], error: Exception | None) -> None:
        try:
            lanes = open_lanes(World(self.path), self.chain)
            if lanes is None:
                whole = Machine(World(self.path), self.chain)
                whole.pull(UNBOUNDED_PULLS)
        except UndeterminedError:
            return
        if lanes is not None:
            ends = [end for _, end in lanes if isinstance(end, Failure)]
            if bool(ends) != (error is not None):
                raise DifferenceError("ends as its model", f"expected {ends}, got {error!r} after {found}")
            if not interleaves([plain(some) for some, _ in lanes], plain(found), whole=not ends):
                raise DifferenceError("agrees with its model", f"expected {lanes} in some order, got {found}")
            return
        wanted = whole.end.error if isinstance(whole.end, Failure) else None
        if plain(error) != plain(wanted):
            raise DifferenceError("ends as its model", f"expected {wanted!r}, got {error!r} after {found}")
        if plain(found) != plain(whole.elements):
            raise DifferenceError("agrees with its model", f"expected {whole.elements}, got {found} and {error!r}")

    def _broken_off(self, whole: list[Any]) -> None:
        for most in range(len(whole)):
            site, had, _ = self._once(most, {})
            after = {number: told.told for number, told in site.told.items()}
            _, rest, failure = self._once(None, after)
            every = Counter(map(repr, whole))
            follows = Counter(map(repr, rest))
            if failure is not None or follows - every:
                return  # it remembers, or refuses to have had nothing
            # Elements, and not lists of them: another run may divide them otherwise, and into lists that are alike.
            lost = _elements(whole) - _elements(had) - _elements(rest)
            if lost:
                words = (
                    f"broken off behind {most} of {whole} and told {after}, the rest was {rest}: {list(lost)} is lost"
                )
                raise DifferenceError("what was had and what follows is everything", words)


def _elements(found: Any) -> Counter[str]:
    """Count the elements, also those in lists."""
    if isinstance(found, list):
        return sum(map(_elements, found), Counter())
    return Counter([repr(found)])


def check_carried(chain: Chain, path: RunPath) -> bool:
    """Hold the runs of a chain to the laws; return whether positions travel through it."""
    return CarriedCheck(chain, path).run()
