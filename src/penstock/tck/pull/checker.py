"""checker: watch what two pull-stream modules say to each other, and name the property that one of them breaks.

What breaks the protocol is kept from the other neighbour: a second answer, a value after the end or after an abort, an
end that is another one than before, or, with `strict`, a request after the end is not passed on, and an answer out of
turn waits for its turn. `faults` holds what was seen; `verify()` raises the first,
and tells of requests that were never answered. With `strict` the consumer is held to what penstock's own modules keep
though the protocol lets it pass: no ask after the end, and at most one abort.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from threading import Lock
from typing import Any

from penstock.spec.pull_error import PullError
from penstock.spec.pull_interfaces import Abort, Answer, End, Read, asks, cause, end_of
from penstock.spec.shown import shown

OnFault = Callable[[PullError], object]


class _Request:
    """A request that has an answer function, and what became of it."""

    __slots__ = ("abort", "answer", "end", "late", "number", "outcome")

    def __init__(self, number: int, abort: Abort, answer: Answer, *, late: bool) -> None:
        self.number = number
        self.abort = abort
        self.answer = answer
        self.late = late
        """Whether it came after an abort."""
        self.outcome: tuple[End | None, Any] | None = None
        self.end: End | None = None
        """What is passed on in place of a value that must not be there."""


class PullChecker:
    """A through that changes nothing and looks at everything; wired once."""

    def __init__(self, *, strict: bool = False, on_fault: OnFault | None = None) -> None:
        self.strict = strict
        self.faults: list[PullError] = []
        self._on_fault = on_fault
        self._lock = Lock()
        self._read: Read | None = None
        self._open: deque[_Request] = deque()
        self._passing = False
        self._count = 0
        self._end: End | None = None
        self._aborted: End | None = None
        self._confirmed: End | None = None
        """What the first abort was answered with."""
        self._garbled = False
        """Whether what was taken for the end was none, so that no other fault is seen in what follows."""
        self._answered_abort = True
        """Whether the first abort had an answer function."""

    def watch(self, read: Read, /) -> Read:
        """Watch `read`: return what is read in its place."""
        if self._read is not None:
            raise PullError("B15", "checker watches a source already; use one for each place")
        self._read = read
        return self._request

    @property
    def pending(self) -> int:
        """Return how many requests wait for their answer."""
        return len(self._open)

    def verify(self) -> None:
        """Raise the first fault; a request without an answer is one, so call it when all is over."""
        if self.faults:
            raise self.faults[0]
        with self._lock:
            left = [request.number for request in self._open if request.outcome is None]
        if left:
            raise PullError("B2", f"{len(left)} requests were never answered, first request {left[0]}")

    def _fault(self, property_id: str, message: str) -> None:
        error = PullError(property_id, message)
        self.faults.append(error)
        if self._on_fault is not None:
            self._on_fault(error)

    # What the consumer says.

    def _request(self, abort: Abort, answer: Answer | None = None, /) -> None:
        read = self._read
        assert read is not None
        with self._lock:
            self._count += 1
            number = self._count
            late = self._aborted is not None
            over = late or self._end is not None
            request = None if answer is None else _Request(number, abort, answer, late=late)
            if request is not None:
                self._open.append(request)
            if not asks(abort) and self._aborted is None and self._end is None:
                self._aborted = cause(abort)
                self._answered_abort = answer is not None
        if not self._look_at_consumer(number, abort, answer, over=over):
            if request is not None:
                request.outcome = (self._aborted if self._end is None else self._end, None)
                self._pass_on()
            return  # it is kept from the producer
        try:
            if request is None:
                read(abort)
            else:
                read(abort, partial(self._answered, request))
        except RecursionError:
            raise  # no module's fault; a caller with more room on the stack ends the stream
        except Exception as error:
            unanswered = "A3" if cause(abort) is True else "F3"
            broken = "F10" if answer is not None else unanswered
            self._fault(broken, f"read({shown(abort)}) raised {shown(error)}; failures are answers, not exceptions")
            if request is not None and request.outcome is None and self._on_fault is None:
                self._answered(request, error, None)  # the reader is told, unless `on_fault` was

    def _look_at_consumer(self, number: int, abort: Abort, answer: Answer | None, *, over: bool) -> bool:
        """Tell whether a request may pass."""
        if asks(abort) and answer is None:
            self._fault("B6", f"request {number} asks without an answer function")
        elif self.strict and over:
            if asks(abort):
                self._fault("A9", f"request {number} asks after the end")
            else:
                self._fault("A7", f"request {number} aborts what has ended already")
        else:
            return True
        return False

    # What the producer says.

    def _answered(self, request: _Request, end: bool | Exception | None, value: Any = None, /) -> None:
        found = end_of(end)
        if isinstance(found, PullError) and found is not end:
            self._garbled, value = True, None
            self._fault(
                "B6", f"request {request.number} was answered with {shown(end)}, which is neither a value nor an end"
            )
        with self._lock:
            before = request.outcome
            if before is None:
                request.outcome = (found, value)
            first = self._open[0] if self._open else request
        if before is not None:
            self._again(request, before, (found, value))
            return
        if first is not request and first.outcome is None:
            self._out_of_turn(request, first)
        if found is None:
            request.end = self._value(request, value)
        else:
            self._ended(request, found, value)
        self._pass_on()

    def _again(self, request: _Request, before: tuple[End | None, Any], now: tuple[End | None, Any]) -> None:
        if (before[0] is None) is not (now[0] is None):
            self._fault("B6", f"request {request.number} was answered with a value and with an end")
        elif before[0] is None and _differ(before[1], now[1]):
            self._fault("B1", f"the value {shown(now[1])} came by request {request.number}, which was answered before")
        else:
            self._fault("B2", f"request {request.number} was answered twice")

    def _out_of_turn(self, request: _Request, first: _Request) -> None:
        message = f"request {request.number} was answered before request {first.number}, which came first"
        if not asks(request.abort) and asks(first.abort):
            self._fault("A4" if cause(request.abort) is True else "F11", message)
        else:
            self._fault("B3", message)

    def _value(self, request: _Request, value: Any) -> End | None:
        """Return what takes the place of a value that must not be there."""
        if self._garbled:
            return self._end
        what = f"request {request.number} was answered with the value {shown(value)}"
        plain = self._aborted is True
        if not asks(request.abort):
            self._fault("A2" if cause(request.abort) is True else "F2", f"{what}, though it aborts")
            return cause(request.abort)
        if self._aborted is not None and request.late:
            with_answer, without = ("A5", "A3") if plain else ("F2", "F3")
            self._fault(with_answer if self._answered_abort else without, f"{what}, though it came after the abort")
            return self._aborted if self._end is None else self._end
        if self._end is not None and self._aborted is None:
            self._fault("B7", f"{what} after the end")
            return self._end
        if self._aborted is not None:
            self._fault("A4" if plain else "F11", f"{what} after the abort")
            return self._aborted
        return None

    def _ended(self, request: _Request, end: End, value: Any) -> None:
        what = f"request {request.number} was answered with {shown(end)}"
        if value is not None:
            self._fault("B10", f"{what} and with the value {shown(value)}")
        before, reason = self._end, self._aborted
        if not asks(request.abort) and not request.late:
            self._confirmed = end
        if before is None:
            self._end = end
        elif self._garbled:
            request.end = before
        elif end is not before and (
            (request.late and before is self._confirmed is not True)  # which was told as the end
            or not all(each is True or each is reason for each in (end, before))
        ):
            self._changed(request, before, end, f"{what}, and the end was {shown(before)}")

    def _changed(self, request: _Request, before: End, end: End, message: str) -> None:
        request.end = before  # the end that was given first stays
        if before is not True:
            self._fault("F1", message)
        elif asks(request.abort):
            self._fault("B8", message)
        elif end is cause(request.abort):
            self._fault("F4", message)
        else:
            self._end = request.end = (
                end  # property F4: done may become the error of a failed close, in the answer of the abort
            )

    def _pass_on(self) -> None:
        """Pass answers on in the order of the requests, one at a time."""
        while True:
            with self._lock:
                if self._passing or not self._open or self._open[0].outcome is None:
                    return
                self._passing = True
                request = self._open.popleft()
            found, value = request.outcome  # type: ignore[misc]
            end = found if request.end is None else request.end
            try:
                if end is None:
                    request.answer(None, value)
                else:
                    request.answer(end)
            except RecursionError:
                raise  # see _request
            except Exception as error:
                self._fault("F10", f"the answer function of request {request.number} raised {shown(error)}")
            finally:
                with self._lock:
                    self._passing = False


def _differ(first: Any, second: Any) -> bool:
    """Tell whether two values are not the same; some cannot be compared."""
    try:
        return first is not second and bool(first != second)
    except Exception:
        return True
