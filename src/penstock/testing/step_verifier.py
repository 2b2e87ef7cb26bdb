"""step_verifier: tell step by step what a stream must do, then let it be checked."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.engine.places.clocks import VirtualClock
from penstock.engine.places.event_loops import blocking
from penstock.engine.words.arguments import count_given, function_given
from penstock.engine.words.demand import UNBOUNDED
from penstock.spec.interfaces import Publisher
from penstock.testing.probe import Probe, meet
from penstock.testing.signals import PATIENCE, Completed, Failed, Next, Signal, VerificationError, spoken


@dataclass(frozen=True, slots=True)
class _Step:
    """A step: how it reads, and what it does."""

    text: str
    do: Callable[[_Course], None]


class _Course:
    """A run: the probe, and how many of its signals were expected so far."""

    def __init__(self, verifier: StepVerifier) -> None:
        self.probe: Probe[Any] = Probe(verifier.first_request, patience=verifier.timeout)
        self.timeout = verifier.timeout
        self.seen = 0
        self.loose = False  # after a cancel late elements are allowed (rule 2.8)

    def following(self, what: str) -> Signal:
        """Return the next signal that was not expected yet, waiting for it."""
        try:
            self.probe.wait_until(lambda: len(self.probe.signals) > self.seen, what)
        except VerificationError:
            unasked = what.startswith("next") and not self.probe.requested
            raise VerificationError(f"expected {what}, got nothing{self._within()}{_ASK if unasked else ''}") from None
        self.seen += 1
        return self.probe.signals[self.seen - 1]

    def _within(self) -> str:
        return f" within {self.timeout} seconds" if self.timeout else ""


_ASK = "; nothing was requested: say request() before"


class StepVerifier:
    """A check of a stream by a script of steps; each step gives a new verifier, so a script can be extended and reused.

    An asynchronous stream is waited for, `timeout` seconds at most for each expectation; nothing sleeps. A clock that
    is given must be the one the stream uses.

    >>> from penstock import Stream
    >>> script = StepVerifier(Stream.range(3), request=2).expect(0, 1).expect_nothing()
    >>> script.request(1).expect(2).expect_complete().verify()
    """

    __slots__ = ("clock", "first_request", "publisher", "steps", "timeout")

    def __init__(
        self,
        publisher: Publisher[Any],
        *,
        clock: VirtualClock | None = None,
        request: int = 0,
        timeout: float = PATIENCE,
        steps: tuple[_Step, ...] = (),
    ) -> None:
        self.publisher = publisher
        self.clock = clock
        self.first_request = request
        self.timeout = timeout
        self.steps = steps

    def _then(self, text: str, do: Callable[[_Course], None]) -> StepVerifier:
        return StepVerifier(
            self.publisher,
            clock=self.clock,
            request=self.first_request,
            timeout=self.timeout,
            steps=(*self.steps, _Step(text, do)),
        )

    # What is done to the stream.

    def request(self, n: int = UNBOUNDED) -> StepVerifier:
        """Ask for `n` more elements; for all there are unless `n` is given."""
        return self._then(f"request({'' if n == UNBOUNDED else n})", lambda course: course.probe.request(n))

    def cancel(self) -> StepVerifier:
        """Cancel; elements that were on their way may still come."""

        def do(course: _Course) -> None:
            course.loose = True
            course.probe.cancel()

        return self._then("cancel()", do)

    def advance(self, seconds: float) -> StepVerifier:
        """Move the virtual clock on."""
        clock = self.clock
        if clock is None:
            raise TypeError("step_verifier: advance needs a clock; say StepVerifier(stream, clock=VirtualClock())")
        return self._then(f"advance({seconds})", lambda course: clock.advance(seconds))

    def then(self, fn: Callable[[], object]) -> StepVerifier:
        """Call a function between two steps."""
        function_given("step_verifier", "then: fn", fn)
        return self._then(f"then({getattr(fn, '__qualname__', fn)})", lambda course: _call(fn))

    # What is expected of it.

    def expect(self, *elements: Any) -> StepVerifier:
        """Expect exactly these elements next."""

        def do(course: _Course) -> None:
            for element in elements:
                found = course.following(f"next({element!r})")
                if not isinstance(found, Next) or found.element != element:
                    raise VerificationError(f"expected next({element!r}), got {found}")

        return self._then(f"expect({', '.join(map(repr, elements))})", do)

    def expect_count(self, count: int) -> StepVerifier:
        """Expect so many elements next, whatever they are."""
        count_given("step_verifier", "expect_count: count", count, 0)

        def do(course: _Course) -> None:
            for number in range(1, count + 1):
                found = course.following(f"element {number} of {count}")
                if not isinstance(found, Next):
                    raise VerificationError(f"expected element {number} of {count}, got {found}")

        return self._then(f"expect_count({count})", do)

    def expect_nothing(self) -> StepVerifier:
        """Expect that no signal has come since the last one that was expected; this does not wait."""

        def do(course: _Course) -> None:
            more = course.probe.signals[course.seen :]
            if more:
                raise VerificationError(f"expected nothing, got {spoken(more)}")

        return self._then("expect_nothing()", do)

    def expect_complete(self) -> StepVerifier:
        """Expect the stream to complete next."""

        def do(course: _Course) -> None:
            found = course.following("complete")
            if not isinstance(found, Completed):
                raise VerificationError(f"expected complete, got {found}")

        return self._then("expect_complete()", do)

    def expect_error(self, kind: type[Exception] = Exception, match: str | None = None) -> StepVerifier:
        """Expect the stream to fail next, with this type and a message that the pattern is found in."""
        if not (isinstance(kind, type) and issubclass(kind, Exception)):
            cure = f"; expect_error({type(kind).__name__}) expects one" if isinstance(kind, Exception) else ""
            raise TypeError(f"step_verifier: expect_error: kind must be a type of exception, got {kind!r}{cure}")
        wanted = kind.__name__ if match is None else f"{kind.__name__} matching {match!r}"

        def do(course: _Course) -> None:
            found = course.following(f"error of type {wanted}")
            if not isinstance(found, Failed) or not isinstance(found.error, kind):
                raise VerificationError(f"expected error of type {wanted}, got {found}")
            if match is not None and not re.search(match, str(found.error)):
                raise VerificationError(f"expected error of type {wanted}, got the message {str(found.error)!r}")

        return self._then(f"expect_error({kind.__name__}{'' if match is None else f', {match!r}'})", do)

    # Running it.

    def verify(self) -> None:
        """Run the steps; raise VerificationError at the first that is not met, or if more came than was expected."""
        course = _Course(self)
        with blocking():
            meet(self.publisher, course.probe)
            try:
                for number, step in enumerate(self.steps, 1):
                    self._run(number, step, course)
                self._check_rest(course)
            finally:
                if course.probe.subscription is not None and not course.probe.ended:
                    course.probe.cancel()

    def _run(self, number: int, step: _Step, course: _Course) -> None:
        try:
            step.do(course)
        except VerificationError as error:
            raise VerificationError(
                f"step {number} of {len(self.steps)}, {step.text}: {error}; all signals: {spoken(course.probe.signals)}"
            ) from None
        if course.probe.breaches:
            raise VerificationError(f"step {number} of {len(self.steps)}, {step.text}: {course.probe.breaches[0]}")

    def _check_rest(self, course: _Course) -> None:
        more = course.probe.signals[course.seen :]
        if more and not course.loose:
            raise VerificationError(f"after the last step: expected nothing, got {spoken(more)}")


def _call(fn: Callable[[], object]) -> None:
    fn()
