"""pull composes modules by the table of the specification, requests nothing in doing so, and refuses what fits not."""

from __future__ import annotations

import pytest

from penstock import pull
from tests.pull.parts import Asker, Upstream, collected, refuses, values_of


def double(n: int) -> int:
    return n * 2


def test_source_and_through_are_a_source():
    made = pull.pull(pull.values([1, 2]), pull.map(double))
    assert isinstance(made, pull.PullSource)
    assert values_of(made) == [2, 4]


def test_through_and_through_are_a_through():
    made = pull.pull(pull.map(double), pull.filter(lambda n: n > 2))
    assert isinstance(made, pull.PullThrough)
    assert values_of(pull.values([1, 2]), made) == [4]
    assert values_of(pull.values([3]), made) == [6]  # it carries no state, so it can be used again


def test_through_and_sink_are_a_sink():
    told = []
    made = pull.pull(pull.map(double), pull.flatten(), pull.collect(lambda error, found: told.append((error, found))))
    assert isinstance(made, pull.PullSink)
    assert told == []
    assert pull.pull(pull.values([1, 2]), made) is None
    assert told == [(None, [2, 4])]


def test_source_and_sink_are_a_pipeline_which_runs():
    assert collected(pull.values([1, 2])) == (None, [1, 2])


def test_what_a_sink_returns_is_returned():
    def first(read):
        found = []
        read(None, lambda end, value=None: found.append(value))
        return found[0]

    assert pull.pull(pull.values([7, 8]), first) == 7
    assert pull.pull(pull.values([7, 8]), pull.map(double), pull.PullSink(first)) == 14


@pytest.mark.parametrize(
    "groups",
    [[[0], [1, 2, 3, 4]], [[0, 1], [2, 3], [4]], [[0], [1], [2], [3], [4]], [[0, 1, 2], [3, 4]], [[0], [1, 2], [3, 4]]],
    ids=str,
)
def test_it_does_not_matter_how_modules_are_grouped(groups):
    told = []
    modules = [
        pull.count(9),
        pull.map(double),
        pull.flat_map(lambda n: [n, n]),
        pull.take(5),
        pull.collect(lambda error, found: told.append((error, found))),
    ]
    pull.pull(*(pull.pull(*(modules[position] for position in group)) for group in groups))
    assert told == [(None, [0, 0, 2, 2, 4])]


def test_composing_requests_nothing():
    upstream = Upstream()
    made = pull.pull(
        upstream, pull.map(double), pull.flatten(), pull.buffer(3), pull.para_map(print, 2), pull.through_flow(plain())
    )
    pull.pull(pull.map(double), pull.collect(print))
    assert (upstream.waiting, upstream.aborts) == ([], [])
    Asker(made).ask()
    assert len(upstream.waiting) == 1


def plain():
    from penstock import flow

    return flow(lambda stream: stream.map(double))


def test_plain_functions_are_modules():
    def ones(abort, answer=None):
        answer(None, 1) if abort is None else answer and answer(True)

    def same(read):
        return read

    assert values_of(pull.pull(ones, same), pull.take(2)) == [1, 1]
    assert values_of(ones, same, pull.take(1)) == [1]


def test_one_module_is_itself():
    source, through, sink = pull.empty(), pull.map(double), pull.collect(print)
    assert pull.pull(source) is source
    assert pull.pull(through) is through
    assert pull.pull(sink) is sink


class Duplex:
    """Give what it gets, upper case."""

    def __init__(self) -> None:
        pair = pull.pair()
        self.sink = pair.sink
        self.source = pull.pull(pair.source, pull.map(str.upper))


def test_a_duplex_may_stand_in_the_middle():
    assert values_of(pull.values("ab"), Duplex(), pull.map(double)) == ["AA", "BB"]


def test_a_duplex_may_stand_first_and_last():
    duplex = Duplex()
    pull.values("c") | duplex.sink
    assert values_of(duplex) == ["C"]
    made = pull.pull(pull.values("ab"), Duplex())
    assert isinstance(made, pull.PullSource)  # as `|` gives it, and pull of npm
    assert list(made) == ["A", "B"]


