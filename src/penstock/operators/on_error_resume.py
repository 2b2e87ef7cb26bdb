"""on_error_resume: go on with another stream after a failure.

Group: handle failure
Marble: a.on_error_resume(lambda error: b) over -1-2-# and -x-y-|
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, TypeVar

from penstock.engine.grounds.sequence import guarded
from penstock.engine.runs.resume import replaced
from penstock.engine.weaving.handled_errors import When, when_given
from penstock.engine.words.arguments import function_given
from penstock.spec.interfaces import Publisher, Subscriber
from penstock.stage import Joint, Tie

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class OnErrorResume(Joint[T, T]):
    """Subscribe to what the function returns for the error, in place of the stream that failed.

    Emits when upstream, or what took its place, emits. Backpressures when downstream does; demand left over moves on.
    Completes when upstream or its replacement completes; fails with an error that `when` does not name, if the function
    raises, or if the replacement fails. Cancels upstream or its replacement.
    """

    tie: ClassVar[Tie] = Tie.FAILURE
    fn: Callable[[Exception], Publisher[T] | Iterable[T] | AsyncIterable[T]]
    when: When | None = None

    def __post_init__(self) -> None:
        function_given("on_error_resume", "fn", self.fn)
        when_given("on_error_resume", self.when)

    def open(self, downstream: Subscriber[T], /) -> Subscriber[T]:
        """Guard what follows against a failure."""
        return guarded(downstream, partial(replaced, self, self.when, self.fn, self.fn))
