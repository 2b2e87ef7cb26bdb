"""npm: what the modules of npm's pull-stream and its satellites are called here, and where they differ, as data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Counterpart:
    """A module of npm, what takes its place here, and what is different."""

    npm: str
    here: str
    differs: str = ""


COUNTERPARTS: tuple[Counterpart, ...] = (
    # pull-stream: sources
    Counterpart("values", "`values`", "an abort is remembered; it may have no callback; a mapping gives its values"),
    Counterpart("keys", "`keys`", "an abort is remembered"),
    Counterpart("once", "`once`", "`once(None)` gives `None`; there it is empty"),
    Counterpart("count", "`count`", "`count(0)` gives 0; there it has no end"),
    Counterpart("infinite", "`infinite`", "an abort is remembered"),
    Counterpart("empty", "`empty`", "it takes an abort without a callback"),
    Counterpart("error", "`error`", "it takes an exception and nothing else; an abort that comes first is its end"),
    # throughs
    Counterpart("map", "`map`", "a failed stream stays failed; a property name is no function: `map(itemgetter('a'))`"),
    Counterpart(
        "asyncMap", "`async_map`", "several asks may be out; a failed close is told; a coroutine function is awaited"
    ),
    Counterpart(
        "filter", "`filter`", "a predicate that raises ends the stream, and does not escape; no regular expressions"
    ),
    Counterpart("filterNot", "`filter_not`", "as `filter`"),
    Counterpart(
        "take",
        "`take`, `take_while`",
        "`take(0)` takes nothing, there everything; a function goes to `take_while(fn, last=...)`; one abort",
    ),
    Counterpart("unique", "`unique`", "keys are compared as they are, not as texts; it can be used again"),
    Counterpart("nonUnique", "`non_unique`", "as `unique`"),
    Counterpart("flatten", "`flatten`", "any iterable is read; empty ones do not pile up on the stack"),
    Counterpart("through", "`through`", "`on_end` is told None or the error, once"),
    # sinks
    Counterpart(
        "drain",
        "`drain`",
        "`done` gets None where it stopped by itself, there `true`; an early abort is kept; a raise ends it",
    ),
    Counterpart("onEnd", "`on_end`", "without a function it returns a SinkResult"),
    Counterpart("log", "`log`"),
    Counterpart(
        "find", "`find`", "the function must be given; a close that fails afterwards goes to the hook, there nowhere"
    ),
    Counterpart(
        "reduce",
        "`reduce`",
        "a beginning that could be changed is refused, `create=` makes one; without `done` it returns a SinkResult",
    ),
    Counterpart("collect", "`collect`", "without `done` it returns a SinkResult"),
    Counterpart("concat", "`concat`", "bytes become bytes; bytes among others are refused"),
    Counterpart("collectAsPromise", "`await pull(..., collect())`", "or `.get()`"),
    # satellites
    Counterpart("pull-abortable", "`abortable`", "an abort from below goes up; each ask is answered once"),
    Counterpart("pull-async", "`cont`", "it begins at the first ask"),
    Counterpart("pull-batch", "`batch`"),
    Counterpart("pull-block", "`reader().read(n)`", "a sink, not a through"),
    Counterpart("pull-cat", "`cat`", "the first failed close is told"),
    Counterpart("pull-catch", "`catch`", "a value of None ends without one; nothing is asked after the error"),
    Counterpart(
        "pull-cont",
        "`cont`",
        "it begins at the first ask; an awaitable does too; for sources: `defer_through`, `defer_sink` for others",
    ),
    Counterpart(
        "pull-defer",
        "`defer_source`, `defer_through`, `defer_sink`",
        "every ask that waits is kept; after an abort no value comes; at most one abort goes up",
    ),
    Counterpart("pull-flatmap", "`flat_map`", "an abort drops what is queued; sources and iterables are read"),
    Counterpart("pull-fork", "`Stream.partition` by `to_publisher`", "no counterpart of the same form"),
    Counterpart("pull-group", "`batch`"),
    Counterpart(
        "pull-handshake", "`handshake`", "`rest()` returns a duplex; pieces are Results, or told to a function"
    ),
    Counterpart(
        "pull-high-watermark", "`buffer`", "it stops reading at an abort; what it holds is given before an error"
    ),
    Counterpart("pull-lend", "`para_map`", "work is not lent to workers of one's own"),
    Counterpart("pull-limit", "`para_map(fn, width)`"),
    Counterpart("pull-live", "`cat([old, live])`"),
    Counterpart("pull-looper", "none is needed", "nothing nests here, hand-written modules included"),
    Counterpart("pull-many", "`many`", "in the order of their coming; it can be aborted while an input is stuck"),
    Counterpart("pull-map-last", "`queue_through(write, end)`"),
    Counterpart(
        "pull-merge",
        "`merge`",
        "equal values are kept, both; errors and the reason of an abort are passed on; any number of sources",
    ),
    Counterpart("pull-next", "`from_iter(sources)` with `flatten`"),
    Counterpart("pull-notify", "`notify`", "a listener that has left is forgotten"),
    Counterpart("pull-pair", "`pair`", "every ask that waits is kept, there one"),
    Counterpart(
        "pull-paramap",
        "`para_map`",
        "an error waits for its turn and aborts upstream; asks are answered before the abort, and not with a value",
    ),
    Counterpart("pull-pushable", "`pushable`", "several asks may wait; `on_close` gets None or the error"),
    Counterpart(
        "pull-reader",
        "`reader`",
        "pieces are Results, or told to a function; it knows lines and messages with their length",
    ),
    Counterpart("pull-scan", "`scan`", "a beginning that could be changed is refused, `create=` makes one"),
    Counterpart("pull-sorted-merge", "`merge`", "it is not eager; errors are passed on"),
    Counterpart("pull-split", "`reader().read_line()`"),
    Counterpart(
        "pull-stream-protocol-checker",
        "`checker`",
        "what it reports it keeps from the other side; every property, not six",
    ),
    Counterpart("pull-sync", "`to_publisher`, and a boundary there"),
    Counterpart("pull-tap", "`through`"),
    Counterpart("pull-tee", "`Stream.share` by `to_publisher`", "no counterpart of the same form"),
    Counterpart("pull-through", "`queue_through`", "None is a value; `Queue.end` aborts upstream"),
    Counterpart("pull-window", "`batch`, `sliding`", "a batch that is old enough is given at once"),
    Counterpart("pull-write", "`batch` and `drain`"),
    Counterpart("pull-zip", "`zip_sources`", "it hears of aborts and errors; `strict` and `fill`"),
)


def differences_table() -> str:
    """Return the counterparts as a Markdown table."""
    rows = [f"| `{each.npm}` | {each.here} | {each.differs} |" for each in COUNTERPARTS]
    return "\n".join(["| npm | here | what is different here |", "|---|---|---|", *rows])
