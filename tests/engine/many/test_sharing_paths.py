"""sharing: the same comes out however the run is read, and whatever stands in front."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock import Slow, Stream, inline, thread
from penstock.testing import Form, Tracked, subscribed

SHARED: dict[str, tuple[Callable[[Stream[int]], Stream[Any]], list[Any]]] = {
    "share": (lambda stream: stream.share(), [0, 1, 2, 3]),
    "share(size=1)": (lambda stream: stream.share(size=1), [0, 1, 2, 3]),
    "share(WAIT)": (lambda stream: stream.share(size=2, slow=Slow.WAIT), [0, 1, 2, 3]),
    "replay": (lambda stream: stream.replay(2), [0, 1, 2, 3]),
    "cache": (lambda stream: stream.cache(), [0, 1, 2, 3]),
    "partition": (lambda stream: stream.partition(lambda n: n % 2 == 0)[0], [0, 2]),
    "group_by": (
        lambda stream: stream.group_by(lambda n: n % 2).flat_map(lambda group: group.to_list(), concurrency=2),
        [[0, 2], [1, 3]],
    ),
    "window": (lambda stream: stream.window(2).concat_map(lambda window: window), [0, 1, 2, 3]),
}
AGAIN = {"replay": [2, 3]}
"""What a second run gives where that is not what the first one gave."""


def _one_by_one(stream: Stream[Any]) -> list[Any]:
    probe = subscribed(stream)
    while not probe.ended:
        probe.request(1)
        probe.wait_until(lambda: len(probe.elements) >= probe.requested or probe.ended, "an element or the end")
    assert probe.breaches == []
    return probe.elements


READ: dict[str, Callable[[Stream[Any]], list[Any]]] = {
    "iterated": list,
    "one by one": _one_by_one,
    "behind a joint": lambda stream: list(stream.publish_on(inline())),
    "on a thread": lambda stream: list(stream.publish_on(thread(), prefetch=2)),
    "unbounded": lambda stream: stream.to_list().get(),
}


@pytest.mark.parametrize("read", READ)
@pytest.mark.parametrize("form", Form, ids=lambda form: form.value)
@pytest.mark.parametrize("name", SHARED)
def test_what_follows_repeat_is_the_same_on_every_path(name: str, form: Form, read: str) -> None:
    make, first = SHARED[name]
    items = Tracked([0, 1, 2, 3])
    elements = READ[read](make(form.over(items)).repeat(2))
    assert elements == first + AGAIN.get(name, first)
    assert items.opened == items.closed
