"""coming_from: a name that Stream does not have says what it is called here, and asking for it stays cheap."""

from __future__ import annotations

import copy
import pickle
import sys
import traceback
from typing import Any

import pytest

from penstock import Stream
from penstock.coming_from import NoSuchNameError, names_elsewhere
from scripts.names_elsewhere import FILE, text

NUMBERS: Any = Stream.range(5)
SAID = {
    "distinct_until_changed": "(reactivex, Reactor); here it is drop_repeats()",
    "window_with_count": "(reactivex); here it is window()",
    "observe_on": "(reactivex); here it is publish_on()",
    "flatMap": "(Reactor); here it is flat_map with concurrency",
    "takeWhile": "(Reactor, Pekko Streams); here it is take_while()",
    "mapAsyncUnordered": "(Pekko Streams); here it is map_async with ordered and key",
    "spaceout": "(aiostream); here it is throttle()",
    "to_iterable": "(reactivex, Reactor); here: iterate over the stream",
    "slice": "(reactivex); here it is skip() or take()",
    "drop_duplicates": "(pandas, PySpark); here it is distinct()",
}


@pytest.mark.parametrize("name", SAID)
def test_a_name_of_another_library_says_what_it_is_here(name: str) -> None:
    with pytest.raises(AttributeError) as failure:
        getattr(NUMBERS, name)
    assert str(failure.value) == f"Stream has no {name} {SAID[name]}"


def test_a_typing_error_gets_the_nearest_name() -> None:
    with pytest.raises(AttributeError, match=r"^Stream has no fliter; did you mean filter\(\)\?$"):
        NUMBERS.fliter(bool)


@pytest.mark.parametrize("name", ["xyzzy", "result_of", "enrich"])
def test_a_name_that_is_like_no_other_is_only_refused(name: str) -> None:
    with pytest.raises(AttributeError, match=rf"^Stream has no {name}$"):
        getattr(NUMBERS, name)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("of", " (reactivex); here it is just()"),
        ("batch", "; as in Pekko Streams: here it is conflate(); as in Python: here it is buffer()"),
        ("from_queue", "; here: from_queue of penstock.bridges.threads or of penstock.bridges.asyncio"),
        ("from_kafka", "; here: a connector of penstock.connectors"),
        ("from_websocket", "; here: websocket of penstock.connectors.http"),
        ("key_by", "; here it is group_by, or keyed_by of penstock.spark"),
        ("sorted", "; here: nothing, since a stream has no end to wait for: to_list, and sort that"),
        ("add_sink", "; here: a Sink, which follows the stream: Sink.for_each, or one of penstock.connectors"),
        ("form_iterable", "; did you mean from_iterable()?"),
    ],
)
def test_a_source_that_the_class_does_not_have_says_what_it_is_here(name: str, said: str) -> None:
    with pytest.raises(AttributeError) as failure:
        getattr(Stream, name)
    assert str(failure.value) == f"Stream has no {name}{said}"
    assert not hasattr(Stream, name)


def test_what_a_pipeline_does_is_said_of_a_stream() -> None:
    with pytest.raises(AttributeError, match=r"^Stream has no run; end it with a Sink, and a pipeline can run: "):
        NUMBERS.run()


def test_the_kind_of_stream_is_named() -> None:
    subject: Any = Stream.subject()
    with pytest.raises(AttributeError, match=r"^Subject has no observe_on \(reactivex\); here it is publish_on\(\)$"):
        subject.observe_on()


def test_the_names_are_those_of_the_docs() -> None:
    assert FILE.read_text(encoding="utf-8") == text(), "python -m scripts.names_elsewhere --write"


def test_no_name_of_ours_is_among_them() -> None:
    assert [name for name in names_elsewhere() if hasattr(Stream, name)] == []


def test_asking_whether_there_is_a_name_searches_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def searched() -> dict[str, str]:
        raise AssertionError("the message was not read")

    monkeypatch.setattr("penstock.coming_from.names_elsewhere", searched)
    assert not hasattr(NUMBERS, "observe_on")
    assert not hasattr(NUMBERS, "__arrow_array__")
    assert getattr(NUMBERS, "on_next", None) is None


def test_streams_are_copied_and_pickled_as_before() -> None:
    for again in (copy.copy(NUMBERS), copy.deepcopy(NUMBERS), pickle.loads(pickle.dumps(NUMBERS))):
        assert again == NUMBERS
        assert list(again) == [0, 1, 2, 3, 4]


def test_the_error_itself_is_pickled() -> None:
    error = pickle.loads(pickle.dumps(NoSuchNameError(Stream, "fliter")))
    assert (str(error), error.name) == ("Stream has no fliter; did you mean filter()?", "fliter")


def test_python_adds_no_guess_to_ours() -> None:
    with pytest.raises(AttributeError) as failure:
        NUMBERS.fliter(bool)
    last = traceback.format_exception_only(failure.value)[-1].strip()
    assert last == "penstock.coming_from.NoSuchNameError: Stream has no fliter; did you mean filter()?", sys.version
