"""committing: what holds for a chain whose source is told what is done, as one call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from penstock.sinks import Sink
from penstock.stream import Stream
from penstock.testing.signals import VerificationError

Use = Callable[[Stream[Any]], Stream[Any]]


def check_commits(
    use: Use,
    *,
    elements: int = 20,
    window: int = 8,
    remembers: bool = False,
    wait: float = 60.0,
) -> None:
    """Hold what follows a source to the laws of telling it what is done.

    1. a commit never goes back, and never goes beyond what the source has given;
    2. at most `window` elements are uncommitted, unless nothing is known before the end of the source;
    3. when the run has come to the end of the source, all of it is committed;
    4. whenever the run is broken off, what its end has had, and what a run from the last commit gives, is everything,
       unless it remembers something and so gives other things when it begins in the middle, as `scan` does.

    Args:
        use: Makes a stream of one of the numbers from 1 on; its functions give the same for the same.
        elements: How many numbers there are.
        window: How many of them may be uncommitted at a time.
        remembers: Whether the fourth law is not asked for, because the chain remembers something that cannot be seen by
            its results, as `skip` does.
        wait: How many seconds a run may take before it counts as one that hangs.

    Raises:
        VerificationError: A law is broken.
        NotCarriedError: Positions do not travel through a step.

    >>> check_commits(lambda numbers: numbers.filter(lambda n: n % 2).buffer(3))
    """
    whole = _Trial(use, elements, window)
    whole.run(None, wait)
    whole.check_end()
    for most in range(0 if remembers else len(whole.results)):
        broken = _Trial(use, elements, window)
        broken.run(most, wait)
        rest = _Trial(use, elements, window, broken.told)
        rest.run(None, wait)
        if rest.counted - whole.counted:
            continue  # it remembers
        lost = whole.counted - broken.counted - rest.counted
        if lost:
            raise _refused(
                "what was had and what follows the last commit is everything",
                f"broken off behind {most} results and told {broken.told}, {sorted(lost, key=repr)!r:.200} never came",
            )


class _Broken(Exception):
    """The end of a run that is broken off."""


class _Trial:
    """One run, and what was seen of it."""

    def __init__(self, use: Use, elements: int, window: int, after: int = 0) -> None:
        self._use = use
        self._elements = elements
        self._window = window
        self._after = after
        self.given = after
        self.told = after
        self.results: list[Any] = []
        self._refusal: VerificationError | None = None
        self._beyond: VerificationError | None = None
        self._ended = False

    @property
    def counted(self) -> Counter[str]:
        """Return the results, counted by what they look like."""
        return Counter(map(repr, self.results))

    def run(self, most: int | None, wait: float) -> None:
        """Run it, until so many results have come."""

        def take(result: Any) -> None:
            if most is not None and len(self.results) >= most:
                raise _Broken
            self.results.append(result)

        source = Stream.resumable(self._open, self._commit, window=self._window)
        run = (self._use(source) | Sink.for_each(take)).run()
        try:
            run.wait(wait)
        except _Broken:
            pass
        except TimeoutError:
            run.cancel()
            words = f"{self.given} elements were given and {self.told} committed, and the run went no further"
            raise _refused("a run comes to its end", words) from None
        if self._refusal is not None:
            raise self._refusal

    def _open(self, after: int | None) -> Iterator[tuple[int, int]]:
        for number in range((after or self._after) + 1, self._elements + 1):
            if number - self.told > self._window:
                words = f"{number - self.told} are uncommitted when {number} is asked for, and {self._window} may be"
                self._beyond = self._beyond or _refused("at most `window` elements are uncommitted", words)
            self.given = max(self.given, number)
            yield number, number
        self._ended = True

    def _commit(self, position: int) -> None:
        if not self._ended:
            self._refusal = self._refusal or self._beyond
        if not self.told < position <= self.given:
            words = f"{position} was committed behind {self.told}, when {self.given} elements had been given"
            self._refusal = self._refusal or _refused("a commit goes on, and never beyond what was given", words)
        self.told = position

    def check_end(self) -> None:
        """Refuse a run that has had everything and not said so."""
        if self._ended and self.told != self._elements:
            raise _refused(
                "a run that has come to the end of the source has committed it",
                f"{self.told} of {self._elements} are committed",
            )


def _refused(law: str, words: str) -> VerificationError:
    return VerificationError(f"check_commits: law '{law}': {words}")


__all__ = ["check_commits"]
