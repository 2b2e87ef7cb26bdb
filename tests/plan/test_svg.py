"""svg: a plan as a drawing that stands alone: no text leaves its box, no two boxes overlap, and users' text is text."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from penstock import Sink, Stream, branch, flow, thread
from penstock.plan import Plan, PlannedPart
from penstock.plan.layout import Box, laid_out

SVG = "{http://www.w3.org/2000/svg}"
LONG = "through the gate as (order bigint, amount double, origin string) " * 3


def odd(n):
    return n % 2


GRAPH = Stream.range(3).map(str).join(Stream.just(1).filter(odd), key=odd) | branch(
    flow(lambda s: s.filter(odd).map(str)) | Sink.for_each(print),
    Sink.to_list(),
    flow(lambda s: s.buffer(3)) | Sink.count(),
)
PLANS = {
    "chain": Stream.range(3).map(str).publish_on(thread()).filter(odd).explain(),
    "graph": GRAPH.explain(),
    "long": Plan(
        (PlannedPart("source", "map(f) | " * 40 + "x" * 300, LONG), PlannedPart("end", "漢字" * 60)), "t" * 90
    ),
    "skips": Plan(
        (
            PlannedPart("source", "a", after=()),
            PlannedPart("then", "b", after=(0,)),
            PlannedPart("then", "c", after=(1,)),
            PlannedPart("end", "d", after=(2, 0)),
            PlannedPart("end", "e", after=(0,)),
        )
    ),
}

each_plan = pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)


def boxes(root: ET.Element) -> list[tuple[float, float, float, float]]:
    found = [each for each in root.iter(f"{SVG}rect") if each.get("class") == "box"]
    sides = [[float(each.get(name) or 0) for name in ("x", "y", "width", "height")] for each in found]
    return [(x, y, x + wide, y + high) for x, y, wide, high in sides]


@each_plan
def test_it_is_xml_and_every_text_is_inside_its_box(plan: Plan):
    root = ET.fromstring(plan.svg())
    cards = list(root.iter(f"{SVG}g"))
    assert len(cards) == len(plan.places)
    for card, (left, top, right, bottom) in zip(cards, boxes(root), strict=True):
        for text in card.iter(f"{SVG}text"):
            size = float(text.get("font-size") or 0)
            places = sum(2 if ord(sign) > 0x2E80 else 1 for sign in text.text or "")
            assert left <= float(text.get("x") or 0)
            assert float(text.get("x") or 0) + places * 0.6 * size <= right
            assert top < float(text.get("y") or 0) < bottom


@each_plan
def test_boxes_stand_apart_and_inside_of_the_drawing(plan: Plan):
    root = ET.fromstring(plan.svg())
    found = boxes(root)
    wide, high = float(root.get("width") or 0), float(root.get("height") or 0)
    for at, (left, top, right, bottom) in enumerate(found):
        assert left >= 0
        assert right <= wide
        assert bottom <= high
        for left2, top2, right2, bottom2 in found[at + 1 :]:
            assert right <= left2 or right2 <= left or bottom <= top2 or bottom2 <= top


def test_all_that_was_said_is_in_the_drawing():
    told = " ".join("".join(ET.fromstring(PLANS["graph"].svg()).itertext()).split())
    for place in PLANS["graph"].places:
        assert place.what in told
        for clause in place.bound.split("; "):
            assert clause in told


def test_a_way_past_a_rank_does_not_cross_a_box():
    layout = laid_out(
        [Box(100, 40, ()), Box(100, 40, (0,)), Box(100, 40, (1,)), Box(100, 40, (2, 0))], across=20, down=30
    )
    (points,) = (points for start, end, points in layout.ways if (start, end) == (0, 3))
    for x, y in points[1:-1]:
        for number in (1, 2):
            inside = layout.tops[number] < y < layout.tops[number] + 40
            assert not inside or abs(x - layout.middles[number]) > 50


def test_a_source_stands_right_above_what_takes_from_it():
    plan = (Stream.range(2).publish_on(thread()).publish_on(thread()).zip(Stream.just(1))).explain()
    layout = laid_out([Box(10, 10, plan.inputs(at)) for at in range(len(plan.places))], across=5, down=5)
    just = next(at for at, each in enumerate(plan.places) if each.what == "just")
    assert layout.tops[just] == layout.tops[plan.inputs(len(plan.places) - 1)[0]]


def test_what_users_write_is_text():
    plan = Plan((PlannedPart("source", '<script>alert("1")</script> & \x00', "a<b; c>d"),), "<title>")
    root = ET.fromstring(plan.svg())
    assert not list(root.iter(f"{SVG}script"))
    assert '<script>alert("1")</script> & \N{REPLACEMENT CHARACTER}' in "".join(root.itertext())


def test_it_has_colours_for_light_and_for_dark_and_no_ids_that_two_in_a_page_would_share():
    svg = PLANS["graph"].svg()
    assert "@media (prefers-color-scheme: dark)" in svg
    assert " id=" not in svg


def test_a_plan_of_nothing_is_drawn():
    assert ET.fromstring(Plan(()).svg()).tag == f"{SVG}svg"
    assert str(Plan(())) == ""
    assert Plan(()).mermaid() == "flowchart LR"
