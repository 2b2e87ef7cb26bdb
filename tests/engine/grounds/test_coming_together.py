"""Elements that lie ready pass relays and shared runs together: the answers are those of elements one by one."""

from __future__ import annotations

from typing import Any

import pytest

from penstock import Slow, Stream, thread
from penstock.spec.interfaces import Subscription

SIZE = 1000


class Counting:
    """Take everything, and cancel after so many."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.got: list[Any] = []
        self.ends: list[object] = []
        self.subscription: Subscription | None = None

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self.subscription = subscription

    def on_next(self, element: Any, /) -> None:
        self.got.append(element)
        if len(self.got) == self.most:
            assert self.subscription is not None
            self.subscription.cancel()

    def on_error(self, error: Exception, /) -> None:
        self.ends.append(error)

    def on_complete(self) -> None:
        self.ends.append("complete")


def ready(values: Any = range(SIZE)) -> Stream[int]:
    return Stream.from_iterable(list(values))


def take_all(shared: Stream[int], *takers: Counting) -> None:
    """Subscribe all, and have each of them ask for everything."""
    for taker in takers:
        shared.subscribe(taker)
    for taker in takers:
        assert taker.subscription is not None
        taker.subscription.request(2**63 - 1)


CHAINS = {
    "do_finally": lambda: ready().do_finally(list),
    "concat": lambda: ready(range(300)).concat(ready(range(300, SIZE))),
    "on_error_resume": lambda: ready().on_error_resume(lambda error: []),
    "retry": lambda: ready().retry(2),
    "share": lambda: ready().share(),
}


@pytest.mark.parametrize("name", CHAINS)
def test_all_come_in_order_behind_stages_and_boundaries(name: str) -> None:
    made = CHAINS[name]
    assert list(made().map(lambda n: n)) == list(range(SIZE))
    assert made().filter(lambda n: n % 3 == 0).count().get() == 334
    assert list(made().publish_on(thread(), prefetch=7)) == list(range(SIZE))


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("count", [1, 127, 128, 129, 300, 301, SIZE])
def test_take_behind_them_ends_in_the_middle(name: str, count: int) -> None:
    assert list(CHAINS[name]().map(lambda n: n).take(count)) == list(range(count))


@pytest.mark.parametrize("name", CHAINS)
def test_requests_are_met_and_not_exceeded(name: str) -> None:
    taker = Counting(-1)
    CHAINS[name]().map(lambda n: n).subscribe(taker)
    assert taker.subscription is not None
    for n in (1, 200, 3, 500):
        taker.subscription.request(n)
    assert taker.got == list(range(704))
    assert not taker.ends
    taker.subscription.request(SIZE - 704)
    assert taker.got == list(range(SIZE))
    assert taker.ends == ["complete"]


def test_a_function_that_raises_in_the_middle_ends_the_stream_there() -> None:
    ended: list[str] = []

    def three(n: int) -> int:
        if n == 200:
            raise ZeroDivisionError
        return n

    with pytest.raises(ZeroDivisionError):
        ready().do_finally(lambda: ended.append("over")).map(three).reduce(lambda a, b: a + b).get()
    assert ended == ["over"]


def test_a_member_that_leaves_in_the_middle_does_not_disturb_the_others() -> None:
    shared = ready().share(slow=Slow.WAIT)
    leaving, staying = Counting(150), Counting(-1)
    take_all(shared, leaving, staying)
    assert leaving.got == list(range(150))
    assert not leaving.ends
    assert staying.got == list(range(SIZE))
    assert staying.ends == ["complete"]


def test_a_member_that_joins_in_the_middle_gets_what_comes_from_then_on() -> None:
    shared = ready().share()
    late = Counting(-1)

    class Bringing(Counting):
        def on_next(self, element: Any, /) -> None:
            super().on_next(element)
            if element == 200:
                take_all(shared, late)

    first = Bringing(-1)
    take_all(shared, first)
    assert first.got == list(range(SIZE))
    assert late.got == list(range(201, SIZE))
    assert first.ends == late.ends == ["complete"]


def test_a_member_that_raises_in_the_middle_is_out_and_the_others_get_everything(dropped: list[Any]) -> None:
    shared = ready().share(slow=Slow.WAIT)

    class Raising(Counting):
        def on_next(self, element: Any, /) -> None:
            super().on_next(element)
            if len(self.got) == 140:
                raise LookupError("enough")

    raising, staying = Raising(-1), Counting(-1)
    take_all(shared, raising, staying)
    assert raising.got == list(range(140))
    assert not raising.ends
    assert staying.got == list(range(SIZE))
    assert staying.ends == ["complete"]
    assert [type(each.error) for each in dropped] == [LookupError]
    dropped.clear()
