"""range: emit numbers in order.

Group: make a stream
Marble: Stream.range(1, 4)
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Number
from typing import Any, ClassVar

from penstock.engine.words.arguments import count_given
from penstock.stage import Again, LoopGate, Opener, Source


@dataclass(frozen=True, slots=True)
class Steps:
    """A row of numbers from a first one on; each is computed anew, so that errors of floats do not add up."""

    start: Any
    step: Any
    count: int

    def open(self, gate: LoopGate | None) -> Iterator[Any]:
        """Iterate over the numbers, and let the run know how many are left, so that the end comes with the last one."""
        places = iter(builtins.range(self.count))
        if gate is not None:
            gate.left = places.__length_hint__  # type: ignore[attr-defined]
        return map(self._at, places)

    def _at(self, place: int) -> Any:
        return self.start + place * self.step

    def __len__(self) -> int:
        return self.count


@dataclass(frozen=True, slots=True)
class Range(Source[int]):
    """Emit the numbers of a range.

    Emits when downstream asks. Backpressures by waiting. Completes with the last number. Cancels at once.
    """

    numbers: builtins.range | Steps
    clean: ClassVar[bool] = True

    @property
    def again(self) -> Again:
        """Give the same numbers."""
        return Again.SAME

    def opener(self) -> Opener[int]:
        """Iterate over the numbers."""
        numbers = self.numbers
        return numbers.open if isinstance(numbers, Steps) else lambda _: iter(numbers)

    def after(self, count: int) -> Range | None:
        """Begin with a later number."""
        return Range(self.numbers[count:]) if isinstance(self.numbers, builtins.range) else None

    def length(self) -> int | None:
        """Return how many there are, if `len` can tell."""
        try:
            return len(self.numbers)
        except OverflowError:
            return None


def numbers_given(start: Any, stop: Any, step: Any, count: int | None) -> builtins.range | Steps:
    """Return the numbers of a range, as the built-in one has them, or a count of them; refuse what is no number."""
    if count is None and type(start) is type(step) is int and (stop is None or type(stop) is int):
        return _whole_numbers(start, stop, step)
    if count is not None:
        count_given("range", "count", count, 0)
        if stop is not None:
            raise TypeError(f"range: one of stop and count can be given, got {stop!r} and {count!r}")
    for name, given in (("start", start), ("stop", stop), ("step", step)):
        may_be_none = name == "stop" and given is None
        whole = hasattr(type(given), "__index__")  # asked of the type, for a class is no number
        if not (may_be_none or whole or (isinstance(given, Number) and not isinstance(given, complex))):
            raise TypeError(f"range: {name} must be a number, got {given!r}")
        if name == "step" and isinstance(given, float) and not math.isfinite(given):
            raise ValueError(f"range: step must be finite, got {given!r}")
    if count is not None and (not hasattr(start, "__index__") or not hasattr(step, "__index__") or not step):
        return Steps(start, step, count)
    if count is not None:
        return builtins.range(start, start + count * step, step)
    if all(given is None or hasattr(given, "__index__") for given in (start, stop, step)):
        return _whole_numbers(start, stop, step)
    first, last = (type(start)(0), start) if stop is None else (start, stop)
    if not step:
        raise _no_step(step)
    length = (last - first) / step
    if not math.isfinite(length):
        raise ValueError(f"range: start, stop and step must be finite, got {start!r}, {stop!r} and {step!r}")
    return Steps(first, step, max(0, math.ceil(length)))


def _whole_numbers(start: Any, stop: Any, step: Any) -> builtins.range:
    if not step:
        raise _no_step(step)
    return builtins.range(0, start, step) if stop is None else builtins.range(start, stop, step)


def _no_step(step: Any) -> ValueError:
    return ValueError(f"range: step must not be zero, got {step!r}")
