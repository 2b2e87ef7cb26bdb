"""by_hand: each synchronous operator as the generator that one would write in its place, a loop with a `yield`."""

from __future__ import annotations

import heapq
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from itertools import zip_longest
from typing import Any

from penstock import Completed, Next

Items = Iterable[Any]
Made = Iterator[Any]
Fn = Callable[..., Any]

MISSING = object()


def all_(xs: Items, predicate: Fn) -> Made:
    for x in xs:
        if not predicate(x):
            yield False
            return
    yield True


def any_(xs: Items, predicate: Fn) -> Made:
    for x in xs:
        if predicate(x):
            yield True
            return
    yield False


def average(xs: Items) -> Made:
    total = number = 0
    for x in xs:
        total += x
        number += 1
    if number:
        yield total / number


def buffer(xs: Items, count: int) -> Made:
    items = []
    for x in xs:
        items.append(x)
        if len(items) == count:
            yield items
            items = []
    if items:
        yield items


def buffer_until(xs: Items, predicate: Fn) -> Made:
    items = []
    for x in xs:
        items.append(x)
        if predicate(x):
            yield items
            items = []
    if items:
        yield items


def buffer_while(xs: Items, predicate: Fn) -> Made:
    items = []
    for x in xs:
        if predicate(x):
            items.append(x)
        elif items:
            yield items
            items = []
    if items:
        yield items


def cast(xs: Items, kind: type) -> Made:
    for x in xs:
        if not isinstance(x, kind):
            raise TypeError(x)
        yield x


def combine_latest(xs: Items, ys: Items) -> Made:
    left, right = iter(xs), iter(ys)
    x, y = next(left), next(right)
    yield x, y
    for x in left:
        yield x, y
        y = next(right)
        yield x, y


def concat(xs: Items, ys: Items) -> Made:
    yield from xs
    yield from ys


def contains(xs: Items, element: object) -> Made:
    for x in xs:
        if x == element:
            yield True
            return
    yield False


def count(xs: Items) -> Made:
    number = 0
    for _ in xs:
        number += 1
    yield number


def default_if_empty(xs: Items, item: object) -> Made:
    empty = True
    for x in xs:
        empty = False
        yield x
    if empty:
        yield item


def dematerialize(xs: Items) -> Made:
    for x in xs:
        if not isinstance(x, Next):
            return
        yield x.element


def distinct(xs: Items) -> Made:
    seen = set()
    for x in xs:
        if x not in seen:
            seen.add(x)
            yield x


def drop_repeats(xs: Items) -> Made:
    last = None
    for x in xs:
        if x != last:
            last = x
            yield x


def element_at(xs: Items, index: int) -> Made:
    for at, x in enumerate(xs):
        if at == index:
            yield x
            return


def end_with(xs: Items, item: object) -> Made:
    for x in xs:
        yield x
    yield item


def enumerate_(xs: Items) -> Made:
    at = 0
    for x in xs:
        yield at, x
        at += 1


def expand(xs: Items, fn: Fn, size: int) -> Made:
    for x in xs:
        waiting = deque((x,))
        yield x
        while waiting:
            for item in fn(waiting.popleft()):
                if len(waiting) == size:
                    raise OverflowError(size)
                waiting.append(item)
                yield item


def filter_(xs: Items, predicate: Fn) -> Made:
    for x in xs:
        if predicate(x):
            yield x


def first(xs: Items, predicate: Fn) -> Made:
    for x in xs:
        if predicate(x):
            yield x
            return


def flat_map(xs: Items, fn: Fn) -> Made:
    for x in xs:
        for y in fn(x):
            yield y


def flatten(xs: Items) -> Made:
    for x in xs:
        for y in x:
            yield y


def for_each(xs: Items, fn: Fn) -> Made:
    number = 0
    for x in xs:
        fn(x)
        number += 1
    yield number


def generate(seed: Any, step: Fn) -> Made:
    while (made := step(seed)) is not None:
        x, seed = made
        yield x


def ignore_elements(xs: Items) -> Made:
    for _ in xs:
        pass
    yield from ()


def interleave(xs: Items, ys: Items) -> Made:
    waiting = deque((iter(xs), iter(ys)))
    while waiting:
        try:
            yield next(waiting[0])
        except StopIteration:
            waiting.popleft()
        else:
            waiting.rotate(-1)


def join(xs: Items, ys: Items, key: Fn) -> Made:
    """Match two streams as their elements come, in turns."""
    lefts: dict[Any, list[Any]] = {}
    rights: dict[Any, list[Any]] = {}
    others = iter(ys)
    for x in xs:
        found = key(x)
        lefts.setdefault(found, []).append(x)
        for y in rights.get(found, ()):
            yield x, y
        for y in others:
            found = key(y)
            rights.setdefault(found, []).append(y)
            for matching in lefts.get(found, ()):
                yield matching, y
            break
    for y in others:
        for matching in lefts.get(key(y), ()):
            yield matching, y


def just(*xs: Any) -> Made:
    for x in xs:
        yield x


def last(xs: Items) -> Made:
    found = None
    for x in xs:
        found = x
    if found is not None:
        yield found


def map_(xs: Items, fn: Fn) -> Made:
    for x in xs:
        yield fn(x)


def map_batches(xs: Items, fn: Fn, size: int) -> Made:
    for batch in buffer(xs, size):
        yield from fn(batch)


def materialize(xs: Items) -> Made:
    for x in xs:
        yield Next(x)
    yield Completed()