def test_a_through_and_a_duplex_are_a_through():
    made = pull.pull(pull.map(str.strip), Duplex(), pull.map(double))
    assert isinstance(made, pull.PullThrough)
    assert values_of(pull.values([" a", "b "]), made) == ["AA", "BB"]


def test_two_duplexes_are_connected_both_ways():
    class End:
        def __init__(self, values):
            self.found = []
            self.source = pull.values(values)
            self.sink = pull.drain(self.found.append)

    one, other = End([1, 2]), End([3])
    pull.pull(one, other, one)
    assert (one.found, other.found) == ([3], [1, 2])


def test_a_duplex_may_have_plain_functions():
    class Plain:
        def __init__(self):
            pair = pull.pair()
            self.sink = lambda read: pair.sink(read)
            self.source = lambda abort, answer=None: pair.source(abort, answer)

    assert values_of(pull.values([1]), Plain(), pull.map(double)) == [2]


@pytest.mark.parametrize(
    ("modules", "message"),
    [
        ((), "pull: at least one module must be given"),
        ((5,), "pull: module 0 must be a source, a through or a sink, got 5"),
        ((pull.empty(), None), "pull: module 1 must be a source, a through or a sink, got None"),
        ((pull.empty(), list), "pull: module 1 must be a source, a through or a sink, got <class 'list'>"),
        (
            (pull.map(double), pull.values([1])),
            "pull: module 1 (values) is a source; a source can only come first",
        ),
        ((pull.empty(), pull.count(1)), "pull: module 1 (count) is a source; a source can only come first"),
        (
            (pull.empty(), pull.collect(print), pull.map(double)),
            "pull: module 2 follows collect, a sink; a sink can only come last",
        ),
        (
            (pull.collect(print), pull.map(double)),
            "pull: module 1 follows collect, a sink; a sink can only come last",
        ),
        ((pull.drain(), pull.drain()), "pull: module 1 follows drain, a sink; a sink can only come last"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_refuses_modules_that_do_not_fit(modules, message):
    with refuses(pull.CompositionError, message):
        pull.pull(*modules)


def test_nothing_has_run_when_modules_do_not_fit():
    seen = []
    with pytest.raises(pull.CompositionError):
        pull.pull(pull.values([1]), pull.drain(seen.append), pull.map(double))
    assert seen == []


def test_a_source_is_wired_once():
    source = pull.values([1, 2])
    pull.pull(source, pull.map(double))
    with refuses(pull.PullError, "property B15: values is read already; make a source for each pipeline"):
        pull.pull(source, pull.drain())


def test_a_source_that_was_read_from_goes_on_where_it_was():
    source = pull.values([1, 2, 3, 4])
    head = Asker(source).ask()
    assert head.values == [1]
    assert values_of(source, pull.map(double), pull.take(2)) == [4, 6]


def test_a_source_that_has_ended_stays_ended_behind_a_through():
    source = pull.values([1])
    Asker(source).ask(2)
    assert values_of(source, pull.map(double)) == []


def test_a_source_is_shown_by_its_name():
    assert repr(pull.pull(pull.values([1]), pull.map(double), pull.flatten())) == "<source values | map | flatten>"
    assert repr(pull.drain()) == "<sink drain>"
    assert repr(pull.pull(pull.map(double), pull.take(1))) == "<through map | take>"


def test_modules_compose_with_a_bar_as_they_do_with_pull():
    found = []
    squares = pull.map(lambda n: n * n) | pull.take(3)
    assert pull.count() | squares | pull.drain(found.append) is None
    pull.values([5]) | (squares | pull.drain(found.append))
    assert found == [0, 1, 4, 25]
    with pytest.raises(pull.CompositionError, match="module 1 must be a source, a through or a sink, got 7"):
        pull.count() | 7
