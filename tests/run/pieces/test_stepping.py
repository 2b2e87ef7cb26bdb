"""stepping: a chain gives the same piece by piece, its state taken out and put back in between."""

from __future__ import annotations

import operator
import pickle
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from penstock import Stream, VirtualClock, flow
from penstock.engine.runs.chain import Chain
from penstock.flow import Flow, Hole
from penstock.run.pieces.stepping import SteppingRun, keeps_state
from penstock.run.pieces.stepping_body import stepping_body
from penstock.stage import Body, Sight, Stage
from tests.operators.catalogue import ENTRIES

Make = Callable[[Stream[Any]], Stream[Any]]


def steps_of(make: Make) -> tuple[Any, ...]:
    """Return the steps that a function puts behind a stream."""
    try:
        chain = flow(make)._chain
    except TypeError:
        return ()  # a source
    return chain.steps if isinstance(chain.source, Hole) else ()


STEPPED = {
    name: one
    for name, one in ENTRIES.items()
    if any(map(keeps_state, steps := steps_of(one.make)))
    and all(isinstance(step, Stage) or step.sight is Sight.ITEM or keeps_state(step) for step in steps)
}


class Pieces:
    """A chain that is given one piece after the other, each to another copy, with nothing but the state in between."""

    def __init__(self, make: Make) -> None:
        self._make = make
        self._kept: Any = None
        self.over = False

    def give(self, piece: list[Any] | None) -> list[Any]:
        """Return what comes of a piece, or, for None, of the end."""
        if self.over:
            return []
        run = SteppingRun(steps_of(self._make))
        if self._kept is None:
            run.begin()
        else:
            run.put_back(self._kept)
        run.ending = piece is None
        made: Flow[Any, Any] = Flow(Chain(Hole(), run.steps))
        found = list(made(Stream.from_iterable(iter(piece or []))))
        while run.ending and not run.ended and run.due is not None:  # what the end waits for
            run.now = run.due
            found += made(Stream.from_iterable(iter(())))
        self.over = run.ended or run.ending
        self._kept = pickle.loads(pickle.dumps(run.taken_out()))
        return found


def cut(elements: list[Any], draw: random.Random) -> Iterator[list[Any] | None]:
    at = 0
    while at < len(elements):
        size = draw.randrange(4)
        yield elements[at : at + size]
        at += size
    yield None


@pytest.mark.parametrize("name", STEPPED)
def test_every_stage_of_the_catalogue_answers_the_same_in_pieces(name: str) -> None:
    entry = STEPPED[name]
    draw = random.Random(name)
    for _ in range(30):
        if name.startswith("dematerialize"):
            break  # its elements are signals; see below
        letters = name.startswith(("buffer_until", "buffer_while"))
        elements = [draw.choice("ab.") if letters else draw.randrange(10) for _ in range(draw.randrange(9))]
        if not elements:
            continue  # a key without an element is no key
        pieces = Pieces(entry.make)
        found = [one for piece in cut(elements, draw) for one in pieces.give(piece)]
        assert found == list(entry.make(Stream.from_iterable(elements))), elements


def test_random_chains_of_stages_answer_the_same_in_pieces() -> None:
    numbers: list[Make] = [
        lambda s: s.take(5),
        lambda s: s.skip(2),
        lambda s: s.scan(operator.add, 0),
        lambda s: s.distinct(),
        lambda s: s.drop_repeats(),
        lambda s: s.buffer(2).map(sum),
        lambda s: s.sliding(3, 2).map(sum),
        lambda s: s.pairwise().starmap(operator.sub),
        lambda s: s.start_with(7, 8),
        lambda s: s.end_with(9),
        lambda s: s.take_last(3),
        lambda s: s.skip_last(1),
        lambda s: s.take_while(lambda n: n < 30),
        lambda s: s.skip_while(lambda n: n < 4),
        lambda s: s.split_when(operator.gt).map(len),
        lambda s: s.flat_map(lambda n: [n, n + 1]),
        lambda s: s.filter(lambda n: n % 3 != 0),
        lambda s: s.default_if_empty(11),
        lambda s: s.map_batches(lambda ns: [min(ns), max(ns)], 3),
        lambda s: s.enumerate().starmap(operator.add),
        lambda s: s.count(),
        lambda s: s.max(),
    ]
    draw = random.Random(32)
    for _ in range(300):
        chosen = draw.choices(numbers, k=draw.randint(1, 5))

        def make(stream: Stream[Any], chosen: list[Make] = chosen) -> Stream[Any]:
            for one in chosen:
                stream = one(stream)
            return stream

        elements = [draw.randrange(20) for _ in range(draw.randint(1, 14))]
        pieces = Pieces(make)
        found = [one for piece in cut(elements, draw) for one in pieces.give(piece)]
        assert found == list(make(Stream.from_iterable(elements))), [numbers.index(one) for one in chosen]


