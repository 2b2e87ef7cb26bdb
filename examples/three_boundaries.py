"""three_boundaries: one chain, three placements of its asynchronous boundaries, one result.

The Reactive Streams texts explain boundaries with `origin map(f) filter(p) consume`: every step on a thread of its
own, only the consumer on another one, or everything but the origin on another one. Here they are, run for real; each
step notes the thread it ran on. Run it with `python examples/three_boundaries.py`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from penstock import Pipeline, Sink, Stream, thread

STEPS = ("origin", "map(f)", "filter(p)", "consume")


@dataclass
class Placement:
    """Hold one run: what came out, and which thread each step ran on."""

    threads: dict[str, set[str]] = field(default_factory=dict)
    result: list[int] = field(default_factory=list)

    def note(self, step: str) -> None:
        """Remember the thread that runs `step`."""
        self.threads.setdefault(step, set()).add(threading.current_thread().name)

    def origin(self) -> Iterator[int]:
        """Produce ten numbers."""
        for number in range(10):
            self.note("origin")
            yield number

    def f(self, number: int) -> int:
        """Square a number."""
        self.note("map(f)")
        return number * number

    def p(self, number: int) -> bool:
        """Keep even numbers."""
        self.note("filter(p)")
        return number % 2 == 0

    def consume(self, number: int) -> None:
        """Keep what arrives."""
        self.note("consume")
        self.result.append(number)

    def picture(self) -> str:
        """Draw the steps over the threads they ran on, with a bar wherever the thread changes."""
        names = [" ".join(sorted(self.threads[step])) for step in STEPS]
        upper, lower = STEPS[0], names[0]
        width = len(STEPS[0])
        lines = ["", ""]
        for index, step in enumerate(STEPS[1:], 1):
            if names[index] == names[index - 1]:
                upper += f" {step}"
                width += 1 + len(step)
            else:
                lines = [lines[0] + upper + " | ", lines[1] + f" {lower} ".center(width, "-") + " | "]
                upper, lower, width = step, names[index], len(step)
        return f"{lines[0]}{upper}\n{lines[1]}{f' {lower} '.center(width, '-')}"


def every_step(place: Placement) -> Pipeline[int]:
    """Put a boundary between all steps: four threads."""
    return Stream.from_iterable(place.origin()).subscribe_on(thread("R1")).publish_on(thread("R2")).map(
        place.f
    ).publish_on(thread("R3")).filter(place.p).publish_on(thread("R4")) | Sink.for_each(place.consume)


def before_the_consumer(place: Placement) -> Pipeline[int]:
    """Map and filter where the origin runs; only the consumer is elsewhere."""
    return Stream.from_iterable(place.origin()).map(place.f).filter(place.p).subscribe_on(thread("R1")).publish_on(
        thread("R2")
    ) | Sink.for_each(place.consume)


def after_the_origin(place: Placement) -> Pipeline[int]:
    """Map and filter where the consumer runs; only the origin is elsewhere."""
    return Stream.from_iterable(place.origin()).subscribe_on(thread("R1")).publish_on(thread("R2")).map(place.f).filter(
        place.p
    ) | Sink.for_each(place.consume)


PLACEMENTS: tuple[Callable[[Placement], Pipeline[int]], ...] = (every_step, before_the_consumer, after_the_origin)


def main() -> None:
    """Run the three placements and draw each."""
    for build in PLACEMENTS:
        place = Placement()
        count = build(place).run().wait()
        print(f"{build.__name__.replace('_', ' ')}: {count} elements, {place.result}\n{place.picture()}\n")


if __name__ == "__main__":
    main()