def max_(xs: Items) -> Made:
    most = None
    for x in xs:
        if most is None or x > most:
            most = x
    if most is not None:
        yield most


def merge_sorted(xs: Items, ys: Items) -> Made:
    left, right = iter(xs), iter(ys)
    waiting = [(next(each), place, each) for place, each in enumerate((left, right))]
    while waiting:
        x, place, each = waiting[0]
        yield x
        try:
            heapq.heapreplace(waiting, (next(each), place, each))
        except StopIteration:
            heapq.heappop(waiting)


def metrics(xs: Items, counts: dict[str, int]) -> Made:
    try:
        for x in xs:
            counts["delivered"] += 1
            yield x
        counts["completed"] += 1
    except Exception:
        counts["failed"] += 1
        raise


def min_(xs: Items) -> Made:
    least = None
    for x in xs:
        if least is None or x < least:
            least = x
    if least is not None:
        yield least


def of_type(xs: Items, kind: type) -> Made:
    for x in xs:
        if isinstance(x, kind):
            yield x


def pairwise(xs: Items) -> Made:
    before = None
    for x in xs:
        if before is not None:
            yield before, x
        before = x


def passed_on(xs: Items) -> Made:
    for x in xs:
        yield x


def reduce_(xs: Items, fn: Fn) -> Made:
    result = None
    for x in xs:
        result = x if result is None else fn(result, x)
    if result is not None:
        yield result


def repeat(xs: Items, times: int) -> Made:
    for _ in range(times):
        for x in xs:
            yield x


def scan(xs: Items, fn: Fn, initial: Any) -> Made:
    result = initial
    for x in xs:
        result = fn(result, x)
        yield result


def sequence_equal(xs: Items, ys: Items) -> Made:
    for x, y in zip_longest(xs, ys, fillvalue=MISSING):
        if x != y:
            yield False
            return
    yield True


def skip(xs: Items, count: int) -> Made:
    left = count
    for x in xs:
        if left:
            left -= 1
        else:
            yield x


def skip_last(xs: Items, count: int) -> Made:
    items: deque[Any] = deque()
    for x in xs:
        items.append(x)
        if len(items) > count:
            yield items.popleft()


def skip_while(xs: Items, predicate: Fn) -> Made:
    before = True
    for x in xs:
        if before and predicate(x):
            continue
        before = False
        yield x


def sliding(xs: Items, count: int) -> Made:
    items: deque[Any] = deque(maxlen=count)
    for x in xs:
        items.append(x)
        if len(items) == count:
            yield tuple(items)


def split_when(xs: Items, predicate: Fn) -> Made:
    items: list[Any] = []
    for x in xs:
        if items and predicate(items[-1], x):
            yield items
            items = [x]
        else:
            items.append(x)
    if items:
        yield items


def starmap(xs: Items, fn: Fn) -> Made:
    for x in xs:
        yield fn(*x)


def start_with(xs: Items, item: object) -> Made:
    yield item
    for x in xs:
        yield x


def stateful_map(xs: Items, fn: Fn, create: Fn) -> Made:
    state = None
    for x in xs:
        if state is None:
            state = create()
        state, y = fn(state, x)
        yield y


def sum_(xs: Items) -> Made:
    total = 0
    for x in xs:
        total += x
    yield total


def switch_if_empty(xs: Items, ys: Items) -> Made:
    empty = True
    for x in xs:
        empty = False
        yield x
    if empty:
        yield from ys


def take(xs: Items, count: int) -> Made:
    left = count
    for x in xs:
        yield x
        left -= 1
        if not left:
            return


def take_last(xs: Items, count: int) -> Made:
    items: deque[Any] = deque(maxlen=count)
    for x in xs:
        items.append(x)
    yield from items


def take_while(xs: Items, predicate: Fn) -> Made:
    for x in xs:
        if not predicate(x):
            return
        yield x


def tap(xs: Items, fn: Fn) -> Made:
    for x in xs:
        fn(x)
        yield x


def throttle_first(xs: Items, seconds: float) -> Made:
    until = float("-inf")
    for x in xs:
        now = time.monotonic()
        if now >= until:
            until = now + seconds
            yield x


def time_interval(xs: Items) -> Made:
    before = time.monotonic()
    for x in xs:
        now = time.monotonic()
        yield now - before, x
        before = now


def timestamp(xs: Items) -> Made:
    for x in xs:
        yield time.monotonic(), x


def to_dict(xs: Items, key: Fn) -> Made:
    found = {}
    for x in xs:
        found[key(x)] = x
    yield found


def to_list(xs: Items) -> Made:
    items = []
    for x in xs:
        items.append(x)
    yield items


def to_set(xs: Items) -> Made:
    items = set()
    for x in xs:
        items.add(x)
    yield items


def with_context(xs: Items, variable: ContextVar[Any], value: object) -> Made:
    """Set a variable around each element, and back: a generator has no context of its own."""
    items = iter(xs)
    while True:
        token = variable.set(value)
        try:
            x = next(items)
        except StopIteration:
            return
        finally:
            variable.reset(token)
        yield x


def with_latest_from(xs: Items, ys: Items) -> Made:
    others = iter(ys)
    latest = None
    for x in xs:
        latest = next(others, latest)
        if latest is not None:
            yield x, latest


def zip_(xs: Items, ys: Items) -> Made:
    others = iter(ys)
    for x in xs:
        try:
            y = next(others)
        except StopIteration:
            return
        yield x, y
