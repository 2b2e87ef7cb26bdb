"""backfill: one Flow over a live feed and over the same data as a batch, with the same answer.

What is made of departures is written once, as a Flow: a join and windows on Spark, then look-ups on the executors. The
feed gives it row after row and windows close as time goes on; a batch gives it everything at once, as one does to fill
in what was missed, or to make it all again after a change. Run it with `python examples/backfill.py`.
"""

from __future__ import annotations

import time
from contextlib import nullcontext

from flights import Departure, Report, Weather, delays, departures, feed, observed, plain, planes, weather
from registry import Registry

from penstock import Pipeline, Sink
from penstock.spark import Spark, entry, spark_source


def timed(name: str, pipeline: Pipeline[list[Report]], spark: Spark) -> list[Report]:
    """Run a pipeline and say how long it took."""
    began = time.monotonic()
    found = pipeline.run(spark).wait()
    print(f"{name}: {len(found):,} reports in {time.monotonic() - began:.1f} s", flush=True)
    return found


def main(days: int = 31, spark: Spark | None = None) -> list[Report]:
    """Run both and compare them."""
    table, conditions = departures(days), weather(days)
    with Registry(planes()) as registry, Spark() if spark is None else nullcontext(spark) as running:
        from_now_on = delays(registry.address, observed(conditions) | entry(Weather))
        at_once = delays(registry.address, spark_source(lambda session: session.createDataFrame(conditions)))
        live = feed(table) | entry(Departure) | from_now_on | Sink.to_list()
        batch = spark_source(lambda session: session.createDataFrame(table)) | at_once | Sink.to_list()
        print(f"{table.num_rows:,} departures of {days} days")
        from_feed = timed("as a live feed", live, running)
        from_batch = timed("as a batch", batch, running)
    assert sorted(from_feed) == sorted(from_batch) == sorted(plain(table))  # no two are of one airport and hour
    print("The two have the same answer, and a plain loop gives it too.")
    return from_batch


if __name__ == "__main__":
    main()
