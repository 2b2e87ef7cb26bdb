"""A function of the stream may abort, ask, push or end the stream it stands in, wherever it stands."""

from __future__ import annotations

import pytest

from penstock import pull
from tests.pull.parts import Asker, dropped, nothing_dropped

ERROR = ValueError("bad")


def apart(read):
    return lambda abort, answer=None: read(abort, answer)


class Doing:
    """Be a function that passes values on, and does something of the stream's at the third."""

    def __init__(self):
        self.act = None
        self.after = []
        """What later functions of the stream got."""

    def __call__(self, value):
        if value == 3 and self.act is not None:
            act, self.act = self.act, None
            act()
        return value


PLACES = {
    "map": lambda do: [pull.map(do)],
    "filter": lambda do: [pull.filter(do)],
    "take_while": lambda do: [pull.take_while(do)],
    "unique": lambda do: [pull.unique(do)],
    "scan": lambda do: [pull.scan(lambda total, value: do(value), 0)],
    "through": lambda do: [pull.through(do)],
    "behind a hand-written through": lambda do: [apart, pull.map(do)],
    "before a hand-written through": lambda do: [pull.map(do), apart],
    "between others": lambda do: [pull.batch(1), pull.flatten(), pull.map(do), pull.flatten()],
    "flat_map": lambda do: [pull.flat_map(lambda value: [do(value)])],
    "sliding": lambda do: [pull.sliding(lambda window: do(window[0]), 1)],
    "queue_through": lambda do: [pull.queue_through(lambda queue, value: queue.put(do(value)))],
    "async_map": lambda do: [pull.async_map(lambda value, finished: finished(None, do(value)))],
    "para_map": lambda do: [pull.para_map(lambda value, finished: finished(None, do(value)), 1)],
    "merge": lambda do: [lambda read: pull.merge([read, pull.empty()], do)],
    "probe": lambda do: [pull.probe([]), pull.map(do), pull.checker()],
}
each_place = pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)


def generated(log):
    try:
        yield from range(1, 7)
    finally:
        log.append("closed")


def pushed(log):
    made = pull.pushable(lambda error: log.append("closed"))
    for number in range(1, 7):
        made.push(number)
    made.end()
    return made


def hand_written(log):
    given = 0

    def read(abort, answer=None):
        nonlocal given
        given += 1
        if abort is not None:
            log.append("closed")
        answer(abort or True) if abort is not None or given > 6 else answer(None, given)

    return read


SOURCES = {"a generator": lambda log: pull.from_iter(generated(log)), "pushable": pushed, "hand-written": hand_written}
each_source = pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)


@each_place
@each_source
@pytest.mark.parametrize("error", [None, ERROR], ids=["plainly", "with an error"])
def test_a_drain_is_aborted_from_inside(place, source, error):
    do, log, seen, told = Doing(), [], [], []
    sink = pull.drain(seen.append, told.append)
    do.act = lambda: sink.abort(error)
    with nothing_dropped():
        pull.pull(source(log), *place(do), pull.through(do.after.append), sink)
    assert (seen, do.after, told, log) == ([1, 2], [1, 2], [error], ["closed"])


@each_place
@each_source
@pytest.mark.parametrize("error", [None, ERROR], ids=["plainly", "with an error"])
@pytest.mark.parametrize("before", [False, True], ids=["above", "below"])
def test_an_abortable_is_aborted_from_inside(place, source, error, before):
    do, log, seen, told = Doing(), [], [], []
    switch = pull.abortable()
    do.act = lambda: switch.abort(error)
    modules = [switch, *place(do)] if before else [*place(do), switch]
    pull.pull(source(log), *modules, pull.drain(seen.append, told.append))
    # Below the switch a value is already past it: it is let through, and nothing comes after it.
    assert seen in ([1, 2], [1, 2, 3] if before else [])
    assert (told, log) == ([error], ["closed"])


@each_place
@each_source
def test_a_reader_of_ones_own_aborts_from_inside(place, source):
    do, log = Doing(), []
    asker = Asker(pull.pull(source(log), *place(do)))
    do.act = asker.abort
    asker.ask(4)
    assert asker.answers == [(None, 1), (None, 2), (True, None), (True, None), (True, None)]
    assert log == ["closed"]