def test_behind_a_joint_and_asynchronously_it_is_the_same() -> None:
    async def later(n: int) -> int:
        return n + 1

    def make(stream: Stream[Any]) -> Stream[Any]:
        return stream.buffer(2).flatten().map_async(later).scan(operator.add, 0).take(5).to_list()

    pieces = Pieces(make)
    assert [pieces.give([1, 2, 3]), pieces.give([4]), pieces.give([5, 6, 7])] == [[], [], [[2, 5, 9, 14, 20]]]
    assert pieces.over


def test_a_failure_that_is_handled_ends_the_chain_in_the_piece_it_came_in() -> None:
    def inverse(n: int) -> float:
        return 12 / n

    uses: list[Make] = [
        lambda s: s.map(inverse).on_error_return(-1).buffer(2),
        lambda s: s.map(inverse).on_error_complete().to_list(),
        lambda s: s.scan(operator.add, 0).map(inverse).on_error_resume(lambda _: [7, 8]).count(),
        lambda s: s.map(inverse).on_error_return(-1, when=ZeroDivisionError).sliding(2),
        lambda s: s.map(inverse).on_error_return(-1, when=lambda error: "zero" in str(error)).sum(),
    ]
    for make in uses:
        pieces = Pieces(make)
        found = [one for piece in ([1, 2, 3], [4, 0, 5], [6], None) for one in pieces.give(piece)]
        assert found == list(make(Stream.just(1, 2, 3, 4, 0, 5, 6)))
    with pytest.raises(ZeroDivisionError):
        Pieces(lambda s: s.map(inverse).on_error_return(-1, when=KeyError)).give([0])

    def broken(error: Exception) -> bool:
        raise LookupError("when")

    with pytest.raises(LookupError) as caught:
        Pieces(lambda s: s.map(inverse).on_error_return(-1, when=broken)).give([0])
    assert "ends_the_chain_in_the_piece_it_came_in.broken), test_stepping.py" in caught.value.__notes__[0]


def test_what_is_only_passing_is_not_kept() -> None:
    run = SteppingRun(
        steps_of(lambda s: s.throttle_first(3, clock=VirtualClock()).distinct(abs).to_dict(str, float).take(2))
    )
    assert run.signature == "throttle_first(until) distinct(seen) to_dict(items) take(left)"


def test_a_run_that_says_nothing_at_its_end_may_be_forgotten_when_it_is_as_it_began() -> None:
    def quiet(make: Make) -> tuple[bool, bool]:
        run = SteppingRun(steps_of(make))
        return run.quiet, run.tailed

    assert quiet(lambda s: s.stateful_map(lambda a, b: (a, b), int).take(2)) == (True, False)
    assert quiet(lambda s: s.buffer(2)) == (True, True)
    assert quiet(lambda s: s.sum()) == (False, True)
    assert quiet(lambda s: s.start_with(1)) == (False, False)
    assert quiet(lambda s: s.end_with(1)) == (False, True)
    assert quiet(lambda s: s.time_interval()) == (False, False)


def test_an_error_says_which_step_it_came_from() -> None:
    def broken(total: int, n: int) -> int:
        return total // n

    pieces = Pieces(lambda s: s.skip(1).scan(broken, 8))
    assert pieces.give([1, 2]) == [4]
    note = "in scan(test_an_error_says_which_step_it_came_from.broken), step 2 of 2, test_stepping.py:"
    with pytest.raises(ZeroDivisionError) as caught:
        pieces.give([0])
    assert caught.value.__notes__[0].startswith(note)

    def made() -> int:
        raise LookupError("no beginning")

    @dataclass(frozen=True, slots=True)
    class Begins(Stage[Any, Any]):
        create: Callable[[], int]
        loop: ClassVar[Body] = Body("v = {n}", state=(("n", "{create}()"),))

    run = SteppingRun([Begins(made)])
    with pytest.raises(LookupError) as failed:
        run.begin()
    assert re.match(r"in begins\(test_an_error_says_which_step_it_came_from.made\)", failed.value.__notes__[0])


def test_a_body_is_written_once() -> None:
    take = steps_of(lambda s: s.take(2))[0].body
    assert stepping_body(take) is stepping_body(take)
