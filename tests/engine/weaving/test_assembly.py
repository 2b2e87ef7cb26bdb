"""assembly: an error says where its chain was built, step by step, if that was asked for; else nothing is kept."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from penstock import Sink, Stream, assembly_trace, flow, thread
from penstock.engine.weaving.assembly import tracing
from tests.engine.parts import FORMS, Items, ended, noop
from tests.engine.watch import dropped, no_thread_is_left

__all__ = ["dropped", "no_thread_is_left"]


def lose(*_: object) -> Any:
    raise ValueError("lost")


async def lose_later(_: object) -> Any:
    raise ValueError("lost")


def line() -> int:
    """Return the line of the call."""
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return frame.f_back.f_lineno


def trace_of(stream: Stream[Any]) -> list[str]:
    """Return the lines of the note about where the failing stream was built, without its head."""
    error = ended(stream).error
    assert error is not None
    found = [note for note in error.__notes__ if note.startswith("built at:\n")]
    assert len(found) <= 1
    return found[0].splitlines()[1:] if found else []


def test_every_step_is_listed_with_its_line_and_the_failing_one_is_marked() -> None:
    with assembly_trace():
        at = line() + 1
        stream = (
            Stream.range(3)
            .map(str)
            .map(lose)
            .filter(bool)
        )  # fmt: skip
    assert trace_of(stream) == [
        f"  test_assembly.py:{at + 1}  range",
        f"  test_assembly.py:{at + 2}  map(str)",
        f"> test_assembly.py:{at + 3}  map(lose)",
        f"  test_assembly.py:{at + 4}  filter(bool)",
    ]


def test_nothing_is_kept_unless_it_is_asked_for() -> None:
    assert not tracing.on
    stream = Stream.range(3).map(lose)
    assert stream._chain.places == ()
    assert trace_of(stream) == []
    with assembly_trace():
        pass
    assert not tracing.on
    assert Stream.range(3)._chain.places == ()


def test_what_was_built_before_is_not_known() -> None:
    before = Stream.range(3).map(str)
    with assembly_trace():
        stream = before.map(lose)
        at = line() - 1
    assert trace_of(stream.filter(bool)) == [
        f"  {'?':{len(f'test_assembly.py:{at}')}}  range",
        f"  {'?':{len(f'test_assembly.py:{at}')}}  map(str)",
        f"> test_assembly.py:{at}  map(lose)",
        f"  {'?':{len(f'test_assembly.py:{at}')}}  filter(bool)",
    ]


JOINTS: dict[str, Callable[[Stream[int]], Stream[Any]]] = {
    "flat_map": lambda stream: stream.flat_map(lose, concurrency=1),
    "map_async": lambda stream: stream.map_async(lose_later),
    "tap": lambda stream: stream.tap(lose, on_complete=noop),
    "timeout": lambda stream: stream.flat_map(lambda _: Stream.never(), concurrency=1).timeout(0.001),
    "publish_on": lambda stream: stream.publish_on(thread()).map(lose),
}


@pytest.mark.parametrize("name", JOINTS)
def test_joints_are_marked_as_well(name: str) -> None:
    with assembly_trace():
        stream = JOINTS[name](Stream.range(3).skip(1)).map(str).do_finally(noop)
    marked = [each for each in trace_of(stream) if each.startswith(">")]
    failing = "map(lose)" if name == "publish_on" else name
    assert len(marked) == 1
    assert marked[0].split(maxsplit=2)[2].startswith(failing)


@pytest.mark.parametrize(
    "build", [lambda: Stream.defer(lose), lambda: Stream.create(lose), lambda: Stream.generate(0, lose)]
)
def test_sources_are_marked_as_well(build: Callable[[], Stream[Any]]) -> None:
    with assembly_trace():
        stream = build().map(str)
    first, second = trace_of(stream)
    assert first.startswith("> test_assembly.py:")
    assert second.startswith("  test_assembly.py:")


@pytest.mark.parametrize("form", FORMS)
def test_all_forms_are_traced(form: str) -> None:
    with assembly_trace():
        stream = FORMS[form](Items(3)).map(str).map(lose)
    assert [each[0] for each in trace_of(stream)][-3:] == [" ", " ", ">"]


def test_the_innermost_chain_is_told() -> None:
    with assembly_trace():
        inner = Stream.range(3).map(lose)
        at = line() - 1
        stream = Stream.range(3).merge(inner).map(str).do_finally(noop)
    assert trace_of(stream) == [f"  test_assembly.py:{at}  range", f"> test_assembly.py:{at}  map(lose)"]


def test_a_flow_keeps_the_places_of_its_steps() -> None:
    with assembly_trace():
        first = line() + 1
        clean = flow(lambda stream: stream.map(str).map(lose))
        second = line() + 1
        stream = Stream.range(3).map(abs) | clean
    assert trace_of(stream) == [
        f"  test_assembly.py:{second}  range",
        f"  test_assembly.py:{second}  map(abs)",
        f"  test_assembly.py:{first}  map(str)",
        f"> test_assembly.py:{first}  map(lose)",
    ]


def test_a_pipeline_tells_it_too() -> None:
    with assembly_trace():
        pipeline = Stream.range(3).map(lose) | Sink.count()
    with pytest.raises(ValueError, match="lost") as failure:
        pipeline.run().wait()
    assert failure.value.__notes__[1].startswith("built at:\n")


def test_places_neither_make_streams_differ_nor_get_lost_in_a_pickle() -> None:
    with assembly_trace():
        traced = Stream.range(3).map(str)
    assert traced == Stream.range(3).map(str)
    assert repr(traced) == "Stream(range | map(str))"
    assert pickle.loads(pickle.dumps(traced))._chain.places == traced._chain.places


def test_one_error_that_comes_again_is_told_once() -> None:
    error = ValueError("again")

    def raise_it(_: object) -> object:
        raise error

    with assembly_trace():
        stream = Stream.range(3).map(raise_it).retry(3).map(str)
    assert ended(stream).error is error
    assert sum(note.startswith("built at:") for note in error.__notes__) == 1


@pytest.mark.parametrize(("value", "on"), [("1", True), ("yes", True), ("0", False), ("", False)])
def test_the_environment_asks_for_it_in_the_whole_program(value: str, on: bool) -> None:
    code = "from penstock import Stream\nprint(Stream.range(3)._chain.places)"
    result = subprocess.run(
        [sys.executable, "-c", code], env={"PENSTOCK_TRACE": value}, capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == ("('<string>:2',)" if on else "()")