@each_place
@each_source
def test_a_reader_of_ones_own_asks_from_inside(place, source):
    do, log = Doing(), []
    asker = Asker(pull.pull(source(log), *place(do)))
    do.act = asker.ask
    asker.ask(3)
    assert asker.values == [1, 2, 3, 4]
    asker.ask(3)
    assert asker.answers[4:] == [(None, 5), (None, 6), (True, None)]


@each_place
def test_a_pushable_is_pushed_to_and_ended_from_inside(place):
    do, seen, told = Doing(), [], []
    inbox = pull.pushable()
    do.act = lambda: [inbox.push(4), inbox.end(), inbox.push(5)]
    pull.pull(inbox, *place(do), pull.drain(seen.append, told.append))
    for number in (1, 2, 3):
        inbox.push(number)
    assert (seen, told) == ([1, 2, 3, 4], [None])


@each_place
def test_a_pushable_is_aborted_from_inside(place):
    do, seen, told = Doing(), [], []
    inbox = pull.pushable()
    sink = pull.drain(seen.append, told.append)
    do.act = sink.abort
    pull.pull(inbox, *place(do), sink)
    for number in (1, 2, 3, 4):
        inbox.push(number)
    assert (seen, told, inbox.buffer) == ([1, 2], [None], ())


@each_place
def test_a_generator_aborts_the_stream_that_reads_it(place):
    seen, told, log = [], [], []
    sink = pull.drain(seen.append, told.append)

    def numbers():
        try:
            yield 1
            yield 2
            sink.abort(ERROR)
            yield 3
        finally:
            log.append("closed")

    pull.pull(pull.from_iter(numbers()), *place(lambda value: value), sink)
    assert (seen, told, log) == ([1, 2], [ERROR], ["closed"])


@each_place
def test_a_function_that_aborts_and_then_raises_has_aborted(place):
    do, seen, told = Doing(), [], []
    sink = pull.drain(seen.append, told.append)

    def act():
        sink.abort()
        raise ERROR

    do.act = act
    with dropped() as reported:
        pull.pull(pull.values(range(1, 7)), *place(do), sink)
    assert (seen, told) == ([1, 2], [None])
    assert {each.error for each in reported} <= {ERROR}


@pytest.mark.parametrize("joined", [True, False])
def test_a_hook_may_abort_what_has_ended(joined):
    seen, told = [], []
    sink = pull.drain(seen.append, told.append)
    modules = [pull.through(None, lambda error: sink.abort(ERROR)), *([] if joined else [apart])]
    pull.pull(pull.values([1]), *modules, sink)
    assert seen == [1]
    assert len(told) == 1


def test_the_operation_of_a_drain_aborts_it():
    seen, told = [], []

    def op(value):
        seen.append(value)
        if value == 2:
            sink.abort(ERROR)

    for modules in ([], [apart], [pull.batch(1), pull.flatten()]):
        sink = pull.drain(op, told.append)
        pull.pull(pull.values([1, 2, 3]), *modules, sink)
    assert (seen, told) == ([1, 2] * 3, [ERROR] * 3)


class AllAtOnce:
    """A source that answers nothing until it was asked three times, and then two values and the end."""

    def __init__(self):
        self.asked = []
        self.requests = []

    def __call__(self, abort, answer=None):
        self.requests.append(abort)
        self.asked.append(answer)
        if len(self.requests) == 3:
            for given in ((None, 1), (None, 2), (True,)):
                self.asked.pop(0)(*given)


@pytest.mark.parametrize("act", [lambda asker: asker.abort(ERROR), lambda asker: asker.ask()], ids=["abort", "ask"])
@pytest.mark.parametrize("through", [pull.map(int), pull.through(), pull.scan(max, 0)], ids=str)
def test_nothing_goes_up_behind_an_end_that_waits_for_its_turn(through, act):
    source = AllAtOnce()
    asker = Asker(pull.pull(lambda abort, answer=None: source(abort, answer), through))
    take = asker.answer

    def answer(end, value=None, /):
        take(end, value)
        if value == 1:
            act(asker)

    asker.answer = answer
    asker.ask(3)
    assert source.requests == [None] * 3
    assert len(asker.answers) == 4
    assert asker.ends[-1] in (True, ERROR)
