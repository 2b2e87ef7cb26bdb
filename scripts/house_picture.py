"""house_picture: a house as SVG, drawn without any library.

Rooms stand on floors. A room stands beside another only if neither imports the other, so every arrow points down. An
arrow to the next floor goes straight through the ceiling; one that goes further takes a staircase, left or right of all
rooms. Text is set for a width of 400 pixels and more, with letters estimated rather wide, since nobody knows the font.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import combinations, product

from scripts.house_rooms import Arrow, House, Room

WIDTH = 840
MARGIN = 14
PAD = 18  # between a wall and what is inside
GAP = 29  # between two floors, for the arrows
BETWEEN = 18  # between two rooms of one floor
STAIRS = 30  # the width of one staircase
ROOF = 88
GABLE = 34  # the roof of a house inside the house
NAME, SENTENCE, SIZE = 26, 19, 17
LETTER = 0.545  # the width of a letter, as a part of its height
HEAD = 11  # the length of an arrow's head
LINE = 23  # from one line to the next
WIDE = 460  # a room that is so wide says what it is beside its name
BESIDE = 200  # how far beside

STYLE = """
  .paper { fill: #faf8f4 } .wall { fill: #f1ede5; stroke: #9a8f80; stroke-width: 2 }
  .roof { fill: #e4dccf; stroke: #9a8f80; stroke-width: 2; stroke-linejoin: round }
  .inner { fill: #e3efee; stroke: #5f8f8b; stroke-width: 2; stroke-linejoin: round }
  .room { fill: #ffffff; stroke: #b9b0a3; stroke-width: 1.5 }
  .name { fill: #1f2933; font-weight: 700 } .sentence { fill: #35414d } .size, .legend { fill: #5b6773 }
  .line { fill: none; stroke: #b4532a } .head { fill: #b4532a }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #14181c } .wall { fill: #1b2127; stroke: #6f7984 }
    .roof { fill: #262e36; stroke: #6f7984 }
    .inner { fill: #17302f; stroke: #5f8f8b }
    .room { fill: #232b33; stroke: #55606b }
    .name { fill: #f2f4f6 } .sentence { fill: #d3d9df } .size, .legend { fill: #a9b3bd }
    .line { stroke: #f0956a } .head { fill: #f0956a }
  }
"""

ATTRIBUTES = 'role="img" aria-labelledby="title desc" font-family="system-ui, Helvetica, Arial, sans-serif"'
LEGEND = (
    "An arrow goes from a room to a room that it imports; the thicker, the more imports. Where a way of several arrows "
    "leads from one room to another, no arrow of its own is drawn."
)

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Box:
    """Where a room is: its corner and its measures, and how high its roof is in the middle."""

    x: float
    y: float
    width: float
    height: float
    roof: float = 0.0

    @property
    def right(self) -> float:
        """Return where it ends."""
        return self.x + self.width

    @property
    def bottom(self) -> float:
        """Return where its floor is."""
        return self.y + self.height

    def measures(self) -> str:
        """Write it as the attributes of a rectangle."""
        return f'x="{self.x:.0f}" y="{self.y:.0f}" width="{self.width:.0f}" height="{self.height:.0f}"'

    def top(self, x: float) -> float:
        """Return where something that falls onto it comes to rest."""
        middle = self.x + self.width / 2
        return self.y + self.roof * abs(x - middle) / (self.width / 2)


@dataclass
class Drawing:
    """What is drawn so far: rooms, and the arrows between them, which are painted last."""

    marks: list[str] = field(default_factory=list)
    arrows: list[str] = field(default_factory=list)


# Which room stands where.


def floors(house: House) -> list[tuple[str, ...]]:
    """Put rooms on floors, two on one where neither imports the other and neither is a house itself."""
    found: list[tuple[str, ...]] = []
    houses = {room.name for room in house.rooms if room.inside is not None}
    for room in house.rooms:
        last = found[-1] if found else ()
        alone = room.name in houses or not houses.isdisjoint(last)
        bound = any((one, room.name) in house.imports or (room.name, one) in house.imports for one in last)
        if len(last) == 1 and not alone and not bound:
            found[-1] = (*last, room.name)
        else:
            found.append((room.name,))
    return found


@dataclass(frozen=True, slots=True)
class Stair:
    """An arrow that passes floors: from which to which, and on which side."""

    arrow: Arrow
    first: int
    last: int
    left: bool

    def meets(self, other: Stair) -> bool:
        """Tell whether two arrows are side by side somewhere."""
        return self.left == other.left and self.first <= other.last and other.first <= self.last

    def crosses(self, other: Stair) -> bool:
        """Tell whether two arrows on one side have to cross, since neither is within the other."""
        apart = (self.first < other.first) == (self.last < other.last)
        return self.meets(other) and apart and self.first != other.first and self.last != other.last


def stairs(plan: Sequence[tuple[str, ...]], arrows: Mapping[Arrow, int]) -> list[Stair]:
    """Find the arrows that pass floors, and the side that is nearest to both of their ends."""
    place = {name: (floor, at, len(row)) for floor, row in enumerate(plan) for at, name in enumerate(row)}
    found = []
    for above, below in arrows:
        (first, at, many), (last, to, others) = place[above], place[below]
        if last - first > 1:
            rights = (at == 1) + (to == 1)
            lefts = (at == 0 and many == 2) + (to == 0 and others == 2)
            found.append(Stair((above, below), first, last, left=lefts > rights))
    return found


def untangled(plan: Sequence[tuple[str, ...]], arrows: Mapping[Arrow, int]) -> list[tuple[str, ...]]:
    """Swap neighbours so that few arrows cross and few go sideways."""
    choices = [(row, row[::-1]) if len(row) == 2 else (row,) for row in plan]
    return min(map(list, product(*choices)), key=lambda rows: _tangle(rows, arrows))


def _tangle(plan: Sequence[tuple[str, ...]], arrows: Mapping[Arrow, int]) -> int:
    place = {name: (floor, at, len(row)) for floor, row in enumerate(plan) for at, name in enumerate(row)}
    found = stairs(plan, arrows)
    cost = 3 * sum(one.crosses(other) for one, other in combinations(found, 2))
    for above, below in arrows:
        (first, at, many), (last, to, others) = place[above], place[below]
        sideways = many == others == 2 and at != to
        cost += sideways * (1 if last - first == 1 else 4)
    return cost


def lanes(found: Sequence[Stair]) -> dict[Arrow, int]:
    """Give arrows that pass each other staircases of their own, the shortest nearest to the rooms."""
    given: dict[Arrow, int] = {}
    done: list[Stair] = []
    for stair in sorted(found, key=lambda each: (each.last - each.first, each.first)):
        taken = {given[other.arrow] for other in done if other.meets(stair)}
        given[stair.arrow] = next(lane for lane in range(len(found)) if lane not in taken)
        done.append(stair)
    return given


# How it is drawn.


def text(x: float, y: float, words: str, kind: str, size: int, anchor: str = "start") -> str:
    """Write words at a place."""
    return (
        f'<text class="{kind}" x="{x:.0f}" y="{y:.0f}" font-size="{size}" text-anchor="{anchor}">{escape(words)}</text>'
    )


def wrapped(words: str, width: float, size: int = SENTENCE) -> list[str]:
    """Break words into lines of a width, in as few lines as can be, of about the same length."""
    most = int(width / (size * LETTER))
    lines = textwrap.wrap(words, most, break_long_words=False, break_on_hyphens=False)
    for narrower in range(most, 0, -1):
        evener = textwrap.wrap(words, narrower, break_long_words=False, break_on_hyphens=False)
        if len(evener) > len(lines):
            break
        lines = evener
    return lines


def about(number: int) -> str:
    """Write a number in two figures, so that a picture is not out of date with every line."""
    return f"{round(number, 2 - len(str(number))):,}" if number else "0"


def size_of(room: Room) -> str:
    """Say how large a room is."""
    return f"{about(room.lines)} lines" if room.files == 1 else f"{room.files} files, {about(room.lines)} lines"


def room_lines(room: Room, width: float) -> list[str]:
    """Break what a room says of itself into lines."""
    return wrapped(room.sentence, width - 2 * PAD - (BESIDE if width >= WIDE else 0))


def room_height(room: Room, width: float) -> float:
    """Return how high a room has to be for what is written in it."""
    lines = len(room_lines(room, width))
    return 24 + LINE * max(lines, 2) if width >= WIDE else 50 + LINE * (lines + 1) + 4


def room_marks(room: Room, box: Box) -> Iterator[str]:
    """Draw a room that has no rooms: a wide one says what it is beside its name, a narrow one below it."""
    yield f'<rect class="room" {box.measures()} rx="6"/>'
    lines = room_lines(room, box.width)
    left, top = box.x + PAD, box.y + 34
    if box.width >= WIDE:
        top = box.y + box.height / 2 - 4
        yield text(left, top, room.name, "name", NAME)
        yield text(left, top + LINE, size_of(room), "size", SIZE)
        left, top = left + BESIDE, box.y + (box.height - LINE * len(lines)) / 2 + 18
    else:
        yield text(left, top, room.name, "name", NAME)
        yield text(left, box.bottom - 14, size_of(room), "size", SIZE)
        top += LINE + 2
    for row, line in enumerate(lines):
        yield text(left, top + LINE * row, line, "sentence", SENTENCE)


def furnish(house: House, x: float, y: float, width: float, drawing: Drawing, path: str) -> float:
    """Draw all floors of a house from a place down, and return where the last one ends."""
    arrows = house.arrows()
    plan = untangled(floors(house), arrows)
    found = stairs(plan, arrows)
    lane = lanes(found)
    beside = {left: STAIRS * len({lane[each.arrow] for each in found if each.left == left}) for left in (True, False)}
    x, width = x + beside[True], width - beside[True] - beside[False]
    rooms = {room.name: room for room in house.rooms}
    boxes: dict[str, Box] = {}
    for row in plan:
        share = (width - BETWEEN * (len(row) - 1)) / len(row)
        height = max(room_height(rooms[name], share) for name in row)
        for at, name in enumerate(row):
            boxes[name] = _place(rooms[name], Box(x + at * (share + BETWEEN), y, share, height), drawing, path)
        y = max(boxes[name].bottom for name in row) + GAP
    ways = {each.arrow: each for each in found}
    for arrow, count in arrows.items():
        stair = ways.get(arrow)
        points = _down(*map(boxes.__getitem__, arrow)) if stair is None else _by_stairs(stair, lane[arrow], boxes, ways)
        drawing.arrows.append(arrow_mark(points, arrow, count, path))
    return y - GAP


def _place(room: Room, box: Box, drawing: Drawing, path: str) -> Box:
    """Draw a room, or a house in the place of a room, and return where it is."""
    name = f"{path}.{room.name}"
    if room.inside is None:
        drawing.marks.extend([f'<g data-room="{name}">', *room_marks(room, box), "</g>"])
        return box
    at = len(drawing.marks)
    wall = box.y + GABLE
    lines = wrapped(room.sentence, box.width - 2 * PAD)
    bottom = furnish(room.inside, box.x + PAD, wall + 50 + LINE * len(lines), box.width - 2 * PAD, drawing, name) + PAD
    drawing.marks[at:at] = [f'<g data-room="{name}">', *house_marks(room, lines, box, bottom)]  # behind its rooms
    drawing.marks.append("</g>")
    return Box(box.x, box.y, box.width, bottom - box.y, GABLE)


def house_marks(room: Room, lines: Sequence[str], box: Box, bottom: float) -> Iterator[str]:
    """Draw a room that has rooms, as a house of its own, without them."""
    middle, wall = box.x + box.width / 2, box.y + GABLE
    corners = [(box.x, wall), (middle, box.y), (box.right, wall), (box.right, bottom), (box.x, bottom)]
    yield f'<polygon class="inner" points="{_written(corners)}"/>'
    yield text(middle, wall + 8, room.name, "name", NAME + 3, "middle")
    for row, line in enumerate(lines):
        yield text(middle, wall + 33 + LINE * row, line, "sentence", SENTENCE, "middle")
    yield text(middle, wall + 32 + LINE * len(lines), size_of(room), "size", SIZE, "middle")


def _down(above: Box, below: Box) -> list[Point]:
    """Go straight down where one stands above the other, else with a step to the side."""
    left, right = max(above.x, below.x), min(above.right, below.right)
    if right > left:
        x = (left + right) / 2
        return [(x, above.bottom), (x, below.top(x))]
    toward = 1 if below.x > above.x else -1
    start = above.x + above.width / 2 + toward * above.width / 4
    end = below.x + below.width / 2 - toward * below.width / 4
    middle = above.bottom + GAP / 2 - 2
    return [(start, above.bottom), (start, middle), (end, middle), (end, below.top(end))]


def _by_stairs(stair: Stair, lane: int, boxes: Mapping[str, Box], ways: Mapping[Arrow, Stair]) -> list[Point]:
    """Go out at the side, down the staircase, and in at the side."""
    above, below = (boxes[name] for name in stair.arrow)
    out = [arrow for arrow, each in ways.items() if arrow[0] == stair.arrow[0] and each.left == stair.left]
    into = [arrow for arrow, each in ways.items() if arrow[1] == stair.arrow[1] and each.left == stair.left]
    start = above.y + above.roof + (above.height - above.roof) * (out.index(stair.arrow) + 1) / (len(out) + 1)
    height = min(below.height - below.roof, 80.0)
    end = below.y + below.roof + height * (into.index(stair.arrow) + 1) / (len(into) + 1)
    edge = min(box.x for box in boxes.values()) if stair.left else max(box.right for box in boxes.values())
    x = edge + (STAIRS * lane + STAIRS / 2 + 2) * (-1 if stair.left else 1)
    sides = (above.x, below.x) if stair.left else (above.right, below.right)
    return [(sides[0], start), (x, start), (x, end), (sides[1], end)]


def arrow_mark(points: list[Point], arrow: Arrow, count: int, path: str) -> str:
    """Draw a line with round corners and a head."""
    width = 2 + 2.5 * min(len(str(count)) - 1, 2)  # thicker with each figure of the number
    (x, y), (end_x, end_y) = points[-2:]
    length = abs(end_x - x) + abs(end_y - y)  # the last piece goes straight down or straight to the side
    along_x, along_y = (end_x - x) / length, (end_y - y) / length
    back_x, back_y = end_x - along_x * HEAD, end_y - along_y * HEAD
    half = 4 + width
    head = [
        (end_x, end_y),
        (back_x - along_y * half, back_y + along_x * half),
        (back_x + along_y * half, back_y - along_x * half),
    ]
    above, below = arrow
    return (
        f'<g data-from="{path}.{above}" data-to="{path}.{below}"><title>{above} imports {below}</title>'
        f'<path class="line" d="{_rounded([*points[:-1], (back_x, back_y)])}" stroke-width="{width:g}"/>'
        f'<polygon class="head" points="{_written(head)}"/></g>'
    )


def _written(points: list[Point]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _rounded(points: list[Point], radius: float = 8) -> str:
    """Write a path whose corners are round."""
    parts = [f"M{points[0][0]:.1f},{points[0][1]:.1f}"]
    for (x0, y0), (x1, y1), (x2, y2) in zip(points, points[1:], points[2:], strict=False):
        before, after = abs(x1 - x0) + abs(y1 - y0), abs(x2 - x1) + abs(y2 - y1)
        near = min(radius, before / 2, after / 2)
        parts.append(f"L{x1 - (x1 - x0) / before * near:.1f},{y1 - (y1 - y0) / before * near:.1f}")
        parts.append(f"Q{x1:.1f},{y1:.1f} {x1 + (x2 - x1) / after * near:.1f},{y1 + (y2 - y1) / after * near:.1f}")
    return " ".join([*parts, f"L{points[-1][0]:.1f},{points[-1][1]:.1f}"])


def described(house: House, place: str = "") -> Iterator[str]:
    """Say in words what a picture shows."""
    arrows = house.arrows()
    for room in house.rooms:
        below = [to for start, to in arrows if start == room.name]
        yield f"{place}{room.name} imports {' and '.join(below) or 'no other room'}"
        if room.inside is not None:
            yield from described(room.inside, f"in {room.name}, ")


def whole(house: House, name: str) -> Room:
    """Return a house as one room."""
    return Room(name, "", sum(room.files for room in house.rooms), sum(room.lines for room in house.rooms), house)


def picture(house: House, name: str = "penstock") -> str:
    """Draw a house, with a roof, and with a legend below it."""
    drawing = Drawing()
    left, right, wall = MARGIN, WIDTH - MARGIN, MARGIN + ROOF
    bottom = furnish(house, left + PAD, wall + PAD, right - left - 2 * PAD, drawing, name) + PAD
    legend = wrapped(LEGEND, right - left, SIZE)
    height = bottom + 30 + LINE * len(legend)
    measures = f'width="{WIDTH}" height="{height:.0f}"'
    marks = [
        f'<rect class="paper" {measures} rx="10"/>',
        f'<rect class="wall" {Box(left, wall, right - left, bottom - wall).measures()}/>',
        f'<polygon class="roof" points="{_written([(left - 6, wall), (WIDTH / 2, MARGIN), (right + 6, wall)])}"/>',
        text(WIDTH / 2, wall - 34, name, "name", NAME + 5, "middle"),
        text(WIDTH / 2, wall - 11, size_of(whole(house, name)), "size", SIZE, "middle"),
        *drawing.marks,
        *drawing.arrows,
        *(text(left, bottom + 30 + LINE * row, line, "legend", SIZE) for row, line in enumerate(legend)),
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" {measures} {ATTRIBUTES}>',
            f'<title id="title">The rooms of {name}, and which imports which</title>',
            f'<desc id="desc">From the top down: {escape("; ".join(described(house)))}.</desc>',
            f"<style>{STYLE}</style>",
            *marks,
            "</svg>\n",
        ]
    )


def without_sizes(drawn: str) -> str:
    """Return a picture without what changes with every few lines: sizes, and how thick an arrow is."""
    drawn = re.sub(r'<text class="size".*?</text>', "", drawn)
    return re.sub(r'(?<=data-to=)("[^"]+").*', r"\1", drawn)
