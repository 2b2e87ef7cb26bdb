"""chains: a chain is laid out where the engine divides it, and says what each part holds at most."""

from __future__ import annotations

from penstock import Sink, Stream, branch, flow, thread
from penstock.plan import Plan
from penstock.spark import frame


def odd(n):
    return n % 2


def parts(plan: Plan) -> list[tuple[str, str, tuple[int, ...]]]:
    return [(each.where, each.what, plan.inputs(at)) for at, each in enumerate(plan.places)]


def test_a_source_and_its_stages_are_one_part():
    plan = Stream.range(3).map(str).filter(odd).explain()
    assert parts(plan) == [("source", "range | map(str) | filter(odd)", ())]
    assert plan.title == "in this process"


def test_a_step_that_sees_signals_begins_a_part_and_says_its_bound():
    plan = Stream.range(3).map(str).map_async(odd, concurrency=7).publish_on(thread(), prefetch=12).map(str).explain()
    assert parts(plan) == [
        ("source", "range | map(str)", ()),
        ("then", "map_async(odd)", (0,)),
        ("then", "publish_on | map(str)", (1,)),
    ]
    assert [each.bound for each in plan.places][1:] == ["at most 7 at once", "at most 12 elements wait here"]


def test_streams_that_are_brought_together_are_a_graph():
    plan = Stream.range(3).map(str).join(Stream.just(1), key=odd).map(str).explain()
    assert parts(plan) == [
        ("source", "range | map(str)", ()),
        ("source", "just", ()),
        ("then", "join(odd) | map(str)", (0, 1)),
    ]
    assert plan.places[2].bound == "at most 32 elements wait here; at most 10,000 elements are held"


def test_a_flow_and_a_sink_begin_with_the_stream_that_they_get():
    late = flow(lambda numbers: numbers.filter(odd))
    assert parts(late.explain()) == [("input", "a stream", ()), ("then", "filter(odd)", (0,))]
    ends = (late | Sink.count()).explain()
    assert parts(ends)[1:] == [("then", "filter(odd)", (0,)), ("end", "count", (1,))]


def test_a_flow_that_brings_another_stream_in_takes_from_both():
    both = flow(lambda numbers: numbers.merge(Stream.just(1)))
    assert parts((Stream.range(2) | both | Sink.count()).explain()) == [
        ("source", "range", ()),
        ("source", "just", ()),
        ("then", "merge", (0, 1)),
        ("end", "count", (2,)),
    ]


def test_a_run_explains_itself_with_its_branches():
    pipeline = Stream.range(3).map(str) | branch(Sink.to_list(), flow(lambda s: s.filter(odd)) | Sink.count())
    run = Stream.range(0).map(str) | branch(Sink.to_list(), flow(lambda s: s.filter(odd)) | Sink.count())
    started = run.run()
    started.wait(30)
    assert parts(started.explain()) == parts(pipeline.explain())


def test_streams_inside_of_streams_are_drawn_to_a_depth():
    stream = Stream.just(1)
    for _ in range(100):
        stream = stream.concat_map(Stream.just).zip(stream.map(str))
    assert len(stream.explain().places) < 400


def test_of_many_streams_some_are_drawn_and_the_others_counted():
    plan = Stream.merge(*(Stream.range(n) for n in range(1000))).explain()
    assert len(plan.places) == 25
    assert parts(plan)[-2:] == [("source", "977 more streams", ()), ("then", "merge", tuple(range(24)))]


def test_what_runs_on_spark_says_so_without_spark():
    plan = (Stream.range(3) | frame(odd, schema="n long")).map(str).explain()
    assert parts(plan) == [("source", "range", ()), ("Spark", "frame(odd)", (0,)), ("then", "map(str)", (1,))]
    assert plan.title == "on Spark, when a Sink ends it"
