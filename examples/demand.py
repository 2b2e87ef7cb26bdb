"""demand: demand at work: a source that could flood the consumer, and never does.

A source that makes elements as fast as Python can runs on one thread, a consumer that needs a moment for each on
another. Between them stands a boundary with room for WINDOW elements. The consumer starts slow, then speeds up; the
source follows, because it makes only what was asked for. Run it with `python examples/demand.py`.
"""

from __future__ import annotations

import sys
import threading
from dataclasses import dataclass, field

from penstock import Stream, thread

WINDOW = 16
PHASES = (("slow consumer, 25 ms each", 0.025, 40), ("faster, 5 ms each", 0.005, 160), ("as fast as it can", 0.0, 4000))
BAR = 32


@dataclass
class Gauge:
    """Count what was asked for, made and consumed."""

    asked: int = 0
    made: int = 0
    consumed: int = 0
    most_between: int = 0
    moment: threading.Event = field(default_factory=threading.Event)

    def request(self, n: int) -> None:
        """Note a request on its way to the source."""
        self.asked += n

    def make(self, number: int) -> int:
        """Make an element."""
        self.made += 1
        self.most_between = max(self.most_between, self.made - self.consumed)
        return number

    def consume(self, seconds: float) -> None:
        """Take a moment for an element."""
        if seconds:
            self.moment.wait(seconds)
        self.consumed += 1

    def line(self) -> str:
        """Show where things stand."""
        between = self.made - self.consumed
        bar = ("#" * min(between, BAR)).ljust(WINDOW, ".")
        return f"asked {self.asked:6}   made {self.made:6}   [{bar}]{between:3} waiting   consumed {self.consumed:6}"


def main() -> None:
    """Run the three phases and say what was seen."""
    live = sys.stdout.isatty()
    gauge = Gauge()
    pace = [(name, seconds) for name, seconds, count in PHASES for _ in range(count)]
    elements = (
        Stream.range(10**12)  # far more than anybody will take
        .map(gauge.make)
        .tap(on_request=gauge.request)
        .subscribe_on(thread("source"))
        .publish_on(thread("consumer"), prefetch=WINDOW)
        .take(len(pace))
    )

    phase = ""

    def consume(number: int) -> int:
        nonlocal phase
        name, seconds = pace[number]
        if name != phase:
            print(("\n" if phase and live else "") + f"\n{name}")
            phase = name
        gauge.consume(seconds)
        every = 1 if seconds >= 0.02 and live else 10 if seconds >= 0.02 else 40 if seconds else 1000
        if gauge.consumed % every == 0:
            print(gauge.line(), end="\r" if live else "\n", flush=True)
        return number

    print(f"A source that never ends, a consumer that takes its time, {WINDOW} elements of room between them.")
    total = elements.map(consume).count().get()
    print("\n" if live else "")
    print(
        f"The source could have made 1,000,000,000,000 elements. It made {gauge.made:,}; the consumer took {total:,}."
    )
    print(f"Never were more than {gauge.most_between} elements waiting between the two; the room is {WINDOW}.")


if __name__ == "__main__":
    main()
