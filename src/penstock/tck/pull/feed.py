"""feed: a source whose every answer is made by a trial, and which notes what its consumer does wrong."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from penstock.spec.pull_interfaces import Abort, Answer, End, asks, cause
from penstock.tck.environment import Environment
from penstock.tck.probe import Runaway
from penstock.tck.pull.asker import depth


class AnswerFeed:
    """A feed of values and then an end: at once, or, what is due, when the trial says so.

    Asks that are held wait for ever, as they do at a source that has nothing yet; an abort ends them. A confirmation
    that is held waits for `confirm()`.
    """

    def __init__(
        self,
        environment: Environment,
        values: Sequence[Any] | None,
        *,
        end: End = True,
        at_once: Callable[[int], bool] = lambda number: True,
        end_value: Any = None,
        close_error: Exception | None = None,
        name: str = "upstream",
    ) -> None:
        self._environment = environment
        self._values = values
        self._last: End = end
        self._at_once = at_once
        self._end_value = end_value
        self._close_error = close_error
        self._end: End | None = None
        self._waiting: deque[Answer] = deque()
        self._due: deque[Callable[[], object]] = deque()
        self._confirmations: list[Callable[[], object]] = []
        self.name = name
        self.hold_asks = False
        self.hold_confirmation = False
        self.on_ask: Callable[[], object] | None = None
        self.log: list[str] = []
        """The names of what happened, shared by feeds where a trial wants to see an order."""
        self.asked = 0
        self.given = 0
        self.aborts: list[End] = []
        self.raised: list[Exception] = []
        """What answer functions of the consumer have raised."""
        self.deepest = 0
        self.blames = True

    @property
    def due(self) -> bool:
        """Tell whether something waits for `step`."""
        return bool(self._due)

    def step(self) -> bool:
        """Make the oldest move that is due; tell whether there was one."""
        if not self._due:
            return False
        self._due.popleft()()
        return True

    def confirm(self) -> None:
        """Confirm the aborts whose confirmation was held."""
        confirmations, self._confirmations = self._confirmations, []
        for confirmation in confirmations:
            confirmation()

    def read(self, abort: Abort, answer: Answer | None = None, /) -> None:
        """Take a request of the consumer."""
        if self._environment.stuck:
            raise Runaway
        self.deepest = max(self.deepest, depth())
        self._environment.pulse()
        if asks(abort):
            self._ask(answer)
        else:
            self._abort(cause(abort), answer)

    def _ask(self, answer: Answer | None) -> None:
        self.asked += 1
        self.log.append(f"{self.name}: ask")
        if self.on_ask is not None:
            self.on_ask()
        if self._end is not None or self.aborts:
            self._breach("A9", f"{self.name} was asked after it had {'been aborted' if self.aborts else 'ended'}")
        if answer is None:
            self._breach("B6", f"{self.name} was asked without an answer function")
            return
        self._waiting.append(answer)
        if not self.hold_asks:
            self._do(self.asked, self._next)

    def _abort(self, reason: End, answer: Answer | None) -> None:
        if self.aborts:
            self._breach("A7", f"{self.name} was aborted {len(self.aborts) + 1} times")
        elif self._end is not None:
            self._breach("A7", f"{self.name} was aborted after it had ended")
        self.aborts.append(reason)
        self.log.append(f"{self.name}: abort")
        if self._end is None:
            self._end = reason

        def settle() -> None:
            while self._waiting:
                self._answer(self._waiting.popleft(), reason)
            self.log.append(f"{self.name}: confirm")
            if answer is not None:
                self._answer(answer, self._close_error or reason)

        if self.hold_confirmation:
            self._confirmations.append(settle)
        else:
            self._do(self.asked + 1, settle)

    def _do(self, number: int, move: Callable[[], object]) -> None:
        if self._at_once(number):
            if self._due:
                self._due.append(move)  # what is late stays before what is not
                while self._due:
                    self.step()
            else:
                move()
        else:
            self._due.append(move)
            self._environment.pulse()

    def _next(self) -> None:
        if not self._waiting:
            return  # an abort came first, and has answered
        answer = self._waiting.popleft()
        if self._end is None and self._values is not None and self.given >= len(self._values):
            self._end = self._last
        if self._end is not None:
            self._answer(answer, self._end, self._end_value)
            return
        value = self.given if self._values is None else self._values[self.given]
        self.given += 1
        self._answer(answer, None, value)

    def _answer(self, answer: Answer, end: End | None, value: Any = None) -> None:
        try:
            if end is None or value is not None:
                answer(end, value)
            else:
                answer(end)
        except Exception as error:
            self.raised.append(error)

    def _breach(self, property_id: str, message: str) -> None:
        if self.blames:
            self._environment.breach(property_id, message)
