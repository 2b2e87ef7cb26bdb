"""shapes: chains that are made at run time leave nothing behind, however many there are."""

from __future__ import annotations

import gc
import linecache
import random
import traceback
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from penstock import Recorder, Stream, observe
from penstock.engine.weaving import weave

Step = Callable[[Stream[Any]], Stream[Any]]
STEPS: tuple[Step, ...] = (
    lambda stream: stream.map(int),
    lambda stream: stream.filter(bool),
    lambda stream: stream.take(3),
    lambda stream: stream.skip(1),
    lambda stream: stream.scan(max, 0),
    lambda stream: stream.enumerate().starmap(max),
    lambda stream: stream.distinct(),
    lambda stream: stream.start_with(1),
    lambda stream: stream.flat_map(lambda n: (n,)),
    lambda stream: stream.do_finally(int),
    lambda stream: stream.concat(Stream.just(1)),
)
FEW, MANY = 50, 3_000


def run_shapes(count: int, seed: int, steps: int = 4) -> None:
    chance = random.Random(seed)
    for _ in range(count):
        stream: Stream[Any] = Stream.range(3)
        for _ in range(steps):
            stream = chance.choice(STEPS)(stream)
        list(stream)


def alive() -> Counter[str]:
    """Count what penstock has made and not let go of, by its type, and the functions and texts it has compiled."""
    gc.collect()
    found: Counter[str] = Counter()
    for each in gc.get_objects():
        kind = type(each)
        if str(kind.__module__).startswith("penstock."):  # some classes have a descriptor of that name
            found[f"{kind.__module__}.{kind.__qualname__}"] += 1
        elif getattr(getattr(each, "__code__", None), "co_filename", "").startswith("<penstock"):
            found["compiled functions"] += 1
    found["texts"] = len(texts())
    return found


def texts() -> list[str]:
    return [name for name in linecache.cache if name.startswith("<penstock")]


def test_thousands_of_shapes_leave_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weave, "MOST_PLANS", FEW)
    run_shapes(FEW, 0)  # the loop of no stages at all is kept for good
    weave._plans.clear()
    before = alive()
    run_shapes(MANY, 1)
    after = alive()
    assert {kind for kind in after if after[kind] > before[kind] + 2 * FEW} == set()
    weave._plans.clear()
    assert {kind for kind, more in (alive() - before).items() if more > 0} == set()


def test_a_listener_keeps_nothing_of_the_shapes_it_has_seen_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weave, "MOST_PLANS", FEW)
    weave._plans.clear()
    gc.collect()  # what other tests have left in cycles
    before = len(texts())
    with observe(Recorder()):
        run_shapes(3 * FEW, 2)
    weave._plans.clear()
    gc.collect()
    assert len(texts()) == before


def test_the_text_of_a_loop_stays_while_an_error_of_it_does() -> None:
    def fail(_: object) -> Any:
        raise ValueError("lost")

    with pytest.raises(ValueError, match="lost") as caught:
        list(Stream.range(3).skip(1).map(fail).skip(1).map(fail))
    weave._plans.clear()
    gc.collect()
    assert "v = c1_fn(v)" in "".join(traceback.format_exception(caught.value))
