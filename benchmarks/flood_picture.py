"""flood_picture: samples of two runs as a moving SVG that plays them as they went.

It moves by CSS alone, so it works in a page and as an image of a README, without a script and without a network. A
reader who asks for less motion sees how the runs ended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 800, 510
HOLD = 2.0  # seconds for which the end stands still
LINE = 30  # height of a line of the strips of numbers
QUEUE_LEFT, QUEUE_RIGHT = 230, 590
CHART_LEFT, CHART_RIGHT, CHART_TOP, CHART_BOTTOM = 76, 600, 364, 468
PIXELS_PER_MESSAGE = 0.01  # how far the dots of a flow move for each message

STYLE = """
svg { font: 20px system-ui, "Segoe UI", Helvetica, Arial, sans-serif }
.card { fill: #ffffff; stroke: #d5dbe1 } .ink { fill: #1f2933 } .quiet { fill: #52606d }
.axis { stroke: #d5dbe1 } .box { fill: #eef2f6; stroke: #9aa5b1 } .room { fill: none; stroke: #9aa5b1 }
.reactivex { --own: #b4530a } .penstock { --own: #00796b }
.own { fill: var(--own) } .line { fill: none; stroke: var(--own); stroke-width: 4; stroke-linejoin: round }
.flow { fill: none; stroke: var(--own); stroke-width: 8; stroke-linecap: round; stroke-dasharray: 0 16 }
.back { stroke: #1565c0; stroke-width: 6 } .asks { fill: #1565c0 }
.head, .name, .number { font-weight: 700; font-size: 22px } .small { font-size: 18px }
.fill { transform-origin: 230px 0 } .reveal { transform-origin: 76px 0 }
@media (prefers-color-scheme: dark) {
  .card { fill: #1e2129; stroke: #3b4252 } .ink { fill: #e6e9ef } .quiet { fill: #aab4c2 }
  .axis { stroke: #3b4252 } .box { fill: #2b303b; stroke: #6b7688 } .room { stroke: #6b7688 }
  .reactivex { --own: #ffab66 } .penstock { --own: #4db6ac } .back { stroke: #90caf9 } .asks { fill: #90caf9 }
}
"""


class Sample(NamedTuple):
    """What was seen at one moment of a run."""

    seconds: float
    made: int
    taken: int
    megabytes: float

    @property
    def waiting(self) -> int:
        """Count the messages between the source and the consumer."""
        return self.made - self.taken


Runs = Mapping[str, Sequence[Sample]]


def sentence(runs: Runs) -> str:
    """Say in words what the picture shows."""
    ended = {name: samples[-1] for name, samples in runs.items()}
    most = max(sample.waiting for sample in runs["penstock"])
    return (
        f"A fast source and a slow consumer, for {ended['penstock'].seconds:.0f} seconds. With reactivex, "
        f"{ended['reactivex'].waiting:,} messages wait at the end; they take {size(ended['reactivex'])}, and both "
        f"numbers keep growing. With penstock, never more than {most:,} messages wait, in {size(ended['penstock'])}: "
        "the source makes only what the consumer has asked for."
    )


def size(sample: Sample) -> str:
    """Write megabytes as a reader would say them."""
    return f"{sample.megabytes:.0f} MB" if sample.megabytes >= 10 else f"{max(sample.megabytes, 0):.1f} MB"


def picture(runs: Runs) -> str:
    """Draw two lanes, in which messages wait, and below them the memory of both over time."""
    seconds = max(samples[-1].seconds for samples in runs.values())
    moves: list[str] = []
    marks = [
        text(30, 44, "Fast source, slow consumer: what waits between them?", "ink head"),
        *lane("reactivex", runs["reactivex"], 96, most(runs), seconds, moves),
        *lane("penstock", runs["penstock"], 206, most(runs), seconds, moves),
        *chart(runs, seconds, moves),
    ]
    running = "\n".join(moves)
    motion = f"@media (prefers-reduced-motion: no-preference) {{\n{running}\n}}"
    body = "\n".join(marks)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-labelledby="title words">\n<title id="title">Demand: penstock beside reactivex</title>\n'
        f'<desc id="words">{escape(sentence(runs))}</desc>\n<style>{STYLE}{motion}\n</style>\n'
        f'<rect class="card" x="1" y="1" width="{WIDTH - 2}" height="{HEIGHT - 2}" rx="12"/>\n{body}\n</svg>\n'
    )


def most(runs: Runs) -> int:
    """Count the most messages that waited in any run."""
    return max(1, *(sample.waiting for samples in runs.values() for sample in samples))


def lane(name: str, samples: Sequence[Sample], top: int, room: int, seconds: float, moves: list[str]) -> list[str]:
    """Draw a source, what waits, and a consumer; messages move as fast as they did."""
    box, middle, last = top + 14, top + 37, samples[-1]
    shares = [(sample.seconds, max(sample.waiting / room, 0.004)) for sample in samples]
    moves.append(keyframes(f"{name}-fill", shares, seconds, "transform: scaleX({:.4f})"))
    queue = f'x="{QUEUE_LEFT}" y="{box}" width="{QUEUE_RIGHT - QUEUE_LEFT}" height="46"'
    drawn = [
        f'<g class="{name}">',
        text(30, top, name, "own name"),
        *strip(name, [f"{sample.waiting:,} waiting" for sample in samples], top, seconds, moves),
        f'<rect class="box" x="30" y="{box}" width="110" height="46" rx="8"/>',
        text(85, middle + 7, "source", "ink", "middle"),
        flow(f"{name}-in", f"M156 {middle}H{QUEUE_LEFT - 8}", last.made / last.seconds, seconds, moves),
        f'<rect class="own fill {name}-fill" {queue} style="transform: scaleX({shares[-1][1]:.4f})"/>',
        f'<rect class="room" {queue} rx="4"/>',
        flow(f"{name}-out", f"M{QUEUE_RIGHT + 14} {middle}H652", last.taken / last.seconds, seconds, moves),
        f'<rect class="box" x="660" y="{box}" width="110" height="46" rx="8"/>',
        text(715, middle + 7, "consumer", "ink", "middle"),
    ]
    if name == "penstock":
        way = f"M715 {box + 56}V{box + 68}H85V{box + 54}"
        drawn.append(flow(f"{name}-back", way, last.taken / last.seconds, seconds, moves, "flow back"))
        drawn.append(text(WIDTH / 2, box + 96, "request(n): the consumer says how many", "asks small", "middle"))
    return [*drawn, "</g>"]


def flow(name: str, way: str, rate: float, seconds: float, moves: list[str], kind: str = "flow") -> str:
    """Draw dots on their way, which move by as much as messages did."""
    offset = -rate * PIXELS_PER_MESSAGE * seconds
    moves.append(
        f"@keyframes {name} {{ {share(seconds, seconds)}, 100% {{ stroke-dashoffset: {offset:.0f} }} }}\n"
        f"{plays(name, seconds)}"
    )
    return f'<path class="{kind} {name}" d="{way}"/>'


def strip(name: str, words: Sequence[str], height: int, seconds: float, moves: list[str]) -> list[str]:
    """Write all words below each other, of which a window shows one after the other."""
    way = (len(words) - 1) * LINE
    moves.append(
        f"@keyframes {name}-strip {{ 0% {{ transform: translateY(0); animation-timing-function: "
        f"steps({len(words) - 1}) }} {share(seconds, seconds)}, 100% {{ transform: translateY(-{way}px) }} }}\n"
        f"{plays(f'{name}-strip', seconds)}"
    )
    lines = "".join(
        f'<text class="number ink" x="{QUEUE_RIGHT}" y="{height + LINE * row}" text-anchor="end">{escape(each)}</text>'
        for row, each in enumerate(words)
    )
    return [
        f'<clipPath id="{name}-window"><rect x="300" y="{height - 23}" width="300" height="{LINE}"/></clipPath>',
        f'<g clip-path="url(#{name}-window)">',
        f'<g class="{name}-strip" style="transform: translateY(-{way}px)">{lines}</g></g>',
    ]


def chart(runs: Runs, seconds: float, moves: list[str]) -> list[str]:
    """Draw the memory of both, up to the moment that is shown."""
    top = max(1.0, *(sample.megabytes for samples in runs.values() for sample in samples))
    wide, high = CHART_RIGHT - CHART_LEFT, CHART_BOTTOM - CHART_TOP
    moves.append(keyframes("reveal", [(0.0, 0.0), (seconds, 1.0)], seconds, "transform: scaleX({:.4f})"))
    shown = f'x="{CHART_LEFT}" y="{CHART_TOP - 8}" width="{wide + 4}" height="{high + 16}"'
    drawn = [
        text(30, CHART_TOP - 18, "memory, MB", "quiet small"),
        *(f'<path class="axis" d="M{CHART_LEFT} {y}H{CHART_RIGHT}"/>' for y in (CHART_TOP, CHART_BOTTOM)),
        text(CHART_LEFT - 10, CHART_TOP + 6, f"{top:.0f}", "quiet small", "end"),
        text(CHART_LEFT - 10, CHART_BOTTOM + 6, "0", "quiet small", "end"),
        text(CHART_RIGHT, CHART_BOTTOM + 24, f"{seconds:.0f} s", "quiet small", "end"),
        f'<clipPath id="until-now"><rect class="reveal" {shown}/></clipPath>',
    ]
    for name, samples in runs.items():
        places = [
            (CHART_LEFT + wide * each.seconds / seconds, CHART_BOTTOM - high * max(each.megabytes, 0.0) / top)
            for each in samples
        ]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        drawn.append(f'<g class="{name}"><path class="line" clip-path="url(#until-now)" d="M{path}"/>')
        drawn.append(text(CHART_RIGHT + 12, places[-1][1] + 7, f"{name} {size(samples[-1])}", "own small"))
        drawn.append("</g>")
    return drawn


def text(x: float, y: float, words: str, kind: str, anchor: str = "start") -> str:
    """Write words at a place."""
    return f'<text class="{kind}" x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}">{escape(words)}</text>'


def keyframes(name: str, values: Sequence[tuple[float, float]], seconds: float, rule: str) -> str:
    """Move something through the values of moments, and hold the last one."""
    steps = [f"{share(moment, seconds)} {{ {rule.format(value)} }}" for moment, value in values if moment <= seconds]
    last = rule.format(values[-1][1])
    return f"@keyframes {name} {{ {' '.join(steps)} 100% {{ {last} }} }}\n{plays(name, seconds)}"


def plays(name: str, seconds: float) -> str:
    """Let what has a class of this name go through its keyframes, again and again."""
    return f".{name} {{ animation: {name} {seconds + HOLD:.2f}s linear infinite }}"


def share(moment: float, seconds: float) -> str:
    """Say where in a turn a moment is."""
    return f"{100 * moment / (seconds + HOLD):.2f}%"
