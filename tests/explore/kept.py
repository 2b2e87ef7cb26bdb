"""kept: schedules that have failed once, to be run again for ever.

A schedule is kept as it was, and by the places where its threads were stopped, which mean the same when the code around
them has changed. It is run both ways, and so are all schedules of its scenario with one preemption: a fault that has
moved a little is still found.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tests.explore.all_parts import PARTS
from tests.explore.search import Scenario, Search, Violation, read_schedule

FOLDER = Path(__file__).parent / "kept"


def keep(found: Iterable[Violation]) -> None:
    """Add schedules to those that are kept."""
    for violation in found:
        scenario = violation.scenario
        path = FOLDER / f"{scenario.part.name}.json"
        entries: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
        entry = {
            "before": list(scenario.before),
            "calls": list(scenario.calls),
            "schedule": str(violation.schedule),
            "stops": list(violation.stops),
            "what": violation.kind,
        }
        if all(one["calls"] != entry["calls"] or one["what"] != entry["what"] for one in entries):
            FOLDER.mkdir(exist_ok=True)
            path.write_text(json.dumps([*entries, entry], indent=1) + "\n", encoding="utf-8")


def fails_again(violation: Violation) -> bool:
    """Tell whether a schedule shows its violation again once it was written and read, both ways."""
    search = Search(violation.scenario)
    search.serial()
    ways = search.again(read_schedule(str(violation.schedule)), violation.stops)
    return all(any(fault.startswith(violation.kind) for fault in faults) for faults in ways)


def replayed() -> Iterator[Violation]:
    """Run what is kept again; return what fails."""
    for path in sorted(FOLDER.glob("*.json")):
        for entry in json.loads(path.read_text(encoding="utf-8")):
            if path.stem not in PARTS:
                raise KeyError(f"kept: {path.name}: there is no such part")
            search = Search(Scenario(PARTS[path.stem], tuple(entry["before"]), tuple(entry["calls"])))
            search.serial()
            search.again(read_schedule(entry["schedule"]), entry["stops"])
            for _ in search.bounded(1):
                pass
            yield from search.violations.values()
