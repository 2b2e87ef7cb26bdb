"""kept: what once differed, as small as hypothesis made it; replayed for ever."""

from __future__ import annotations

from tests.fuzz.functions import Add, Below, Breaks, Each, Key, Later, Pieces, Same, Smaller, Turned
from tests.fuzz.grammar import Chain, Inner, Made, Src, Step
from tests.fuzz.paths import Path

ONE = (("prefetch", 1),)
TWO = (("prefetch", 2),)
CLOCK = (("clock", Made("clock")),)
EMPTY = Chain(Src(1, ()))
ZERO = Chain(Src(1, (0,)))
FAILS = Chain(Src(1, (), "boom"))


def _chain(items: tuple[int, ...], *steps: Step, error: str = "") -> Chain:
    return Chain(Src(0, items, error), steps)


def _using(chain: Chain) -> Chain:
    return Chain(chain, (), "using")


def _defer(chain: Chain) -> Chain:
    return Chain(chain, (), "defer")


def _step(name: str, *args: object, **options: object) -> Step:
    return Step(name, args, tuple(options.items()))


MAPPED = _step("map_async", Later(Add(0)), concurrency=1)
PARALLEL = _step("parallel_mapped", 1, Add(0), Below(5))

KEPT: list[tuple[Chain, Path]] = [
    # What a stream of nothing emits is not nothing.
    *(
        (_chain((), _step("count"), between, step), Path("for"))
        for between in (
            _step("with_latest_from_one"),
            _step("metrics", "here", registry=Made("registry")),
            _step("with_context", {}),
            _step("observed", Made("recorder")),
            _step("subscribe_on", Made("inline")),
        )
        for step in (Step("zip", (ZERO,), ONE), Step("combined_last", (FAILS,), ONE), Step("interleave", (ZERO,), ONE))
    ),
    # A stream that passes nothing on needs no request to end, whatever it stands in.
    *(
        (_chain((), step, follows), Path("one"))
        for step in (
            _step("cache"),
            _step("checked"),
            _step("partition_first", Below(0)),
            _step("retry", 1),
            _step("share"),
            _step("skip_until_now"),
            _step("subscribe_on", Made("inline")),
            _step("take_until_never"),
            _step("race_never"),
        )
        for follows in (_step("repeat", 2), _step("switch_if_empty", EMPTY), _step("concat", EMPTY))
    ),
    (
        _chain(
            (),
            _step("switch_if_empty", Chain(Src(1, (0,)))),
            _step("map", Add(0)),
            Step("zip", (Chain(Src(2, ()), (_step("with_latest_from_one"),)),), ONE),
        ),
        Path("all"),
    ),
    (
        _chain((0,), _step("do_finally", Made("runs")), _step("take", 0), _step("race_never"), _step("repeat", 2)),
        Path(),
    ),
    (
        _chain((0,), _step("do_finally", Made("runs")), _step("take", 0), _step("race_never"), _step("repeat", 2)),
        Path("all"),
    ),
    # So does one that fails without reading anything, also where it is iterated beside others.
    *(
        (_chain((), _step("single"), step), Path("all"))
        for step in (
            Step("concat", (ZERO,)),
            Step("interleave", (ZERO,), ONE),
            Step("merge_sorted", (ZERO,), (("key", Add(0)), *ONE)),
            Step("merged", (ZERO,), ONE),
            Step("zip", (ZERO,), ONE),
            _step("switch_if_empty", ZERO),
        )
    ),
    (_chain((0,), Step("zip", (Chain(Src(1, ()), (_step("single"),)),), ONE)), Path("all")),
    # An observed run is the run.
    (_using(_chain((0, 0))), Path("break", observed=True)),
    (_using(_chain(())), Path("all", ("sized",), observed=True)),
    (_using(_chain(())), Path("for", observed=True)),
    (Chain(_chain((0,)), (_step("buffer_until", Below(0)),), "using"), Path("cancel inside", observed=True)),
    (_chain((0,)), Path("one", observed=True)),
    (_chain(()), Path("all", observed=True)),
    (_chain((), _step("contains", 0)), Path("all", ("asynchronous",), observed=True)),
    (_chain((), _step("take", 1), _step("end_with", 20)), Path("for", ("asynchronous",), observed=True)),
    (
        _chain(
            (0,),
            Step(
                "zip", (Chain(_using(Chain(Src(1, (0,)))), (Step("zip", (Chain(Src(2, (0,))),), ONE),), "defer"),), ONE
            ),
        ),
        Path("for", ("sized",), observed=True),
    ),
    # Errors that refuse notes arrive.
    (_chain((0,), error="cold"), Path("all")),
    (_chain((), error="cold"), Path("for")),
    (_chain((), Step("count"), Step("map_error", (Turned("cold"),)), error="boom"), Path("all", ("asynchronous",))),
    (_chain((0,), _step("expanded", Breaks(Smaller(1), 0, "cold"), 1), _step("retry", 1)), Path("all")),
    (_chain((), Step("merged", (EMPTY,), ONE), Step("map_error", (Turned("cold"),)), error="boom"), Path("all")),
    # What was produced before a failure is delivered before it.
    (_chain((0, 0), _step("windows_whole", 3), error="boom"), Path("one")),
    (_chain((0, 0), _step("windows_whole", 3), error="boom"), Path("for", ("foreign",))),
    (_chain((0,), Step("concat_map", (Inner(ZERO),)), error="boom"), Path("all", ("threaded",))),
    (_chain((0,), Step("zip", (EMPTY,), ONE), error="boom"), Path("for", ("foreign",))),
    (_chain((0, 0), Step("zip", (ZERO,), TWO), error="boom"), Path("all", ("created",))),
    (_chain((0,), Step("zip", (Chain(Src(1, (0,), "boom")), Chain(Src(2, ()))), TWO)), Path("inside")),
    (
        _chain((), _step("joined", Chain(Src(1, (), "boom"), (_step("subscribe_on", Made("pool")),)), Key(1), "inner")),
        Path("for", ("sized",)),
    ),
    (_chain((0,), _step("buffer_timeout", 2, 5.0, clock=Made("clock")), error="boom"), Path("all")),
    # Nothing is read before somebody asks.
    *(
        (_chain((0,), step), Path("all", (kind,)))
        for kind in ("sized", "foreign", "asynchronous")
        for step in (
            MAPPED,
            PARALLEL,
            Step("publish_on", (Made("inline"),), ONE),
            Step("merge", (EMPTY,), ONE),
            Step("zip", (ZERO,), ONE),
            Step("interleave", (ZERO,), ONE),
            Step("merge_sorted", (ZERO,), (("key", Add(0)), *ONE)),
            Step("sequence_equal", (ZERO, Same()), ONE),
            Step("flat_map", (Inner(EMPTY),), (("concurrency", 1), *ONE)),
            _step("switched_once", Inner(EMPTY)),
        )
    ),
    # No hidden reading ahead.
    (_chain((3, 0), _step("expand", Smaller(1))), Path("slices", ("foreign",), (2,))),
    (
        _chain((0,), Step("concat", (Chain(Src(1, ()), (Step("interleave", (Chain(Src(2, (0,))),), ONE),)),))),
        Path("one", ("foreign",)),
    ),
    (
        _chain((), Step("concat", (ZERO, Chain(Src(2, (0,)), (Step("zip", (Chain(Src(3, ())),), ONE),))))),
        Path("one", ("foreign",)),
    ),
    (_chain((8, 8, 2), _step("map", Pieces(2)), _step("flatten")), Path("slices", ("foreign",), (2,))),
    (_chain((8, 8, 2), _step("flat_map", Pieces(2))), Path("slices", ("late",), (2,))),
    (_chain((0, 1, 0, 0, 0, 0), _step("parallel_mapped", 2, Add(0), Below(1))), Path("one", ("sized",))),
    (_chain((0, 0, 0, 0, 0, 0), _step("buffer", 2, 3)), Path("one", ("foreign",))),
    (_chain((0, 0, 0, 0), _step("sliding", 3, 2)), Path("one", ("foreign",))),
    (_chain((0, 0, 0, 0), _step("skip", 1), _step("map_batches", Each(Add(1)), 2)), Path("one", ("foreign",))),
    (
        _chain((), Step("interleave", (Chain(Src(1, (0, 0, 0, 0))),), TWO), _step("contains", 0)),
        Path("one", ("foreign",)),
    ),
    # The end comes with the last element.
    (_chain((0, 0), Step("interleave", (Chain(Src(1, ())),), ONE)), Path("one", ("listed", "stepped"))),
    *(
        (_chain((0, 0), *between, Step("zip", (Chain(Src(1, items), (step,)),), ONE)), Path("one", (kind,)))
        for between in ((), (_step("map", Add(0)),))
        for items, step in (((), _step("is_empty")), ((0,), _step("map", Add(0))))
        for kind in ("listed", "sized")
    ),
    (_chain((0,), _step("with_latest_from_one")), Path("one")),
    (_chain((0,), _step("expanded", Smaller(1), 1)), Path("one")),
    (_chain((0,), Step("merged", (EMPTY,), ONE)), Path("one")),
    (_chain((0,), _step("partition_both", Below(0))), Path("one")),
    (_chain((0,), _step("metrics", "here", registry=Made("registry"))), Path("one", ("just",))),
    (_chain((0,), _step("with_context", {})), Path("one", ("just",))),
    (_chain((0, 0), Step("zip", (Chain(Src(1, (0,)), (_step("map", Add(0)),)),), ONE)), Path("one")),
    (_defer(_using(_chain((0,)))), Path("one")),
    (_chain((), _step("switch_if_empty", _using(ZERO))), Path("one")),
    (Chain(_chain(()), (_step("subscribe_on", Made("inline")), _step("start_with", 20)), "defer"), Path("one")),
    (
        _chain((1,), Step("merge_sorted", (Chain(Src(1, (0,), "boom")),), (("key", Add(0)), *ONE))),
        Path("one", ("foreign",)),
    ),
    # An end with nothing before it is told unasked.
    (_using(_chain(())), Path("all")),
    (_chain((), _step("flat_map", Smaller(1))), Path("all")),
    (_chain((0,), _step("take", 0), _step("flatten")), Path("all")),
    (_using(_chain(())), Path("all", ("wrapped",))),
    (_defer(_chain(())), Path("all")),
    (_chain((0,), _step("take", 0), _step("repeat", 1)), Path("all")),
    (_chain((0,), _step("take", 0), _step("with_context", {})), Path("all")),
    (_chain((0,), _step("take", 0)), Path("all", observed=True)),
    (_chain((0,), Step("merge_sorted", (FAILS,), (("key", Add(0)), *ONE))), Path("all")),
    (_chain((), Step("sequence_equal", (FAILS, Same()), ONE)), Path("all")),
    (_chain((), _step("subscribe_on", Made("pool")), _step("expand", Smaller(1))), Path("all")),
    (_chain((0,), _step("joined", EMPTY, Key(1), "left")), Path("one")),
]
