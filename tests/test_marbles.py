"""marbles: every operator has a picture, drawn from what it does."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest

from scripts.marbles import Marble, label_of, picture, run, timeline
from scripts.operator_notes import NAMES, marble_of
from scripts.operator_reference import reference_page

TEXT = "{http://www.w3.org/2000/svg}text"
each_name = pytest.mark.parametrize("name", NAMES)


@each_name
def test_the_code_uses_its_operator(name: str) -> None:
    assert f".{name}(" in marble_of(name).code


@each_name
def test_the_picture_is_well_formed_and_the_same_each_time(name: str) -> None:
    drawn = picture(name, marble_of(name))
    words = [each.text for each in ET.fromstring(drawn).iter(TEXT)]
    assert label_of(marble_of(name).code) in words
    assert drawn == picture(name, marble_of(name))


@each_name
def test_something_is_heard(name: str) -> None:
    _, outputs = run(marble_of(name))
    assert any(line.heard for line in outputs) or name == "never"


def test_the_picture_shows_what_was_heard() -> None:
    words = [each.text for each in ET.fromstring(picture("map", marble_of("map"))).iter(TEXT)]
    assert {"1", "2", "3", "4", "10", "20", "30", "40"} <= set(words)


def test_a_failure_is_shown_by_its_type() -> None:
    assert ">TypeError<" in picture("cast", marble_of("cast"))


def test_what_is_asked_for_is_shown() -> None:
    assert picture("limit_rate", marble_of("limit_rate")).count(">+") == 2


def test_streams_of_streams_have_a_line_each() -> None:
    _, outputs = run(Marble("a.window(2)", "123|"))
    assert [[value for _, kind, value in line.heard if kind == "next"] for line in outputs] == [[], [1, 2], [3]]


def test_an_input_is_read_second_by_second() -> None:
    assert [event[:2] for event in timeline("-1(2x)|")] == [(1, "next"), (2, "next"), (2, "next"), (3, "end")]
    assert [event[2] for event in timeline("7y|")] == [7, "y", None]
    assert timeline("--#")[0][:2] == (2, "fail")


def test_what_only_virtual_time_needs_is_not_shown() -> None:
    assert label_of("a.sample(3, clock=clock)") == "a.sample(3)"
    assert label_of("a.timestamp(clock=clock)") == "a.timestamp()"


@each_name
def test_the_reference_shows_the_picture(name: str) -> None:
    assert f"](marbles/{name}.svg)" in reference_page()


def test_the_reference_is_the_same_each_time_and_shows_the_types_callers_see() -> None:
    page = reference_page()
    assert page == reference_page()
    assert " object at 0x" not in page
    untyped = re.findall(r"^[Ss]tream\.\w+\(.*\) -> Stream\[Any\]$", page, re.MULTILINE)
    assert untyped == []
