"""generate: what a function makes of a state, one call for each element asked for."""

from __future__ import annotations

import re

import pytest

from penstock import Stream
from penstock.testing import check_source, subscribed
from tests.operators.subjects import failure_of, notes, place


def halves(n: int) -> tuple[int, int] | None:
    return (n, n // 2) if n else None


def test_laws() -> None:
    check_source(lambda: Stream.generate(5, halves), [5, 2, 1], examples=10)


def test_refuses_what_cannot_be_called() -> None:
    with pytest.raises(TypeError, match=r"^generate: step must be callable, got None$"):
        Stream.generate(0, None)  # type: ignore[arg-type]


def test_is_called_once_for_each_element_asked_for() -> None:
    calls: list[int] = []

    def step(n: int) -> tuple[int, int]:
        calls.append(n)
        return n, n + 1

    probe = subscribed(Stream.generate(0, step))
    assert calls == []
    probe.request(3)
    assert calls == [0, 1, 2]


def fail(n: int) -> tuple[int, int]:
    raise ValueError("stuck")


def test_a_function_that_raises_fails_the_stream_and_is_named() -> None:
    error = failure_of(Stream.generate(0, fail))
    assert repr(error) == "ValueError('stuck')"
    assert notes(error) == [f"in generate(fail), {place(fail)}"]


def test_a_leaked_stop_iteration_is_an_error_not_an_end() -> None:
    def leak(n: int) -> tuple[int, int]:
        return next(iter(()))

    error = failure_of(Stream.generate(0, leak))
    name = leak.__qualname__.replace("<locals>.", "")
    assert type(error) is RuntimeError
    assert str(error) == f"generate({name}): the function raised StopIteration; that is an error, not an end"


def test_none_is_not_an_element() -> None:
    error = failure_of(Stream.generate(0, lambda n: (None, n)))
    assert str(error).startswith("rule 2.13: None is not an element; ")


def test_what_is_no_pair_is_refused() -> None:
    error = failure_of(Stream.generate(0, lambda n: n + 1))  # type: ignore[arg-type,return-value]
    assert type(error) is TypeError


def longer(kept: list[int]) -> tuple[int, list[int]] | None:
    kept.append(len(kept))
    return (kept[-1], kept) if len(kept) < 4 else None


def test_what_is_made_for_a_run_is_its_own() -> None:
    check_source(lambda: Stream.generate(step=longer, create=list), [0, 1, 2], examples=5)
    stream: Stream[int] = Stream.generate(step=longer, create=list)
    assert [list(stream), list(stream)] == [[0, 1, 2], [0, 1, 2]]


def test_refuses_to_begin_all_runs_with_what_one_may_change() -> None:
    message = (
        "generate: seed must be hashable, since all runs begin with it, got []; "
        "give create=, a function that makes one for each run"
    )
    with pytest.raises(TypeError, match=rf"^{re.escape(message)}$"):
        Stream.generate([], longer)


def test_needs_one_beginning() -> None:
    with pytest.raises(TypeError, match=r"^generate: one of seed and create must be given$"):
        Stream.generate(step=longer)  # type: ignore[call-overload]


def lost() -> list[int]:
    raise LookupError("no beginning")


def test_a_beginning_that_cannot_be_made_is_named() -> None:
    error = failure_of(Stream.generate(step=longer, create=lost))
    assert notes(error) == [f"in generate(lost), {place(lost)}"]
