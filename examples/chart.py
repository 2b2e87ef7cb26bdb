"""chart: hourly reports as bars in a terminal and as a picture."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from zoneinfo import ZoneInfo

from flights import Report

TITLE = "Mean delay of departures from New York in 2013, by scheduled hour"
OVER_TIME = "Rows asked of the feeds (demand), and rows that Spark was behind (lag)"
NEW_YORK = ZoneInfo("America/New_York")
AIRPORTS = ("EWR", "JFK", "LGA")
COLOURS = ("#0072b2", "#d55e00", "#009e73")  # told apart by everybody
EIGHTHS = " ▏▎▍▌▋▊▉"
BAR = 14
CELL = BAR + 10


def means(reports: Iterable[Report], key: Callable[[Report], Hashable]) -> dict[tuple[str, Hashable], float]:
    """Return the mean delay of departures for each airport and key."""
    sums: dict[tuple[str, Hashable], list[int]] = defaultdict(lambda: [0, 0])
    for report in reports:
        found = sums[report.origin, key(report)]
        found[0] += report.delay
        found[1] += report.departed
    return {place: total / count for place, (total, count) in sums.items() if count}


def by_hour(reports: Iterable[Report]) -> dict[tuple[str, Hashable], float]:
    """Return the mean delay for each airport and hour of the day."""
    return means(reports, lambda report: report.hour.astimezone(NEW_YORK).hour)


def by_rain(reports: Iterable[Report]) -> dict[tuple[str, Hashable], float]:
    """Return the mean delay for each airport in rain and without, where the weather is known."""
    return means([each for each in reports if each.rain is not None], lambda report: (report.rain or 0) > 0)


def bar(value: float, most: float) -> str:
    """Draw a value as a bar of at most BAR characters."""
    eighths = round(max(value, 0.0) / most * BAR * 8)
    return ("█" * (eighths // 8) + EIGHTHS[eighths % 8]).rstrip()


def bars(reports: Iterable[Report]) -> str:
    """Draw the mean delays of each hour of the day, airport beside airport, and those in rain and without."""
    reports = list(reports)
    hours, rain = by_hour(reports), by_rain(reports)
    most = max((*hours.values(), *rain.values(), 1.0))
    lines = [f"{TITLE} (minutes)", "", (" " * 12 + "".join(f"{airport:<{CELL}}" for airport in AIRPORTS)).rstrip()]
    lines += [_line(f"{hour:2} h", hours, hour, most) for hour in sorted({int(str(hour)) for _, hour in hours})]
    lines += ["", _line(" dry", rain, False, most), _line("rain", rain, True, most)]
    return "\n".join(lines)


def _line(name: str, found: dict[tuple[str, Hashable], float], key: Hashable, most: float) -> str:
    cells = []
    for airport in AIRPORTS:
        value = found.get((airport, key))
        cells.append("" if value is None else f"{value:5.1f} {bar(value, most)}")
    return f"{name}  " + "".join(f"{cell:<{CELL}}" for cell in cells).rstrip()


@dataclass(frozen=True)
class Moment:
    """What was asked of the sources since the moment before, and how far Spark was behind them."""

    seconds: float
    """Seconds since the beginning."""
    demand: int
    lag: int


def picture(reports: Iterable[Report], moments: Sequence[Moment] = ()) -> str:
    """Return the mean delays of each hour as a picture, in SVG, and beside them demand and lag over time."""
    wide = 1520 if moments else 760
    fonts = 'font-family="sans-serif" font-size="13"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} 420" {fonts}>',
            f'<rect width="{wide}" height="420" fill="white"/>',
            *flights(reports),
            *(over_time(moments) if moments else ()),
            "</svg>",
            "",
        ]
    )


def flights(reports: Iterable[Report]) -> list[str]:
    """Draw the mean delays of each hour of the day."""
    found = by_hour(reports)
    hours = sorted({int(str(hour)) for _, hour in found})
    first, last = hours[0], max(hours[-1], hours[0] + 1)
    top = 10 * (1 + int(max((*found.values(), 1.0)) // 10))
    left, right, above, below = 50, 700, 60, 360

    def x(hour: float) -> float:
        return left + (hour - first) / (last - first) * (right - left)

    def y(minutes: float) -> float:
        return below - minutes / top * (below - above)

    parts = [f'<text x="{left}" y="30" font-size="16">{escape(TITLE)}</text>']
    for minutes in range(0, top + 1, 10):
        parts.append(f'<line x1="{left}" x2="{right}" y1="{y(minutes)}" y2="{y(minutes)}" stroke="#ddd"/>')
        parts.append(f'<text x="{left - 8}" y="{y(minutes) + 4}" text-anchor="end">{minutes}</text>')
    parts += [
        f'<text x="{x(hour):.1f}" y="{below + 22}" text-anchor="middle">{hour}</text>'
        for hour in hours
        if hour % 3 == 0
    ]
    parts.append(f'<text x="{right}" y="{below + 44}" text-anchor="end">hour of the day; delay in minutes</text>')
    for number, (airport, colour) in enumerate(zip(AIRPORTS, COLOURS, strict=True)):
        line = " ".join(f"{x(hour):.1f},{y(found[airport, hour]):.1f}" for hour in hours if (airport, hour) in found)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="3"/>')
        parts.append(f'<text x="{left + 20 + 60 * number}" y="55" fill="{colour}" font-weight="bold">{airport}</text>')
    return parts


def over_time(moments: Sequence[Moment]) -> list[str]:
    """Draw what was asked of the sources and how far Spark was behind, from the beginning to the end."""
    left, right, above, below = 850, 1460, 60, 360
    last = max(moments[-1].seconds, 1.0)
    most = max(4, *(max(each.demand, each.lag) for each in moments))
    unit = 10 ** (len(str(most)) - 1)
    top = -(-most // unit) * unit

    def x(seconds: float) -> float:
        return left + seconds / last * (right - left)

    def y(rows: float) -> float:
        return below - rows / top * (below - above)

    def line(rows: Callable[[Moment], int]) -> str:
        return " ".join(f"{x(each.seconds):.1f},{y(rows(each)):.1f}" for each in moments)

    parts = [f'<text x="{left}" y="30" font-size="16">{OVER_TIME}</text>']
    for share in range(5):
        rows = top * share / 4
        parts.append(f'<line x1="{left}" x2="{right}" y1="{y(rows):.1f}" y2="{y(rows):.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{left - 8}" y="{y(rows) + 4:.1f}" text-anchor="end">{rows:,.0f}</text>')
    for share in range(5):
        seconds = last * share / 4
        parts.append(f'<text x="{x(seconds):.1f}" y="{below + 22}" text-anchor="middle">{seconds:.0f}</text>')
    parts.append(f'<text x="{right}" y="{below + 44}" text-anchor="end">seconds since the beginning; rows</text>')
    for number, (name, colour, rows) in enumerate(
        (("lag", COLOURS[1], lambda each: each.lag), ("demand", COLOURS[0], lambda each: each.demand))
    ):
        parts.append(f'<polyline points="{line(rows)}" fill="none" stroke="{colour}" stroke-width="2.5"/>')
        parts.append(f'<text x="{left + 20 + 60 * number}" y="55" fill="{colour}" font-weight="bold">{name}</text>')
    return parts
