"""flood: one fast source and one slow consumer, with penstock and with reactivex between them.

    python -m benchmarks.flood [--seconds 6] [--output docs/images/demand.svg]

Both run the same program: a feed that makes messages of a kilobyte as fast as it is allowed to, on one thread, and a
consumer that takes fewer of them, on another. How many messages wait between the two, and how much memory Python's
objects take, is sampled while they run. The picture of the home page is drawn from these samples.
"""

from __future__ import annotations

import argparse
import gc
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import reactivex
from reactivex import operators as rx
from reactivex.scheduler import EventLoopScheduler

from benchmarks.flood_picture import Sample, picture, sentence
from penstock import Sink, Stream, thread

MADE_PER_SECOND = 20_000
TAKEN_PER_SECOND = 4_000
WINDOW = 256
SLACK = 0.002  # sleeping for less costs more than it waits


@dataclass
class Trial:
    """A feed and a consumer for one run, and what they have done so far."""

    seconds: float
    made: int = 0
    taken: int = 0
    most: int = 0  # that waited at once
    stopped: threading.Event = field(default_factory=threading.Event)

    def feed(self) -> Iterator[bytes]:
        """Make messages until the time is up, never faster than a feed of this pace could."""
        due = time.perf_counter()
        end = due + self.seconds
        while (now := time.perf_counter()) < end and not self.stopped.is_set():
            due = max(due, now - SLACK) + 1 / MADE_PER_SECOND
            if due - now > SLACK:
                time.sleep(due - now)
            self.made += 1
            self.most = max(self.most, self.made - self.taken)
            yield bytes(1_000)

    def take(self, message: bytes) -> None:
        """Take a moment for a message."""
        assert len(message) == 1_000
        self.taken += 1
        self.stopped.wait(1 / TAKEN_PER_SECOND)


def with_penstock(trial: Trial) -> Callable[[], None]:
    """Begin the program with penstock between the two; give what ends it."""
    messages = Stream.from_iterable(trial.feed()).subscribe_on(thread("source"))
    run = (messages.publish_on(thread("consumer"), prefetch=WINDOW) | Sink.for_each(trial.take)).run()
    return run.cancel


def with_reactivex(trial: Trial) -> Callable[[], None]:
    """Begin the program with reactivex between the two; give what ends it."""
    source, consumer = EventLoopScheduler(exit_if_empty=True), EventLoopScheduler(exit_if_empty=True)
    messages = reactivex.from_iterable(trial.feed(), scheduler=source)
    return messages.pipe(rx.observe_on(consumer)).subscribe(trial.take).dispose


PROGRAMS = {"reactivex": with_reactivex, "penstock": with_penstock}


def measured(begin: Callable[[Trial], Callable[[], None]], seconds: float, samples: int) -> list[Sample]:
    """Run a program for some seconds and look at it at equal distances."""
    gc.collect()
    tracemalloc.start()
    trial = Trial(seconds)
    before, _ = tracemalloc.get_traced_memory()
    start = time.perf_counter()
    end = begin(trial)
    seen = [Sample(0.0, 0, 0, 0.0)]
    try:
        for number in range(1, samples + 1):
            time.sleep(max(0.0, start + seconds * number / samples - time.perf_counter()))
            memory, _ = tracemalloc.get_traced_memory()
            taken = trial.taken  # read first: what is made meanwhile waits
            seen.append(Sample(time.perf_counter() - start, trial.made, taken, (memory - before) / 1e6))
    finally:
        trial.stopped.set()
        end()
        tracemalloc.stop()
    return seen


def main() -> None:
    """Measure both, draw the picture and say in one sentence what it shows."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.flood")
    parser.add_argument("--seconds", type=float, default=6.0)
    parser.add_argument("--samples", type=int, default=60)
    parser.add_argument("--output", type=Path, default=Path("docs/images/demand.svg"))
    asked = parser.parse_args()
    seen = {name: measured(begin, asked.seconds, asked.samples) for name, begin in PROGRAMS.items()}
    asked.output.write_text(picture(seen), encoding="utf-8")
    print(sentence(seen))


if __name__ == "__main__":
    main()
