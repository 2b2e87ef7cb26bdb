"""map_batches: a function is called with many elements at a time, and demand counts elements."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import strategies as st

from penstock import Stream
from penstock.engine.words.demand import UNBOUNDED
from penstock.operators.map_batches import MapBatches
from penstock.testing import Form, ManualPublisher, Tracked, check_joint, check_stage, subscribed
from tests.operators.subjects import each_form, failure_of, notes, over, place


def doubled(batch: list[int]) -> list[int]:
    return [2 * n for n in batch]


def marked(batch: list[int]) -> list[int]:
    return [*batch, -len(batch)]


def batches(elements: list[int], size: int) -> list[list[int]]:
    return [elements[at : at + size] for at in range(0, len(elements), size)]


@pytest.mark.parametrize("size", [1, 3])
def test_laws(size: int) -> None:
    model = lambda xs: [n for batch in batches(xs, size) for n in marked(batch)]  # noqa: E731
    check_stage(MapBatches(marked, size), model, st.integers(), examples=15)


def test_laws_of_a_function_that_leaves_elements_out() -> None:
    check_joint(
        lambda stream: stream.map_batches(lambda batch: batch[1:], 3).map(str),
        lambda xs: [str(n) for batch in batches(xs, 3) for n in batch[1:]],
        st.integers(),
        examples=15,
    )


def test_laws_with_numpy() -> None:
    check_stage(
        MapBatches(np.cumsum, 3, "numpy"),
        lambda xs: [n for batch in batches(xs, 3) for n in np.cumsum(batch).tolist()],
        st.integers(-9, 9),
        examples=10,
    )


def test_laws_with_arrow() -> None:
    check_stage(
        MapBatches(pc.negate, 3, "arrow"), lambda xs: [-n for n in xs], st.integers(-9, 9), examples=10, pickles=False
    )


def test_refuses_what_cannot_be_called() -> None:
    with pytest.raises(TypeError, match=r"^map_batches: fn must be callable, got 0$"):
        Stream.range(3).map_batches(0)  # type: ignore[call-overload]


def test_refuses_a_size_below_one() -> None:
    with pytest.raises(ValueError, match=r"^map_batches: size must be >= 1, got 0$"):
        Stream.range(3).map_batches(doubled, 0)


def test_refuses_a_form_it_does_not_know() -> None:
    with pytest.raises(ValueError, match=r"^map_batches: form must be 'list', 'numpy' or 'arrow', got 'pandas'$"):
        Stream.range(3).map_batches(doubled, form="pandas")  # type: ignore[call-overload]


@pytest.mark.parametrize(("demand", "requested"), [(1, 4), (4, 4), (5, 8), (UNBOUNDED, UNBOUNDED)])
def test_asks_for_what_fills_the_batches_that_demand_needs(demand: int, requested: int) -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    subscribed(Stream.from_publisher(upstream).map_batches(doubled, 4), demand)
    assert upstream.requests == [requested]


def test_asks_for_no_more_while_a_batch_fills_and_while_it_has_results() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).map_batches(doubled, 4), 1)
    for element in range(4):
        assert (upstream.requests, probe.elements) == ([4], [])
        upstream.next(element)
    assert probe.elements == [0]
    probe.request(3)
    assert probe.elements == [0, 2, 4, 6]
    assert upstream.requests == [4]
    probe.request(1)
    assert upstream.requests == [4, 4]


def test_takes_one_batch_from_its_source_for_one_element() -> None:
    items = Tracked(range(9))
    probe = subscribed(Stream.from_iterable(items).map_batches(doubled, 4))
    probe.request(1)
    assert (probe.elements, items.taken) == ([0], 4)
    probe.request(3)
    assert items.taken == 4
    probe.cancel()
    assert items.open_runs == 0


@each_form
def test_the_last_batch_may_be_shorter(form: Form) -> None:
    sizes: list[int] = []

    def look(batch: list[int]) -> list[int]:
        sizes.append(len(batch))
        return batch

    assert list(over(form, *range(5)).map_batches(look, 2)) == [0, 1, 2, 3, 4]
    assert sizes == [2, 2, 1]


@each_form
def test_the_last_batch_is_emitted_under_demand_too(form: Form) -> None:
    probe = subscribed(over(form, 1, 2, 3).map_batches(doubled, 8))
    probe.request(2)
    assert probe.wait_for(2) == [2, 4]
    assert not probe.ended
    probe.request(2)
    assert probe.wait_for_end() == [2, 4, 6]


def test_each_batch_is_a_list_of_its_own() -> None:
    kept: list[list[int]] = []
    list(Stream.range(4).map_batches(lambda batch: kept.append(batch) or batch, 2))
    assert kept == [[0, 1], [2, 3]]


@each_form
def test_a_numpy_array(form: Form) -> None:
    def share(batch: Any) -> Any:
        assert isinstance(batch, np.ndarray)
        return batch / batch.sum()

    found = list(over(form, 1, 3, 2, 6).map_batches(share, 2, form="numpy"))
    assert found == [0.25, 0.75, 0.25, 0.75]
    assert {type(each) for each in found} == {float}


def test_rows_of_a_numpy_array_are_elements() -> None:
    found = list(Stream.just((1, 2), (3, 4), (5, 6)).map_batches(lambda rows: rows * 10, 2, form="numpy"))
    assert [row.tolist() for row in found] == [[10, 20], [30, 40], [50, 60]]


@each_form
def test_an_arrow_record_batch(form: Form) -> None:
    def late(batch: pa.RecordBatch) -> pa.RecordBatch:
        assert isinstance(batch, pa.RecordBatch)
        return batch.filter(pc.greater(batch["delay"], 10))

    rows = [{"flight": name, "delay": delay} for name, delay in (("a", 5), ("b", 15), ("c", 25), ("d", 1))]
    found = list(over(form, *rows).map_batches(late, 3, form="arrow"))
    assert found == [{"flight": "b", "delay": 15}, {"flight": "c", "delay": 25}]


def test_a_column_that_the_first_row_does_not_have_is_not_lost() -> None:
    found = list(Stream.just({"a": 1}, {"b": 2}).map_batches(lambda batch: batch, form="arrow"))
    assert found == [{"a": 1, "b": None}, {"a": None, "b": 2}]


def test_an_arrow_table_gives_its_rows_and_an_array_its_values() -> None:
    rows = Stream.just({"n": 1}, {"n": 2})
    assert list(rows.map_batches(lambda batch: pa.Table.from_batches([batch]), form="arrow")) == [{"n": 1}, {"n": 2}]
    assert list(rows.map_batches(lambda batch: batch["n"], form="arrow")) == [1, 2]


def test_a_pandas_frame_gives_its_rows() -> None:
    found = list(Stream.just({"n": 1}, {"n": 2}).map_batches(lambda batch: batch.to_pandas(), form="arrow"))
    assert found == [{"n": 1}, {"n": 2}]


@pytest.mark.parametrize(("form", "name"), [("numpy", "numpy"), ("arrow", "pyarrow")])
def test_says_what_to_install(form: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    error = failure_of(Stream.range(3).map_batches(doubled, form=form))
    assert str(error) == f"map_batches: form={form!r} needs {name}; say pip install {name}"


@each_form
@pytest.mark.parametrize("returned", [5, None, "text", {"a": [1]}], ids=repr)
def test_what_is_no_batch_of_results_fails_the_stream(form: Form, returned: Any) -> None:
    error = failure_of(over(form, 1).map_batches(lambda batch: returned))
    assert type(error) is TypeError
    assert str(error) == f"map_batches: fn must return the results of a batch, got {returned!r}"


@each_form
@pytest.mark.parametrize("size", [1, 2])
def test_none_is_not_an_element(form: Form, size: int) -> None:
    error = failure_of(over(form, 1).map_batches(lambda batch: [None], size))
    assert str(error).startswith("rule 2.13: None is not an element; ")


def inverse(batch: list[int]) -> list[float]:
    return [1 / n for n in batch]


@each_form
@pytest.mark.parametrize("size", [1, 9])
def test_a_function_that_raises_is_named(form: Form, size: int) -> None:
    error = failure_of(over(form, 2, 0).map_batches(inverse, size))
    assert type(error) is ZeroDivisionError
    assert notes(error) == [f"in map_batches(inverse), step 1 of 1, {place(inverse)}"]


@each_form
def test_a_leaked_stop_iteration_is_an_error_not_an_end(form: Form) -> None:
    def leak(n: int) -> object:
        return next(iter(()))

    name = leak.__qualname__.replace("<locals>.", "")
    error = failure_of(over(form, 1, 2).map_batches(leak))
    assert str(error) == f"map_batches({name}): the function raised StopIteration; that is an error, not an end"
