"""chart: hourly reports as bars in a terminal and as a picture."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from html import escape
from zoneinfo import ZoneInfo

from flights import Report

TITLE = "Mean delay of departures from New York in 2013, by scheduled hour"
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


def picture(reports: Iterable[Report]) -> str:
    """Return the mean delays of each hour of the day as a picture, in SVG."""
    found = by_hour(reports)
    hours = sorted({int(str(hour)) for _, hour in found})
    first, last = hours[0], max(hours[-1], hours[0] + 1)
    top = 10 * (1 + int(max((*found.values(), 1.0)) // 10))
    left, right, above, below = 50, 700, 60, 360

    def x(hour: float) -> float:
        return left + (hour - first) / (last - first) * (right - left)

    def y(minutes: float) -> float:
        return below - minutes / top * (below - above)

    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 420" font-family="sans-serif" font-size="13">',
        '<rect width="760" height="420" fill="white"/>',
        f'<text x="{left}" y="30" font-size="16">{escape(TITLE)}</text>',
    ]
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
    return "\n".join([*parts, "</svg>", ""])
