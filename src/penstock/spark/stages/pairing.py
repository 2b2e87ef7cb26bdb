"""pairing: two streams per key: one DataFrame of both, whose rows know their side, and flows that pair them.

A step of a stream that reads another one cannot go on from one micro-batch to the next, but a step that has seen the
rows of both sides can. So both sides are one stream of rows with a column `side`, 0 for the left and 1 for the right,
and what is remembered of each side is the state of a key. In process the flows pair whatever has an attribute `side`.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from penstock.bridges.shared.columns import SchemaError
from penstock.engine.places.clocks import seconds_of
from penstock.engine.words.arguments import function_given
from penstock.flow import Flow, flow
from penstock.stream import Stream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

LEFT, RIGHT = 0, 1


def side_of(row: Any) -> int:
    """Return the side of a row that `both` has made, or of another one that has such an attribute."""
    try:
        return row.side  # type: ignore[no-any-return]
    except AttributeError:
        cure = "orders | frame(both, payments) gives each row one, or say side=, a function that tells it"
        raise TypeError(f"a row must have a side, got {row!r}; {cure}") from None


def both(left: DataFrame, right: DataFrame) -> DataFrame:
    """Make one DataFrame of two, with a column `side` that is 0 for rows of the left and 1 for rows of the right.

    It has the columns of both; those that a side does not have are null in its rows. In a pipeline it is a step with
    two inputs: `orders | frame(both, payments)`.

    Args:
        left: The rows of side 0.
        right: The rows of side 1.

    Raises:
        SchemaError: One of them has a column `side`.
    """
    from pyspark.sql import functions  # noqa: PLC0415  few use it

    for df in (left, right):
        if "side" in map(str.lower, df.columns):  # Spark does not tell them apart
            raise SchemaError("both: column 'side' must not be there already; rename it", field="side")
    marked = [df.withColumn("side", functions.lit(side)) for side, df in enumerate((left, right))]
    return marked[LEFT].unionByName(marked[RIGHT], allowMissingColumns=True)


def pair_with_latest(side: Callable[[Any], int] = side_of) -> Flow[Any, tuple[Any, Any]]:
    """Emit each row of the left together with the latest of the right, as `with_latest_from` does with two streams.

    It keeps one row of the right for each key.

    Args:
        side: Tells the side of a row, 0 for the left and 1 for the right; the attribute `side` if it is not given.

    Raises:
        TypeError: `side` is not a function.

    >>> from collections import namedtuple
    >>> Row = namedtuple("Row", "side n")
    >>> rows = Stream.just(Row(0, 1), Row(1, 10), Row(0, 2), Row(1, 20), Row(0, 3))
    >>> [(left.n, right.n) for left, right in rows | pair_with_latest()]
    [(2, 10), (3, 20)]
    """
    return _paired("pair_with_latest", side, partial(_with_latest, side))


def pair_latest(side: Callable[[Any], int] = side_of) -> Flow[Any, tuple[Any, Any]]:
    """Emit the latest rows of the left and of the right whenever one comes, as `combine_latest` does with two streams.

    It keeps one row of each side for each key.

    Args:
        side: Tells the side of a row, 0 for the left and 1 for the right; the attribute `side` if it is not given.

    Raises:
        TypeError: `side` is not a function.

    >>> from collections import namedtuple
    >>> Row = namedtuple("Row", "side n")
    >>> rows = Stream.just(Row(0, 1), Row(1, 10), Row(0, 2), Row(1, 20))
    >>> [(left.n, right.n) for left, right in rows | pair_latest()]
    [(1, 10), (2, 10), (2, 20)]
    """
    return _paired("pair_latest", side, partial(_latest, side))


def pair_within(
    seconds: float | timedelta,
    time: Callable[[Any], datetime],
    side: Callable[[Any], int] = side_of,
) -> Flow[Any, tuple[Any, Any]]:
    """Emit each row of the left with each of the right whose times are at most so many seconds apart.

    A pair comes with the later of its rows. Rows are kept for `seconds` of the time of the rows behind them, so these
    are to come in the order of their times, as `keyed_by(..., time=..., watermark=...)` has them. It keeps all rows of
    both sides of these seconds, for each key.

    Args:
        seconds: How far apart the times of a pair may be.
        time: Tells the time of a row.
        side: Tells the side of a row, 0 for the left and 1 for the right; the attribute `side` if it is not given.

    Raises:
        TypeError: `time` or `side` is not a function.
        ValueError: `seconds` is below 0.

    >>> from collections import namedtuple
    >>> from datetime import UTC, datetime
    >>> Row = namedtuple("Row", "side second n")
    >>> rows = Stream.just(Row(0, 1, "a"), Row(1, 5, "x"), Row(1, 30, "y"), Row(0, 32, "b"))
    >>> near = pair_within(10, lambda row: datetime.fromtimestamp(row.second, UTC))
    >>> [(left.n, right.n) for left, right in rows | near]
    [('a', 'x'), ('b', 'y')]
    """
    function_given("pair_within", "time", time)
    return _paired("pair_within", side, partial(_within, side, time, seconds_of("pair_within", "seconds", seconds)))


def _paired(name: str, side: object, step: Callable[[Any, Any], tuple[Any, list[Any]]]) -> Flow[Any, Any]:
    function_given(name, "side", side)

    def pairs(rows: Stream[Any]) -> Stream[Any]:
        return rows.stateful_map(step, _nothing).flatten()

    return flow(pairs)


def _nothing() -> list[Any]:
    return [None, None]


def _side_of(side: Callable[[Any], int], row: Any) -> int:
    found = side(row)
    if found not in {LEFT, RIGHT}:
        raise ValueError(f"pairing: side must be 0 for the left or 1 for the right, got {found!r}")
    return found


def _with_latest(side: Callable[[Any], int], state: list[Any], row: Any) -> tuple[list[Any] | None, list[Any]]:
    if _side_of(side, row) == RIGHT:
        return [None, row], []
    right = state[RIGHT]
    return (None, []) if right is None else (state, [(row, right)])


def _latest(side: Callable[[Any], int], state: list[Any], row: Any) -> tuple[list[Any], list[Any]]:
    latest = list(state)
    latest[_side_of(side, row)] = row
    return latest, [] if None in latest else [(latest[LEFT], latest[RIGHT])]


def _within(
    side: Callable[[Any], int], time: Callable[[Any], datetime], seconds: float, state: list[Any], row: Any
) -> tuple[list[Any], list[Any]]:
    mine, at = _side_of(side, row), time(row).timestamp()
    # To the microsecond, as moments are, or else floats would take some that are just so far apart for farther.
    held = [[one for one in some or () if round(at - one[0], 6) <= seconds] for some in state]
    near = [other for moment, other in held[1 - mine] if round(moment - at, 6) <= seconds]
    held[mine].append((at, row))
    return held, [(row, other) if mine == LEFT else (other, row) for other in near]


__all__ = ["both", "pair_latest", "pair_with_latest", "pair_within"]
