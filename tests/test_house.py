"""house: the picture and the walks of docs/house.md, and the layers of CONTRIBUTING.md, are those of today."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from scripts.house import PAGE, PICTURE
from scripts.house_picture import floors, lanes, picture, stairs, untangled, without_sizes
from scripts.house_rooms import ROOT, House, Layers, Room, contracts, read_house
from scripts.house_walks import complaints, walks, written

SVG = "{http://www.w3.org/2000/svg}"
CHAIN = "Stream.range(5).map(f).publish_on(thread()).filter(g).flat_map(h)"


@pytest.fixture(scope="module")
def house() -> House:
    return read_house()


@pytest.fixture(scope="module")
def agreed() -> dict[str, Layers]:
    return contracts((ROOT / ".importlinter").read_text(encoding="utf-8"))


def room(name: str, inside: House | None = None) -> Room:
    return Room(name, f"what {name} is", 1, 100, inside)


def house_of(names: str, *arrows: str) -> House:
    return House(tuple(map(room, names)), {(arrow[0], arrow[1]): 1 for arrow in arrows})


def drawn(text: str) -> tuple[set[str | None], set[tuple[str | None, str | None]]]:
    """Read the rooms and the arrows out of a picture."""
    groups = list(ET.fromstring(text).iter(f"{SVG}g"))
    rooms = {each.get("data-room") for each in groups if each.get("data-room")}
    return rooms, {(each.get("data-from"), each.get("data-to")) for each in groups if each.get("data-from")}


def rows(text: str, heading: str) -> list[list[str]]:
    """Return what the first column of the table under a heading names, row by row."""
    table = re.search(rf"^\| {heading} \|.*\n\|---.*\n((?:\|.*\n)+)", text, re.MULTILINE)
    assert table is not None
    return [re.findall(r"`(\w+(?:/\w+)*)`", line.split("|")[1]) for line in table[1].splitlines()]


# What is committed.


def test_picture_is_drawn_from_the_imports_of_today(house: House) -> None:
    committed, today = PICTURE.read_text(encoding="utf-8"), picture(house)
    assert drawn(committed) == drawn(today), "the imports have changed: run `make house`"
    same = without_sizes(committed) == without_sizes(today)
    assert same, "the picture of the house is out of date: run `make house`"


@pytest.mark.parametrize("walk", ["request", "element"])
def test_walk_on_the_page_is_the_one_of_a_run_today(walk: str) -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert written(page)[walk] == walks()[walk], "docs/house.md tells another walk than `make house` prints"


def test_page_shows_the_chain_that_is_followed() -> None:
    assert CHAIN in PAGE.read_text(encoding="utf-8")
    assert CHAIN in (ROOT / "scripts" / "house_walks.py").read_text(encoding="utf-8").replace("self.", "")


def test_page_has_a_row_for_every_room(agreed: dict[str, Layers]) -> None:
    _, _, page = PAGE.read_text(encoding="utf-8").partition("## The rooms\n")
    whole, _, engine = page.partition("### The rooms of the engine")
    for part, container in ((whole, "penstock"), (engine, "penstock.engine")):
        named = [name for row in rows(part, "room") for name in row]
        assert sorted(named) == sorted(name for layer in agreed[container].layers for name in layer)


def test_changes_are_sent_to_files_that_exist() -> None:
    _, _, page = PAGE.read_text(encoding="utf-8").partition("## Where does my change belong?")
    table = "\n".join(line.split("|")[2] for line in page.splitlines() if line.startswith("| "))
    paths = re.findall(r"`(\w+(?:/\w+)*(?:\.py|/))`", table)
    assert len(paths) > 10
    assert [path for path in paths if not (ROOT / "src" / "penstock" / path).exists()] == []


@pytest.mark.parametrize(("heading", "container"), [("layer", "penstock"), ("room", "penstock.engine")])
def test_layers_in_contributing_are_those_of_import_linter(
    heading: str, container: str, agreed: dict[str, Layers]
) -> None:
    named = [
        name.rpartition("/")[2] for row in rows((ROOT / "CONTRIBUTING.md").read_text("utf-8"), heading) for name in row
    ]
    for layer in reversed(agreed[container].layers):
        assert set(named[: len(layer)]) == set(layer)  # neighbours in one layer stand in any order
        named = named[len(layer) :]
    assert named == []


# How it is read.


def test_contract_is_read_from_the_top_down() -> None:
    text = """
[importlinter]
root_package = a

[importlinter:contract:layers]
type = layers
containers = a.b
ignore_imports =
    a.b.c -> a.b.d
layers =
    (c)
    (d) | e

