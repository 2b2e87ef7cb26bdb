"""stops that leak: a StopIteration from a user's function is an error that names the function, never an end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock import Stream
from tests.engine.parts import FORMS, Items, ended, in_thread
from tests.engine.watch import PATIENCE

Make = Callable[[Stream[int], Callable[..., Any]], Stream[Any]]

STAGES: dict[str, Make] = {
    "map": lambda stream, fn: stream.map(fn),
    "filter": lambda stream, fn: stream.filter(fn),
    "flat_map": lambda stream, fn: stream.flat_map(fn),
    "scan": lambda stream, fn: stream.scan(fn, 0),
    "stateful_map": lambda stream, fn: stream.stateful_map(fn, int),
    "take_while": lambda stream, fn: stream.take_while(fn),
    "drop_repeats": lambda stream, fn: stream.drop_repeats(fn),
    "tap": lambda stream, fn: stream.tap(fn),
    "expand": lambda stream, fn: stream.expand(fn),
    "reduce": lambda stream, fn: stream.reduce(fn),
}
JOINTS: dict[str, Make] = {
    "flat_map": lambda stream, fn: stream.flat_map(fn, concurrency=2),
    "group_by": lambda stream, fn: stream.group_by(fn),
    "conflate": lambda stream, fn: stream.conflate(fn, max),
    "expand": lambda stream, fn: stream.expand(fn, concurrency=2),
    "concat_map": lambda stream, fn: stream.concat_map(fn),
    "switch_map": lambda stream, fn: stream.switch_map(fn),
    "map_async": lambda stream, fn: stream.map_async(fn),
    "tap": lambda stream, fn: stream.tap(fn, on_complete=lambda: None),
}
SOURCES: dict[str, Callable[[Callable[..., Any]], Stream[Any]]] = {
    "generate": lambda fn: Stream.generate(0, fn),
    "defer": Stream.defer,
    "create": Stream.create,
    "from_callable": Stream.from_callable,
    "from_awaitable": Stream.from_awaitable,
    "using": lambda fn: Stream.using(fn, list, bool),
    "repeat": lambda fn: Stream.just(1).repeat(while_=fn),
    "merge_sorted": lambda fn: Stream.just(1).merge_sorted(Stream.just(1), key=fn),
    "sequence_equal": lambda fn: Stream.just(1).sequence_equal(Stream.just(1), fn),
    "join": lambda fn: Stream.just(1).join(Stream.just(1), fn),
    "partition": lambda fn: Stream.just(1).partition(fn)[0],
    "on_error_return": lambda fn: Stream.error(KeyError("lost")).on_error_return(fn=fn),
    "on_error_complete": lambda fn: Stream.error(KeyError("lost")).on_error_complete(when=fn),
    "map_error": lambda fn: Stream.error(KeyError("lost")).map_error(fn),
    "retry": lambda fn: Stream.error(KeyError("lost")).retry(when=fn),
    "on_error_resume": lambda fn: Stream.error(KeyError("lost")).on_error_resume(fn),
}
KINDS: dict[str, type[Exception]] = {"StopIteration": StopIteration, "StopAsyncIteration": StopAsyncIteration}

each_form = pytest.mark.parametrize("form", FORMS)
each_kind = pytest.mark.parametrize("kind", KINDS)


def leaking(kind: str) -> Callable[..., Any]:
    def leak(*_: object) -> Any:
        raise KINDS[kind]("leaked")

    return leak


def check(error: BaseException, operator: str, kind: str) -> None:
    assert type(error) is RuntimeError
    name = f"{operator}(leaking.leak)"
    assert str(error) == f"{name}: the function raised {kind}; that is an error, not an end"
    assert repr(error.__cause__) == f"{kind}('leaked')"
    (note,) = error.__notes__
    assert note.startswith(f"in {name}, ")
    assert note.endswith(f"test_stops_that_leak.py:{leaking(kind).__code__.co_firstlineno}")


@each_kind
@each_form
@pytest.mark.parametrize("operator", STAGES)
def test_a_stage_fails(operator: str, form: str, kind: str) -> None:
    items = Items(5)
    probe = ended(STAGES[operator](FORMS[form](items), leaking(kind)))
    assert probe.error is not None
    check(probe.error, operator, kind)
    assert items.was_closed.wait(PATIENCE)  # on the thread of its loop, perhaps after the end was told on another
    assert items.closed == 1


@each_kind
@pytest.mark.parametrize("operator", STAGES)
def test_a_stage_fails_where_it_is_iterated(operator: str, kind: str) -> None:
    with pytest.raises(RuntimeError) as failure:
        list(STAGES[operator](Stream.range(5), leaking(kind)))
    check(failure.value, operator, kind)


@each_kind
@pytest.mark.parametrize("operator", JOINTS)
def test_a_joint_fails(operator: str, kind: str) -> None:
    probe = ended(JOINTS[operator](Stream.range(5), leaking(kind)))
    assert probe.error is not None
    check(probe.error, operator, kind)


@each_kind
@pytest.mark.parametrize("operator", SOURCES)
def test_a_source_fails(operator: str, kind: str) -> None:
    probe = ended(SOURCES[operator](leaking(kind)))
    assert probe.error is not None
    check(probe.error, operator, kind)


@each_kind
def test_a_key_function_fails(kind: str) -> None:
    async def same(n: int) -> int:
        return n

    probe = ended(Stream.range(5).map_async(same, key=leaking(kind)))
    assert type(probe.error) is RuntimeError
    assert str(probe.error) == (
        f"map_async(test_a_key_function_fails.same): the key function raised {kind}; that is an error, not an end"
    )


@each_kind
@pytest.mark.parametrize("form", ["sync", "async", "fed"])
def test_a_source_that_stops_when_it_is_opened_fails(form: str, kind: str) -> None:
    probe = ended(FORMS[form](Items(5, iter=KINDS[kind]("leaked"))))
    assert type(probe.error) is RuntimeError
    assert str(probe.error) == f"the source raised {kind}; that is an error, not an end"
    assert [note.partition(",")[0] for note in probe.error.__notes__] == ["in the source"]


def test_an_inner_iterator_that_stops_is_at_its_end() -> None:
    assert ended(Stream.range(3).flat_map(lambda n: iter([n]))).elements == [0, 1, 2]


@pytest.mark.parametrize("form", ["sync", "fed", "async"])
def test_an_inner_iterable_that_stops_when_it_is_opened_fails(form: str) -> None:
    inner = Items(5, iter=StopIteration("leaked"))
    probe = ended(FORMS[form](Items(3)).flat_map(lambda _: inner))
    assert type(probe.error) is RuntimeError
    assert str(probe.error).endswith(": the function raised StopIteration; that is an error, not an end")


def test_a_stop_among_many_stages_names_the_right_one() -> None:
    stream: Stream[Any] = Stream.range(3)
    for _ in range(300):
        stream = stream.map(lambda n: n)
    stream = stream.map(leaking("StopIteration"))
    for _ in range(300):
        stream = stream.map(lambda n: n)
    probe = ended(stream)
    assert probe.error is not None
    assert probe.error.__notes__[0].startswith("in map(leaking.leak), step 301 of 601, ")


def test_a_stop_is_an_error_on_any_thread() -> None:
    in_thread(lambda: test_a_stage_fails("map", "sync", "StopIteration"))
