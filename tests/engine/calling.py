"""calling: every parameter of an operator that takes a function, in a stream that calls it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from penstock import Overflow, Stream

Fn = Callable[..., Any]


class LostError(Exception):
    """Be equal to any other of its kind."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LostError)

    __hash__ = Exception.__hash__


LOST = LostError("lost")


async def same(n: Any) -> Any:
    """Return the element."""
    return n


def pile(n: Stream[Any]) -> Stream[Any]:
    """Let elements come faster than they are asked for."""
    return n.delay(0.0, size=1)


CALLED: dict[str, Callable[[Stream[int], Fn], Stream[Any]]] = {
    "map.fn": lambda over, fn: over.map(fn),
    "starmap.fn": lambda over, fn: over.enumerate().starmap(fn),
    "filter.predicate": lambda over, fn: over.filter(fn),
    "flat_map.fn": lambda over, fn: over.flat_map(fn),
    "flat_map.fn, concurrently": lambda over, fn: over.flat_map(fn, concurrency=2),
    "concat_map.fn": lambda over, fn: over.concat_map(fn),
    "switch_map.fn": lambda over, fn: over.switch_map(fn),
    "expand.fn": lambda over, fn: over.expand(fn),
    "expand.fn, concurrently": lambda over, fn: over.expand(fn, concurrency=1),
    "map_async.fn": lambda over, fn: over.map_async(fn),
    "map_async.key": lambda over, fn: over.map_async(same, key=fn),
    "map_batches.fn": lambda over, fn: over.map_batches(fn),
    "tap.on_next": lambda over, fn: over.tap(fn),
    "tap.on_next, with others": lambda over, fn: over.tap(fn, on_cancel=int),
    "scan.fn": lambda over, fn: over.scan(fn, 0),
    "scan.create": lambda over, fn: over.scan(max, create=fn),
    "stateful_map.fn": lambda over, fn: over.stateful_map(fn, int),
    "stateful_map.create": lambda over, fn: over.stateful_map(max, fn),
    "take_while.predicate": lambda over, fn: over.take_while(fn),
    "skip_while.predicate": lambda over, fn: over.skip_while(fn),
    "drop_repeats.key": lambda over, fn: over.drop_repeats(fn),
    "distinct.key": lambda over, fn: over.distinct(fn),
    "buffer_until.predicate": lambda over, fn: over.buffer_until(fn),
    "buffer_while.predicate": lambda over, fn: over.buffer_while(fn),
    "split_when.predicate": lambda over, fn: over.split_when(fn),
    "group_by.key": lambda over, fn: over.group_by(fn),
    "merge_sorted.key": lambda over, fn: over.merge_sorted(Stream.range(2), key=fn),
    "sequence_equal.equal": lambda over, fn: over.sequence_equal(Stream.range(3), fn),
    "join.key": lambda over, fn: over.join(Stream.range(2), fn),
    "join.other_key": lambda over, fn: over.join(Stream.range(2), abs, fn),
    "partition.predicate": lambda over, fn: over.partition(fn)[0],
    "on_error_resume.fn": lambda over, fn: over.concat(Stream.error(LOST)).on_error_resume(fn),
    "on_error_resume.when": lambda over, fn: over.concat(Stream.error(LOST)).on_error_resume(str, when=fn),
    "on_error_return.fn": lambda over, fn: over.concat(Stream.error(LOST)).on_error_return(fn=fn),
    "on_error_return.when": lambda over, fn: over.concat(Stream.error(LOST)).on_error_return(1, when=fn),
    "on_error_complete.when": lambda over, fn: over.concat(Stream.error(LOST)).on_error_complete(when=fn),
    "map_error.fn": lambda over, fn: over.concat(Stream.error(LOST)).map_error(fn),
    "map_error.when": lambda over, fn: over.concat(Stream.error(LOST)).map_error(type, when=fn),
    "retry.when": lambda over, fn: over.concat(Stream.error(LOST)).retry(when=fn),
    "retry.jitter": lambda over, fn: over.concat(Stream.error(LOST)).retry(jitter=fn),
    "repeat.while_": lambda over, fn: over.repeat(while_=fn),
    "parallel.flow": lambda over, fn: over.parallel(1, lambda rail: rail.map(fn)),
    "keep_alive.fn": lambda over, fn: over.concat(Stream.never()).keep_alive(0.001, fn=fn),
    "on_backpressure_buffer.on_drop": lambda over, fn: pile(
        over.on_backpressure_buffer(1, overflow=Overflow.DROP, on_drop=fn)
    ),
    "on_backpressure_drop.on_drop": lambda over, fn: pile(over.on_backpressure_drop(fn)),
    "conflate.seed": lambda over, fn: over.conflate(fn, max),
    "conflate.fn": lambda over, fn: pile(over.conflate(abs, fn)),
    "reduce.fn": lambda over, fn: over.reduce(fn),
    "reduce.create": lambda over, fn: over.reduce(max, create=fn),
    "to_dict.key": lambda over, fn: over.to_dict(fn),
    "to_dict.value": lambda over, fn: over.to_dict(abs, fn),
    "first.predicate": lambda over, fn: over.first(fn),
    "last.predicate": lambda over, fn: over.last(fn),
    "min.key": lambda over, fn: over.min(fn),
    "max.key": lambda over, fn: over.max(fn),
    "min.less": lambda over, fn: over.min(less=fn),
    "max.less": lambda over, fn: over.max(less=fn),
    "contains.equal": lambda over, fn: over.contains(-1, equal=fn),
    "start_with.create": lambda over, fn: over.start_with(create=[fn]),
    "end_with.create": lambda over, fn: over.end_with(create=[fn]),
    "from_callable.more": lambda over, fn: over.concat(Stream.from_callable(int, fn)),
    "all.predicate": lambda over, fn: over.all(fn),
    "any.predicate": lambda over, fn: over.any(fn),
    "for_each.fn": lambda over, fn: over.for_each(fn),
    "defer.make": lambda over, fn: over.concat(Stream.defer(fn)),
    "generate.step": lambda over, fn: over.concat(Stream.generate(0, fn)),
    "generate.create": lambda over, fn: over.concat(Stream.generate(step=max, create=fn)),
    "create.attach": lambda over, fn: over.concat(Stream.create(fn)),
    "resumable.open_from": lambda over, fn: over.concat(Stream.resumable(fn)),
    "from_awaitable.awaitable": lambda over, fn: over.concat(Stream.from_awaitable(fn)),
    "from_callable.fn": lambda over, fn: over.concat(Stream.from_callable(fn)),
    "using.open": lambda over, fn: over.concat(Stream.using(fn, list, bool)),
    "using.use": lambda over, fn: over.concat(Stream.using(list, fn, bool)),
    "using.close": lambda over, fn: over.concat(Stream.using(list, list, fn)),
}
"""What a function raises there fails the stream."""

TOLD: dict[str, Callable[[Stream[int], Fn], Stream[Any]]] = {
    "tap.on_error": lambda over, fn: over.concat(Stream.error(LOST)).tap(on_error=fn),
    "tap.on_complete": lambda over, fn: over.tap(on_complete=fn),
    "tap.on_cancel": lambda over, fn: over.tap(on_cancel=fn).take(1),
    "tap.on_request": lambda over, fn: over.tap(on_request=fn),
    "tap.on_subscribe": lambda over, fn: over.tap(on_subscribe=fn),
    "do_finally.fn": lambda over, fn: over.do_finally(fn),
}
"""What a function raises there has no signal to go by, and goes to the on_dropped hook."""


NOT_CALLED = {"resumable.commit"}
"""A subscriber of the stream does not call these; what resumes it does."""


def parameters() -> set[str]:
    """Return every parameter of an operator that takes a function, as `map.fn`."""
    found: set[str] = set()
    for name, method in inspect.getmembers(Stream, callable):
        if not name.startswith("_"):
            for parameter in inspect.signature(method).parameters.values():
                kind = str(parameter.annotation)
                if "Callable[" in kind or "When" in kind:
                    found.add(f"{name}.{parameter.name}")
    return found - NOT_CALLED