[importlinter:contract:other]
type = independence
modules = a.*
"""
    assert contracts(text) == {"a.b": Layers("a.b", (("c",), ("d", "e")), ("a.b.c -> a.b.d",))}


def test_package_with_a_contract_of_its_own_gets_its_rooms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {
        "top.py": '"""top: the face; and more."""\nfrom shed import deep\nfrom shed.deep.high import x\n',
        "deep/__init__.py": '"""deep: where\nwork is `done`. Slowly."""\n',
        "deep/high.py": "from shed.deep.low import x\n\n\ny = x\n",
        "deep/low.py": "x = 1\n",
        "__init__.py": "",
    }
    for name, text in files.items():
        path = tmp_path / "src" / "shed" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    contract = "[importlinter:{0}]\ntype = layers\ncontainers = {0}\nlayers =\n  {1}\n  {2}\n"
    layers = contract.format("shed", "top", "deep") + contract.format("shed.deep", "high", "low")
    (tmp_path / ".importlinter").write_text(layers, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path / "src")
    inside = House((Room("high", "", 1, 2), Room("low", "", 1, 1)), {("high", "low"): 1})
    rooms = (Room("top", "the face", 1, 3), Room("deep", "where work is done", 3, 5, inside))
    assert read_house(tmp_path, "shed") == House(rooms, {("top", "deep"): 2})


def test_room_without_a_layer_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "src" / "hut").mkdir(parents=True)
    for name in ("__init__", "known", "unknown"):
        (tmp_path / "src" / "hut" / f"{name}.py").touch()
    text = "[importlinter:one]\ntype = layers\ncontainers = hut\nlayers = known\n"
    (tmp_path / ".importlinter").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path / "src")
    with pytest.raises(ValueError, match=r"^\.importlinter: hut: no layer for unknown$"):
        read_house(tmp_path, "hut")


# How it is drawn.


def test_arrow_that_follows_from_others_is_left_out() -> None:
    assert house_of("abcd", "ab", "bc", "ac", "cd", "ad").arrows() == {("a", "b"): 1, ("b", "c"): 1, ("c", "d"): 1}


def test_rooms_stand_side_by_side_where_neither_imports_the_other() -> None:
    assert floors(house_of("abcd", "ab", "ac", "bd", "cd")) == [("a",), ("b", "c"), ("d",)]


def test_house_in_a_house_has_a_floor_of_its_own() -> None:
    rooms = (room("a"), room("b", house_of("xy")), room("c"))
    assert floors(House(rooms, {})) == [("a",), ("b",), ("c",)]


def test_neighbours_are_swapped_where_arrows_would_go_sideways() -> None:
    house = house_of("abcd", "ad", "bc")
    assert floors(house) == [("a", "b"), ("c", "d")]
    assert untangled(floors(house), house.imports) in ([("a", "b"), ("d", "c")], [("b", "a"), ("c", "d")])


def test_arrows_beside_each_other_take_two_staircases() -> None:
    house = house_of("abcde", "ab", "bc", "cd", "de", "ae", "bd")
    found = stairs(floors(house), house.imports)
    assert lanes(found) == {("b", "d"): 0, ("a", "e"): 1}


def test_rooms_do_not_overlap_and_stay_inside(house: House) -> None:
    root = ET.fromstring(picture(house))
    width, height = (float(root.attrib[side]) for side in ("width", "height"))
    boxes = [
        [float(each.attrib[side]) for side in ("x", "y", "width", "height")]
        for each in root.iter(f"{SVG}rect")
        if each.get("class") == "room"
    ]
    assert len(boxes) > 20
    for index, (x, y, wide, high) in enumerate(boxes):
        assert 0 < x < x + wide < width
        assert 0 < y < y + high < height
        for other_x, other_y, other_wide, other_high in boxes[:index]:
            beside = x >= other_x + other_wide or other_x >= x + wide
            assert beside or y >= other_y + other_high or other_y >= y + high


def test_picture_says_in_words_what_it_shows() -> None:
    inside = house_of("xy", "xy")
    root = ET.fromstring(picture(House((room("a"), room("b", inside)), {("a", "b"): 1}), "hut"))
    assert root.findtext(f"{SVG}title") == "The rooms of hut, and which imports which"
    words = "a imports b; b imports no other room; in b, x imports y; in b, y imports no other room"
    assert root.findtext(f"{SVG}desc") == f"From the top down: {words}."


def test_sizes_do_not_make_a_picture_out_of_date() -> None:
    small, large = (
        House((Room("a", "x", size, size), Room("b", "y", 1, size)), {("a", "b"): size}) for size in (3, 700)
    )
    assert picture(small) != picture(large)
    assert without_sizes(picture(small)) == without_sizes(picture(large))


def test_arrow_that_is_new_makes_a_picture_out_of_date() -> None:
    assert without_sizes(picture(house_of("ab"))) != without_sizes(picture(house_of("ab", "ab")))


# How it is followed.


def test_walk_that_has_changed_is_told_with_the_new_one() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert complaints(page) == []
    (complaint,) = complaints(page.replace("2. `f`: ", "2. `g`: "))
    assert complaint.startswith("docs/house.md: the walk of the first element is now:\n  <penstock sync loop>\n  f\n")
