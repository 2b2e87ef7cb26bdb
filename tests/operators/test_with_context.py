"""with_context: sets context variables for what comes before it, and for nothing else."""

from __future__ import annotations

import asyncio
import contextvars
from contextvars import ContextVar

import pytest

from penstock import Stream, VirtualClock, loop, pool, thread
from penstock.testing import Form, ManualPublisher, Probe, subscribed
from tests.operators.subjects import each_form, failure_of, notes, over, place

who: ContextVar[str] = ContextVar("who", default="nobody")
where: ContextVar[str] = ContextVar("where", default="nowhere")


def seen(_: object) -> str:
    return f"{who.get()} {where.get()}"


def test_refuses_what_is_no_variable() -> None:
    with pytest.raises(TypeError, match=r"^with_context: each variable must be a ContextVar, got 'who'$"):
        Stream.range(3).with_context({"who": "ada"})  # type: ignore[dict-item]


@each_form
def test_is_seen_above_and_not_below(form: Form) -> None:
    stream = over(form, 1).map(seen).with_context({who: "ada"}).map(lambda above: (above, seen(0)))
    assert list(stream) == [("ada nowhere", "nobody nowhere")]
    assert who.get() == "nobody"


@each_form
def test_is_seen_when_it_is_subscribed(form: Form) -> None:
    probe = subscribed(over(form, 1, 2, 3).map(seen).with_context({who: "ada"}), 2)
    probe.wait_until(lambda: len(probe.elements) == 2, "two elements")
    probe.request(5)
    probe.wait_for_end()
    assert probe.elements == ["ada nowhere"] * 3


def test_what_stands_nearer_to_the_function_wins() -> None:
    stream = Stream.just(1).map(seen).with_context({who: "ada"}).with_context({who: "ben", where: "here"})
    assert list(stream) == ["ada here"]


def test_what_the_subscriber_has_set_is_seen_too() -> None:
    def run() -> list[tuple[str, str]]:
        where.set("there")
        return list(Stream.just(1).map(seen).with_context({who: "ada"}).map(lambda above: (above, seen(0))))

    assert contextvars.copy_context().run(run) == [("ada there", "nobody there")]


@pytest.mark.parametrize("executor", [thread(), pool(2), loop()], ids=repr)
def test_travels_to_other_threads(executor: object) -> None:
    above = Stream.range(3).publish_on(executor).map(seen).with_context({who: "ada"})  # type: ignore[arg-type]
    assert (
        list(above.publish_on(executor).map(lambda above: (above, seen(0))))
        == [  # type: ignore[arg-type]
            ("ada nowhere", "nobody nowhere")
        ]
        * 3
    )


def test_travels_to_tasks() -> None:
    async def later(_: int) -> str:
        await asyncio.sleep(0)
        return seen(0)

    async def main() -> list[str]:
        return [element async for element in Stream.range(3).map_async(later).with_context({who: "ada"})]

    assert asyncio.run(main()) == ["ada nowhere"] * 3
    assert list(Stream.range(3).map_async(later).with_context({who: "ada"})) == ["ada nowhere"] * 3


def test_travels_with_time() -> None:
    clock = VirtualClock()
    stream = Stream.interval(1, clock=clock).map(seen).with_context({who: "ada"})
    probe = subscribed(stream.map(lambda above: (above, seen(0))), 2)
    clock.advance(2)
    assert probe.elements == [("ada nowhere", "nobody nowhere")] * 2
    probe.cancel()
    assert clock.pending == 0


def test_every_signal_is_passed_on_in_the_subscribers_own_context() -> None:
    found: list[str] = []
    upstream: ManualPublisher[int] = ManualPublisher()
    probe: Probe[int] = Probe(5, on_signal=lambda _: found.append(who.get()))
    Stream.from_publisher(upstream).with_context({who: "ada"}).subscribe(probe)
    upstream.next(1)
    upstream.complete()
    assert found == ["nobody", "nobody"]


def test_requests_and_a_cancel_go_up_in_the_context() -> None:
    found: list[str] = []

    def note(*_: object) -> None:
        found.append(who.get())

    stream = Stream.never().tap(on_request=note, on_cancel=note).with_context({who: "ada"})
    probe = subscribed(stream, 1)
    probe.request(3)
    probe.cancel()
    assert found == ["ada", "ada", "ada"]


def test_a_request_from_inside_finds_its_way() -> None:
    """Demand that comes while an element is delivered enters the context a second time."""
    probe: Probe[int] = Probe(1, on_signal=lambda _: probe.request(1))
    Stream.range(50).do_finally(bool).with_context({who: "ada"}).subscribe(probe)
    probe.wait_for_end()
    assert probe.elements == list(range(50))
    assert probe.breaches == []


@each_form
def test_an_error_is_named_as_ever(form: Form) -> None:
    def fail(_: object) -> object:
        raise ValueError(who.get())

    error = failure_of(over(form, 1).map(fail).with_context({who: "ada"}))
    assert repr(error) == "ValueError('ada')"
    assert notes(error)[0].endswith(place(fail))


def test_an_iterator_that_is_left_is_closed_in_the_context() -> None:
    found: list[str] = []

    def numbers() -> object:
        try:
            yield from range(5)
        finally:
            found.append(who.get())

    for _ in Stream.from_iterable(numbers()).with_context({who: "ada"}):  # type: ignore[arg-type]
        break
    assert found == ["ada"]
