"""create: what callbacks bring, with a policy for when they are too fast."""

from __future__ import annotations

import re
import threading
from typing import Any

import pytest

from penstock import Dropped, EmitResult, Emitter, Overflow, OverflowedError, Stream
from penstock.errors import InterruptionError
from penstock.testing import Probe, check_source, subscribed
from tests.operators.subjects import failure_of, notes, place


def emit_three(emitter: Emitter[int]) -> None:
    for number in range(3):
        emitter.emit(number)
    emitter.complete()


@pytest.mark.parametrize("overflow", [Overflow.BUFFER, Overflow.ERROR])
def test_laws(overflow: Overflow) -> None:
    check_source(lambda: Stream.create(emit_three, overflow=overflow), [0, 1, 2], examples=10)


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"attach": 1}, TypeError, "create: attach must be callable, got 1"),
        ({"attach": emit_three, "size": 0}, ValueError, "create: size must be >= 1, got 0"),
        ({"attach": emit_three, "overflow": "drop"}, TypeError, "create: overflow must be an Overflow, got 'drop'"),
    ],
)
def test_refuses_wrong_arguments(arguments: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=f"^{re.escape(message)}$"):
        Stream.create(**arguments)


def created(overflow: Overflow = Overflow.BUFFER, size: int = 2, request: int = 0) -> tuple[Emitter[Any], Probe[Any]]:
    emitters: list[Emitter[Any]] = []
    probe = subscribed(Stream.create(emitters.append, overflow=overflow, size=size), request)
    return emitters[0], probe


def test_each_subscriber_has_an_emitter_of_its_own() -> None:
    emitters: list[Emitter[str]] = []
    stream = Stream.create(emitters.append)
    first, second = subscribed(stream, 9), subscribed(stream, 9)
    emitters[0].emit("a")
    emitters[1].emit("b")
    assert (first.elements, second.elements) == (["a"], ["b"])


def results(emitter: Emitter[Any], count: int) -> list[EmitResult]:
    return [emitter.emit(number) for number in range(count)]


OK, FULL = EmitResult.OK, EmitResult.OVERFLOW


def test_a_full_buffer_refuses() -> None:
    emitter, probe = created(Overflow.BUFFER, size=2, request=1)
    assert results(emitter, 5) == [OK, OK, OK, FULL, FULL]
    probe.request(9)
    assert probe.elements == [0, 1, 2]
    assert emitter.emit(7) is OK
    assert probe.elements[-1] == 7


def test_drop_holds_nothing_beyond_demand() -> None:
    emitter, probe = created(Overflow.DROP, request=2)
    assert results(emitter, 4) == [OK, OK, FULL, FULL]
    probe.request(9)
    assert probe.elements == [0, 1]


def test_latest_replaces_the_one_that_waits() -> None:
    emitter, probe = created(Overflow.LATEST, request=1)
    assert results(emitter, 4) == [OK, OK, FULL, FULL]
    probe.request(9)
    assert probe.elements == [0, 3]


def test_error_fails_the_stream_after_what_waits() -> None:
    emitter, probe = created(Overflow.ERROR, size=2, request=1)
    assert results(emitter, 4) == [OK, OK, OK, FULL]
    assert probe.elements == [0]
    assert emitter.emit("late") is EmitResult.TERMINATED
    probe.request(9)
    assert probe.elements == [0, 1, 2]
    assert type(probe.error) is OverflowedError
    assert str(probe.error) == "create: 2 elements wait and another came; no subscriber asks for them"


def test_after_the_end_nothing_is_taken(dropped: list[Dropped]) -> None:
    emitter, probe = created(request=9)
    assert emitter.complete() is OK
    assert emitter.emit(1) is EmitResult.TERMINATED
    assert emitter.complete() is EmitResult.TERMINATED
    assert emitter.fail(ValueError("late")) is EmitResult.TERMINATED
    assert probe.completed
    assert probe.elements == []
    assert [repr(one.error) for one in dropped] == ["ValueError('late')"]
    dropped.clear()


def test_after_a_cancel_nothing_is_taken(dropped: list[Dropped]) -> None:
    emitter, probe = created(request=9)
    assert not emitter.cancelled
    probe.cancel()
    assert emitter.cancelled
    assert emitter.emit(1) is EmitResult.CANCELLED
    assert emitter.complete() is EmitResult.CANCELLED
    assert emitter.fail(ValueError("late")) is EmitResult.CANCELLED
    assert probe.signals == []
    assert [repr(one.error) for one in dropped] == ["ValueError('late')"]
    dropped.clear()


def test_says_how_much_is_asked_for() -> None:
    emitter, probe = created(request=3)
    assert emitter.requested == 3
    emitter.emit(1)
    assert emitter.requested == 2
    probe.request(4)
    assert emitter.requested == 6


def test_a_failure_follows_what_waits() -> None:
    emitter, probe = created()
    emitter.emit(1)
    assert emitter.fail(ValueError("lost")) is OK
    assert probe.signals == []
    probe.request(1)
    assert probe.elements == [1]
    assert repr(probe.error) == "ValueError('lost')"


