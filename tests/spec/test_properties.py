"""Properties of the pull-stream protocol are data: complete, well formed, found by name, printed as a table."""

from __future__ import annotations

import pickle
import re
from collections import Counter

import pytest

import penstock.tck  # noqa: F401 - it registers the trials
from penstock.spec import PROPERTIES, Layer, Level, Property, PullError, explain, properties_table, property_of
from penstock.spec.properties.intents import INTENTS
from penstock.spec.pull_interfaces import asks, cause, end_of, failure, worst
from penstock.tck.pull.case import sink_trials, source_trials, through_trials

LAYERS = {"B": (Layer.BASE, 15), "A": (Layer.ABORTABLE, 13), "F": (Layer.FAULT, 12)}

each_property = pytest.mark.parametrize("each", PROPERTIES, ids=lambda each: each.id)


def test_every_layer_has_all_its_properties_in_order() -> None:
    assert [each.id for each in PROPERTIES] == [
        f"{letter}{number + 1}" for letter, (_, count) in LAYERS.items() for number in range(count)
    ]


@each_property
def test_belongs_to_the_layer_of_its_letter(each: Property) -> None:
    assert each.layer is LAYERS[each.id[0]][0]
    assert each.level is Level.MUST


@each_property
def test_is_written_in_whole_sentences(each: Property) -> None:
    for text in (each.sentence, each.hint):
        assert re.fullmatch(r"\S.*[^.]\.", text)
        assert ". " not in text
        assert not set("|<>*`") & set(text), "would need escaping in the table"


def test_sentences_and_hints_are_all_different() -> None:
    assert len({each.sentence for each in PROPERTIES}) == len({each.hint for each in PROPERTIES}) == len(PROPERTIES)


def test_names_the_tests_that_show_it_and_each_test_shows_one() -> None:
    named = {test: each.id for each in PROPERTIES for test in each.tests}
    assert Counter(test for each in PROPERTIES for test in each.tests).most_common(1)[0][1] == 1
    trials = [*source_trials.members, *through_trials.members, *sink_trials.members]
    assert named == {trial.name: trial.rule for trial in trials}


@each_property
def test_is_a_value(each: Property) -> None:
    assert pickle.loads(pickle.dumps(each)) == each
    with pytest.raises(AttributeError):
        each.sentence = "Anything goes."  # type: ignore[misc]


@each_property
def test_is_found_by_its_id(each: Property) -> None:
    assert property_of(each.id) is each


@pytest.mark.parametrize("name", ["B16", "", "b1", "3.9", "A0"])
def test_refuses_a_name_that_is_no_property(name: str) -> None:
    with pytest.raises(LookupError) as caught:
        property_of(name)
    assert str(caught.value) == f"property_of: name must be like 'B3' or 'F12', got {name!r}"


def test_table_has_a_section_for_each_layer_and_a_row_for_each_property() -> None:
    lines = properties_table().splitlines()
    assert [line for line in lines if line.startswith("#")] == ["## Base", "## Abortable", "## Fault handling"]
    rows = [line.strip("| ").split(" | ") for line in lines if re.match(r"\| [BAF]\d", line)]
    assert [(row[0], row[1], row[2]) for row in rows] == [
        (each.id, each.level.value, each.sentence) for each in PROPERTIES
    ]
    assert {len(row) for row in rows} == {6}


def test_says_what_it_is_for() -> None:
    assert set(INTENTS) == {each.id for each in PROPERTIES}
    assert len({each.intent for each in PROPERTIES}) == len(PROPERTIES)
    for each in PROPERTIES:
        assert re.fullmatch(r"[A-Z][^|<>*`]*[^.]\.", each.intent)
        assert f"  what for: {each.intent}" in explain(each.id).splitlines()


def test_an_error_names_the_property_and_says_what_it_asks() -> None:
    error = PullError("A2", "request 3 was answered with the value 7")
    assert str(error) == "property A2: request 3 was answered with the value 7"
    assert error.property_id == "A2"
    assert error.__notes__ == ["A2: An abort is answered with an end, never with a value."]
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.__notes__) == (str(error), error.__notes__)


def test_an_error_names_no_property_that_is_not_there() -> None:
    with pytest.raises(LookupError):
        PullError("Z1", "nothing")


class FalseError(Exception):
    """Be an error that is false."""

    def __bool__(self) -> bool:
        return False


FALSE = FalseError("false")


@pytest.mark.parametrize(
    ("given", "is_ask", "end"), [(None, True, None), (False, True, None), (True, False, True), (FALSE, False, FALSE)]
)
def test_requests_and_answers_are_told_apart_by_identity(given: object, is_ask: bool, end: object) -> None:
    assert asks(given) is is_ask  # type: ignore[arg-type]
    assert end_of(given) is end  # type: ignore[arg-type]
    if not is_ask:
        assert cause(given) is end  # type: ignore[arg-type]


def test_what_is_true_without_being_true_is_an_abort_and_no_good_end() -> None:
    assert (asks("stop"), cause("stop")) == (False, True)  # type: ignore[arg-type]
    assert isinstance(end_of(1), PullError)  # type: ignore[arg-type]


def test_the_first_error_is_the_worst_end() -> None:
    other = OSError("other")
    assert worst() is worst(True, None) is True
    assert worst(True, FALSE, other) is FALSE
    assert (failure(True), failure(None), failure(FALSE)) == (None, None, FALSE)