def test_none_and_what_is_no_error_are_refused() -> None:
    emitter, probe = created(request=9)
    with pytest.raises(TypeError, match=r"^emit: None is not an element \(rule 2\.13\)$"):
        emitter.emit(None)
    with pytest.raises(TypeError, match=r"^fail: error must be an Exception, got 'lost'$"):
        emitter.fail("lost")  # type: ignore[arg-type]
    assert probe.signals == []


@pytest.mark.parametrize("end", ["complete", "fail", "cancel"])
def test_on_close_is_called_once_however_it_ends(end: str) -> None:
    emitter, probe = created(request=9)
    calls: list[int] = []
    emitter.on_close(lambda: calls.append(1))
    {"complete": emitter.complete, "fail": lambda: emitter.fail(ValueError()), "cancel": probe.cancel}[end]()
    probe.cancel()
    assert calls == [1]
    emitter.on_close(lambda: calls.append(2))
    assert calls == [1, 2]


def test_what_on_close_raises_is_dropped_not_lost(dropped: list[Dropped]) -> None:
    emitter, probe = created()
    calls: list[int] = []

    def fail() -> None:
        raise ValueError("no close")

    emitter.on_close(fail)
    emitter.on_close(lambda: calls.append(1))
    probe.cancel()
    assert calls == [1]
    assert [(one.what, repr(one.error)) for one in dropped] == [
        ("an emitter's on_close raised", "ValueError('no close')")
    ]
    dropped.clear()


def refuse(emitter: Emitter[int]) -> None:
    emitter.emit(1)
    raise ValueError("cannot attach")


def test_an_attach_that_raises_fails_the_stream_and_is_named() -> None:
    probe = subscribed(Stream.create(refuse), 9)
    assert probe.elements == [1]
    assert repr(probe.error) == "ValueError('cannot attach')"
    error = failure_of(Stream.create(refuse))
    assert notes(error) == [f"in create(refuse), {place(refuse)}"]


def test_attach_is_not_called_for_who_has_cancelled() -> None:
    attached: list[Any] = []
    probe: Probe[Any] = Probe(on_subscribe=lambda subscription: subscription.cancel())
    Stream.create(attached.append).subscribe(probe)
    assert attached == []


@pytest.mark.parametrize("overflow", Overflow)
def test_many_threads_may_emit_at_once(overflow: Overflow) -> None:
    emitter, probe = created(overflow, size=10_000)
    taken: list[EmitResult] = []
    start, lock = threading.Barrier(5), threading.Lock()

    def produce(first: int) -> None:
        start.wait(60)
        mine = [emitter.emit(number) for number in range(first, first + 200)]
        with lock:
            taken.extend(mine)

    threads = [threading.Thread(target=produce, args=(1000 * n,)) for n in range(4)]
    for one in threads:
        one.start()
    start.wait(60)
    for _ in range(50):
        probe.request(8)
    for one in threads:
        one.join(5)
    emitter.complete()
    probe.request()
    elements = probe.wait_for_end()
    assert probe.breaches == []
    assert len(set(elements)) == len(elements)
    for n in range(4):
        mine = [number for number in elements if number // 1000 == n]
        assert mine == sorted(mine)
    assert len(taken) == 800
    if overflow in (Overflow.BUFFER, Overflow.ERROR):
        assert len(elements) == 800
        assert set(taken) == {OK}
    elif overflow is Overflow.DROP:
        assert taken.count(OK) == len(elements)
    else:
        # A LATEST that overflowed took the place of another one: each refusal stands for one element that is gone.
        assert len(taken) - taken.count(FULL) == len(elements)


@pytest.mark.parametrize(
    ("overflow", "most"), [(Overflow.BUFFER, 8), (Overflow.ERROR, 8), (Overflow.DROP, 1), (Overflow.LATEST, 1)]
)
def test_demand_for_everything_does_not_lift_the_bound(overflow: Overflow, most: int) -> None:
    """A subscriber that asks for everything and is busy with its first element: what comes meanwhile is bounded."""
    busy, go_on = threading.Event(), threading.Event()
    emitters: list[Emitter[int]] = []

    class Busy(Probe[int]):
        def on_next(self, element: int, /) -> None:
            super().on_next(element)
            busy.set()
            assert go_on.wait(10)

    probe = Busy(2**63 - 1)
    Stream.create(emitters.append, overflow=overflow, size=8).subscribe(probe)
    first = threading.Thread(target=lambda: emitters[0].emit(0))
    first.start()
    assert busy.wait(10)
    results = [emitters[0].emit(number) for number in range(1, 100)]
    go_on.set()
    first.join(10)
    emitters[0].complete()
    probe.wait_for_end()
    assert len(probe.elements) == 1 + most
    assert results.count(FULL) >= 1


def test_an_interruption_of_attach_ends_the_stream_and_closes_the_emitter() -> None:
    emitters: list[Emitter[int]] = []

    def attach(emitter: Emitter[int]) -> None:
        emitters.append(emitter)
        raise KeyboardInterrupt

    probe: Probe[int] = Probe(1)
    with pytest.raises(KeyboardInterrupt):
        Stream.create(attach).subscribe(probe)
    assert type(probe.error) is InterruptionError
    assert emitters[0].emit(1) is EmitResult.TERMINATED
