"""models: every operator as the loop one would write, without the engine.

A run of a model is a generator. It yields elements, returns when it completes and raises Failure when it fails. While
`world.asked` is false it reads nothing and emits nothing: it yields WAIT, unless its end needs neither a source's next
element nor demand. So the same loop says three things: what comes, how much of each source that takes, and whether the
end is known before anybody asks for more.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from penstock import Completed, EmptyError, Failed, Next, OverflowedError
from tests.fuzz.functions import Add, Boom, Breaks, Fizz, InOrder, error, weight
from tests.fuzz.grammar import Chain, Inner, Made, Src, Step
from tests.fuzz.paths import Path

Opener = Callable[[], Iterator[Any]]


class Failure(Exception):
    """Carry the error of a stream through generators, which would change a StopIteration."""

    def __init__(self, error: Exception) -> None:
        self.error = error


class UndeterminedError(Exception):
    """Say that the texts of the operators leave open what comes."""


class _Token:
    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name


WAIT = _Token("WAIT")
DONE = _Token("DONE")
MOST = 300
"""How many elements the sources of a chain may give before it is called too big."""


class World:
    """Know what a run of a model may do, and count what it did; `ahead` lets operators read as far as they may."""

    def __init__(self, path: Path, *, ahead: bool = False) -> None:
        self.asked = ahead
        self.ahead = ahead
        self.knows = path.knows
        self.held = path.held
        self.plain = path.plain
        self.reads: Counter[int] = Counter()
        self.opened: Counter[int] = Counter()
        self.lanes = 0
        """In how many operators that run several streams at a time this is."""
        self.beside = False
        """Whether streams are subscribed beside others, before their elements are wanted."""
        self.looking = False
        """Whether only what needs no subscription may be looked at."""
        self._steps = 0

    def read(self, number: int) -> None:
        self.reads[number] += 1
        self.spend()

    def spend(self) -> None:
        self._steps += 1
        if self._steps > MOST:
            raise UndeterminedError("too big")

    def pause(self) -> Iterator[Any]:
        """Wait until something is asked for."""
        while not self.asked:
            yield WAIT


def step(run: Iterator[Any]) -> Any:
    """Return the next element, WAIT, DONE, or the Failure."""
    try:
        return next(run)
    except StopIteration:
        return DONE
    except Failure as failure:
        return failure


def call(fn: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function of a chain; what it raises is the failure, and a StopIteration is a RuntimeError."""
    try:
        return fn(*arguments)
    except (Failure, UndeterminedError):
        raise
    except StopIteration:
        raise Failure(RuntimeError("the function raised StopIteration")) from None
    except Exception as caught:
        raise Failure(caught) from None


def opener(world: World, chain: Chain) -> Opener:
    """Return what opens a run of a chain; what is shared between runs of one chain is made here."""
    if isinstance(chain.source, Src):
        up: Opener = partial(_source, world, chain.source)
    else:
        up = partial(_lazily, world, chain.source)
    for one in chain.steps:
        up = _then(world, up, one)
    return up


def _then(world: World, up: Opener, one: Step) -> Opener:
    arguments = [_argument(world, argument) for argument in one.args]
    options = {key: _argument(world, argument) for key, argument in one.options}
    if one.name not in ("concat", "switch_if_empty") and any(isinstance(argument, Chain) for argument in one.args):
        world.beside = True
    if one.name in SHARING:
        return SHARING[one.name](world, up, *arguments, **options)
    if one.name == "flat_map" and options:
        return partial(flat_mapped, world, up, *arguments, **options)
    return partial(MODELS[one.name], world, up, *arguments, **options)


def _argument(world: World, argument: Any) -> Any:
    if isinstance(argument, Chain):
        return opener(world, argument)
    if isinstance(argument, Inner):
        return partial(_inner, world, argument)
    if isinstance(argument, Breaks) and isinstance(argument.fn, Inner):
        return replace(argument, fn=_argument(world, argument.fn))
    if isinstance(argument, Made):
        return {"int": int, "Fizz": Fizz, "Boom": Boom}.get(argument.what)
    return argument


def _inner(world: World, inner: Inner, element: Any) -> Opener:
    made = opener(world, inner.chain)
    return partial(map_, world, made, Add(weight(element))) if inner.shifted else made


def _lazily(world: World, chain: Chain) -> Iterator[Any]:
    while world.looking:
        yield WAIT
    yield from opener(world, chain)()


def _source(world: World, source: Src) -> Iterator[Any]:
    if world.ahead and world.held(source):
        yield from _ahead(world, _read(world, source), world.held(source))
    else:
        yield from _read(world, source)


def _read(world: World, source: Src) -> Iterator[Any]:
    while world.looking and not world.plain(source):
        yield WAIT
    if source.flaky and (world.lanes or world.beside):
        raise UndeterminedError("which run of a flaky source is the first is open where several run at a time")
    world.opened[source.number] += 1
    fails = source.fails(world.opened[source.number])
    for item in source.items:
        yield from world.pause()
        world.read(source.number)
        yield item
    if not world.knows(source, fails):
        yield from world.pause()
    if fails:
        raise Failure(error(source.error))


def _ahead(world: World, run: Iterator[Any], most: int) -> Iterator[Any]:
    """Hold up to so many elements beyond those that were asked for, if the world reads as far as it may."""
    return _Ahead(run, most) if world.ahead else run


class _Ahead(Iterator[Any]):
    """Read ahead from the moment it is opened, which is when something is asked for."""

    def __init__(self, run: Iterator[Any], most: int) -> None:
        self._run = run
        self._most = most
        self._held: deque[Any] = deque()
        self._end: Any = None
        self._fill()

    def _fill(self) -> None:
        while self._end is None and len(self._held) <= self._most:
            found = step(self._run)
            if found is DONE or isinstance(found, Failure):
                self._end = found
            else:
                self._held.append(found)

    def __next__(self) -> Any:
        self._fill()
        if self._held:
            return self._held.popleft()
        if isinstance(self._end, Failure):
            raise self._end
        raise StopIteration


def _next_one(world: World, up: Opener) -> Iterator[Any]:
    """Go on with another stream, which is subscribed when somebody asks, unless it is plain that it has no element."""
    if not world.asked:
        opened = world.opened.copy()
        world.looking = True
        found = step(up())
        world.looking = False
        world.opened = opened
        if found is WAIT:
            yield from world.pause()
    yield from up()


# Each element alone.


def map_(world: World, up: Opener, fn: Any) -> Iterator[Any]:
    for x in up():
        yield x if x is WAIT else call(fn, x)


def starmap(world: World, up: Opener, fn: Any) -> Iterator[Any]:
    for x in up():
        yield x if x is WAIT else call(fn, *x)


def filter_(world: World, up: Opener, predicate: Any) -> Iterator[Any]:
    for x in up():
        if x is WAIT or call(predicate, x):
            yield x


def filter_not(world: World, up: Opener, predicate: Any) -> Iterator[Any]:
    for x in up():
        if x is WAIT or not call(predicate, x):
            yield x


def of_type(world: World, up: Opener, kind: Any) -> Iterator[Any]:
    for x in up():
        if x is WAIT or isinstance(x, kind):
            yield x


def cast(world: World, up: Opener, kind: Any) -> Iterator[Any]:
    for x in up():
        if x is not WAIT and not isinstance(x, kind):
            raise Failure(TypeError("cast"))
        yield x


def _items(world: World, items: Iterable[Any]) -> Iterator[Any]:
    """Give the items of an iterable; only a list knows its end."""
    if isinstance(items, list):
        for item in items:
            yield from world.pause()
            world.spend()
            yield item
        return
    run = call(iter, items)
    while True:
        yield from world.pause()
        item = next(run, DONE)
        if item is DONE:
            return
        yield item


def flat_map(world: World, up: Opener, fn: Any) -> Iterator[Any]:
    for x in up():
        if x is WAIT:
            yield x
        else:
            yield from _items(world, call(fn, x))


def flatten(world: World, up: Opener) -> Iterator[Any]:
    return flat_map(world, up, lambda x: x)


def expand(world: World, up: Opener, fn: Any) -> Iterator[Any]:
    for x in up():
        yield x
        waiting = deque() if x is WAIT else deque([x])
        while waiting:
            yield from world.pause()
            for item in _items(world, call(fn, waiting.popleft())):
                yield item
                if item is not WAIT:
                    waiting.append(item)


def map_batches(world: World, up: Opener, fn: Any, size: int) -> Iterator[Any]:
    for batch in buffer(world, up, size):
        if batch is WAIT:
            yield WAIT
        else:
            yield from _items(world, call(fn, batch))


def dematerialize(world: World, up: Opener) -> Iterator[Any]:
    for x in up():
        match x:
            case Next(inner):
                yield inner
            case Completed():
                return
            case Failed(failure):
                raise Failure(failure)
            case _ if x is WAIT:
                yield x
            case _:
                raise Failure(TypeError("dematerialize"))


def materialize(world: World, up: Opener) -> Iterator[Any]:
    try:
        for x in up():
            yield x if x is WAIT else Next(x)
        last: Any = Completed()
    except Failure as failure:
        last = Failed(failure.error)
    yield from world.pause()
    yield last


def tap(world: World, up: Opener, on_next: Any = None, **others: Any) -> Iterator[Any]:
    for x in up():
        if x is not WAIT and on_next is not None:
            call(on_next, x)
        yield x


# Neighbours matter.


def scan(world: World, up: Opener, fn: Any, initial: Any) -> Iterator[Any]:
    for x in up():
        if x is not WAIT:
            initial = x = call(fn, initial, x)
        yield x


def stateful_map(world: World, up: Opener, fn: Any, create: Any) -> Iterator[Any]:
    state = None
    for x in up():
        if x is WAIT:
            yield x
        else:
            state, result = call(fn, create() if state is None else state, x)
            yield result


def take(world: World, up: Opener, count: int) -> Iterator[Any]:
    if count:
        for x in up():
            count -= x is not WAIT
            yield x
            if not count:
                return


def take_while(world: World, up: Opener, predicate: Any) -> Iterator[Any]:
    for x in up():
        if x is not WAIT and not call(predicate, x):
            return
        yield x


def take_last(world: World, up: Opener, count: int) -> Iterator[Any]:
    last: deque[Any] = deque(maxlen=count)
    for x in up():
        if x is WAIT:
            yield x
        else:
            last.append(x)
    yield from _items(world, list(last))


def skip(world: World, up: Opener, count: int) -> Iterator[Any]:
    for x in up():
        if x is WAIT or count == 0:
            yield x
        else:
            count -= 1


def skip_while(world: World, up: Opener, predicate: Any) -> Iterator[Any]:
    skipping = True
    for x in up():
        if x is not WAIT and skipping:
            skipping = bool(call(predicate, x))
        if x is WAIT or not skipping:
            yield x


def skip_last(world: World, up: Opener, count: int) -> Iterator[Any]:
    held: deque[Any] = deque()
    for x in up():
        if x is WAIT:
            yield x
        else:
            held.append(x)
            if len(held) > count:
                yield held.popleft()


def ignore_elements(world: World, up: Opener) -> Iterator[Any]:
    for x in up():
        if x is WAIT:
            yield x


def start_with(world: World, up: Opener, *items: Any) -> Iterator[Any]:
    yield from _items(world, list(items))
    yield from up()


def end_with(world: World, up: Opener, *items: Any) -> Iterator[Any]:
    yield from up()
    yield from _items(world, list(items))


def default_if_empty(world: World, up: Opener, *items: Any) -> Iterator[Any]:
    empty = True
    for x in up():
        empty = empty and x is WAIT
        yield x
    if empty:
        yield from _items(world, list(items))


def enumerate_(world: World, up: Opener, start: int) -> Iterator[Any]:
    for x in up():
        if x is WAIT:
            yield x
        else:
            yield start, x
            start += 1


def drop_repeats(world: World, up: Opener, key: Any = None) -> Iterator[Any]:
    last: Any = DONE
    for x in up():
        if x is WAIT:
            yield x
            continue
        found = x if key is None else call(key, x)
        if last is DONE or found != last:
            yield x
        last = found


def distinct(world: World, up: Opener, key: Any = None, size: int | None = None) -> Iterator[Any]:
    seen: deque[Any] = deque(maxlen=size)
    for x in up():
        if x is WAIT:
            yield x
            continue
        found = x if key is None else call(key, x)
        call(hash, found)
        if found not in seen:
            seen.append(found)
            yield x


def buffer(world: World, up: Opener, count: int, by: int | None = None) -> Iterator[Any]:
    by = count if by is None else by
    begun: list[list[Any]] = []
    place = 0
    for x in up():
        if x is WAIT:
            yield x
            continue
        if place % by == 0:
            begun.append([])
        place += 1
        for some in begun:
            some.append(x)
        if begun and len(begun[0]) == count:
            yield begun.pop(0)
    yield from _items(world, begun)


def sliding(world: World, up: Opener, count: int, by: int = 1) -> Iterator[Any]:
    for some in buffer(world, up, count, by):
        if some is WAIT:
            yield some
        elif len(some) == count:
            yield tuple(some)


def _overflow(some: list[Any], size: int) -> None:
    if len(some) > size:
        raise Failure(OverflowedError("size"))


def buffer_until(world: World, up: Opener, predicate: Any, size: int = 65536) -> Iterator[Any]:
    some: list[Any] = []
    for x in up():
        if x is WAIT:
            yield x
            continue
        some.append(x)
        _overflow(some, size)
        if call(predicate, x):
            yield some
            some = []
    yield from _items(world, [some] if some else [])


def buffer_while(world: World, up: Opener, predicate: Any, size: int = 65536) -> Iterator[Any]:
    some: list[Any] = []
    for x in up():
        if x is WAIT:
            yield x
        elif call(predicate, x):
            some.append(x)
            _overflow(some, size)
        elif some:
            yield some
            some = []
    yield from _items(world, [some] if some else [])


def split_when(world: World, up: Opener, predicate: Any, size: int = 65536) -> Iterator[Any]:
    some: list[Any] = []
    for x in up():
        if x is WAIT:
            yield x
            continue
        if some and call(predicate, some[-1], x):
            yield some
            some = []
        some.append(x)
        _overflow(some, size)
    yield from _items(world, [some] if some else [])


def pairwise(world: World, up: Opener) -> Iterator[Any]:
    return sliding(world, up, 2)


# One value of all.


def _folded(world: World, up: Opener, fold: Callable[[list[Any]], list[Any]], each: Any = None) -> Iterator[Any]:
    """Emit what is made of all elements, once they are known; `each` is called with one after the other."""
    some: list[Any] = []
    for x in up():
        if x is WAIT:
            yield x
        else:
            some.append(x)
            if each is not None:
                call(each, some)
    yield from _items(world, call(fold, some))


def reduce(world: World, up: Opener, fn: Any, initial: Any = DONE) -> Iterator[Any]:
    total = initial
    for x in up():
        if x is WAIT:
            yield x
        else:
            total = x if total is DONE else call(fn, total, x)
    yield from _items(world, [] if total is DONE else [total])


def count(world: World, up: Opener) -> Iterator[Any]:
    return _folded(world, up, lambda some: [len(some)])


def to_list(world: World, up: Opener) -> Iterator[Any]:
    return _folded(world, up, lambda some: [some])


def to_set(world: World, up: Opener) -> Iterator[Any]:
    return _folded(world, up, lambda some: [set(some)])


def to_dict(world: World, up: Opener, key: Any, value: Any) -> Iterator[Any]:
    made: dict[Any, Any] = {}

    def put(some: list[Any]) -> None:
        made[key(some[-1])] = value(some[-1])

    return _folded(world, up, lambda some: [made], put)


def sum_(world: World, up: Opener) -> Iterator[Any]:
    return _folded(world, up, lambda some: [sum(some)])


def average(world: World, up: Opener) -> Iterator[Any]:
    return _folded(world, up, lambda some: [sum(some) / len(some)] if some else [])


def min_(world: World, up: Opener) -> Iterator[Any]:
    return _folded(world, up, lambda some: [min(some)] if some else [])


def max_(world: World, up: Opener, key: Any) -> Iterator[Any]:
    keys: list[Any] = []
    return _folded(
        world, up, lambda some: [some[keys.index(max(keys))]] if some else [], lambda some: keys.append(key(some[-1]))
    )


def for_each(world: World, up: Opener, fn: Any) -> Iterator[Any]:
    return _folded(world, up, lambda some: [len(some)], lambda some: fn(some[-1]))


def first(world: World, up: Opener, predicate: Any = None, default: Any = DONE) -> Iterator[Any]:
    for x in up():
        if x is WAIT:
            yield x
        elif predicate is None or call(predicate, x):
            yield x
            return
    yield from _items(world, [] if default is DONE else [default])


def last(world: World, up: Opener, predicate: Any = None, default: Any = DONE) -> Iterator[Any]:
    found = default
    for x in up():
        if x is WAIT:
            yield x
        elif predicate is None or call(predicate, x):
            found = x
    yield from _items(world, [] if found is DONE else [found])


def element_at(world: World, up: Opener, index: int, default: Any = DONE) -> Iterator[Any]:
    return first(world, partial(skip, world, up, index), None, default)


def single(world: World, up: Opener, default: Any = DONE) -> Iterator[Any]:
    found = DONE
    for x in up():
        if x is WAIT:
            yield x
        elif found is not DONE:
            raise Failure(ValueError("single"))
        else:
            found = x
    found = default if found is DONE else found
    if found is DONE:
        raise Failure(EmptyError("single"))
    yield from _items(world, [found])


def _decided(world: World, up: Opener, decides: Any, answer: bool) -> Iterator[Any]:
    """Emit the answer at the first element that decides, else its contrary."""
    for x in up():
        if x is WAIT:
            yield x
        elif call(decides, x):
            yield answer
            return
    yield from _items(world, [not answer])


def contains(world: World, up: Opener, element: Any) -> Iterator[Any]:
    return _decided(world, up, lambda x: x == element, True)


def is_empty(world: World, up: Opener) -> Iterator[Any]:
    return _decided(world, up, lambda _: True, False)


def all_(world: World, up: Opener, predicate: Any) -> Iterator[Any]:
    return _decided(world, up, lambda x: not predicate(x), False)


def any_(world: World, up: Opener, predicate: Any) -> Iterator[Any]:
    return _decided(world, up, predicate, True)


# When it fails, and when it is over.


def _named(failure: Failure, when: Any) -> bool:
    return when is None or isinstance(failure.error, when)


def on_error_complete(world: World, up: Opener, when: Any = None) -> Iterator[Any]:
    try:
        yield from up()
    except Failure as failure:
        if not _named(failure, when):
            raise


def on_error_return(world: World, up: Opener, value: Any = DONE, fn: Any = None, when: Any = None) -> Iterator[Any]:
    try:
        yield from up()
        return
    except Failure as failure:
        if not _named(failure, when):
            raise
        made = value if fn is None else call(fn, failure.error)
    yield from _items(world, [made])


def on_error_resume(world: World, up: Opener, fn: Any, when: Any = None) -> Iterator[Any]:
    try:
        yield from up()
        return
    except Failure as failure:
        if not _named(failure, when):
            raise
        found = failure.error
    yield from world.pause()  # the function may be called, and what it returns subscribed, when somebody asks
    yield from call(fn, found)()


def map_error(world: World, up: Opener, fn: Any, when: Any = None) -> Iterator[Any]:
    try:
        yield from up()
    except Failure as failure:
        if not _named(failure, when):
            raise
        raise Failure(call(fn, failure.error)) from None


def retry(world: World, up: Opener, times: int) -> Iterator[Any]:
    run = up()
    for _ in range(times):
        try:
            yield from run
            return
        except Failure:
            run = _next_one(world, up)
    yield from run


def repeat(world: World, up: Opener, times: int) -> Iterator[Any]:
    for run in range(times):
        yield from _next_one(world, up) if run else up()


# What changes nothing but how far is read, and where it runs.


def same(world: World, up: Opener, *_: Any, **options: Any) -> Iterator[Any]:
    return up()


def publish_on(world: World, up: Opener, executor: Any, prefetch: int) -> Iterator[Any]:
    return _ahead(world, up(), prefetch)


def unbounded(world: World, up: Opener, *_: Any) -> Iterator[Any]:
    return _ahead(world, up(), MOST)


def buffer_timeout(world: World, up: Opener, count: int, seconds: float, clock: Any) -> Iterator[Any]:
    """Collect lists as buffer does; other than there, what is at hand is delivered before a failure too."""
    signals = _ahead(world, materialize(world, up), count)
    some: list[Any] = []
    for x in signals:
        if x is WAIT:
            yield x
        elif isinstance(x, Next):
            some.append(x.element)
            if len(some) == count:
                yield some
                some = []
        else:
            if some:
                yield some
            if isinstance(x, Failed):
                raise Failure(x.error)


def map_async(world: World, up: Opener, later: Any, concurrency: int) -> Iterator[Any]:
    return map_(world, lambda: _ahead(world, up(), 2 * concurrency), later.fn)


def map_async_unordered(world: World, up: Opener, later: Any, concurrency: int) -> Iterator[Any]:
    return _gathered(world, lambda: _lane_each(world, up, lambda x: lambda: iter([call(later.fn, x)])))


def parallel_mapped(world: World, up: Opener, rails: int, fn: Any, predicate: Any) -> Iterator[Any]:
    window = partial(map_, world, lambda: _ahead(world, up(), 4), fn)
    return _ahead(world, filter_(world, window, predicate), 4)  # what is left out makes room for others


def replay(world: World, up: Opener, count: int) -> Opener:
    """Give a later run what is kept; what a run that did not complete leaves behind is not said."""
    kept: list[Any] = []
    state = ["fresh"]

    def run() -> Iterator[Any]:
        while world.looking:
            yield WAIT
        if state[0] == "completed":
            yield from _items(world, list(kept))
            return
        if state[0] != "fresh":
            raise UndeterminedError("replay after a run that did not complete")
        state[0] = "begun"
        for x in up():
            if x is not WAIT:
                kept.append(x)
                del kept[: max(0, len(kept) - count)]
            yield x
        state[0] = "completed"

    return run


# Several streams.


def concat_map(world: World, up: Opener, fn: Any) -> Iterator[Any]:
    for x in up():
        if x is WAIT:
            yield x
        else:
            yield from call(fn, x)()


def concat(world: World, *ups: Opener) -> Iterator[Any]:
    for place, up in enumerate(ups):
        yield from _next_one(world, up) if place else up()


def switch_if_empty(world: World, up: Opener, other: Opener) -> Iterator[Any]:
    empty = True
    for x in up():
        empty = empty and x is WAIT
        yield x
    if empty:
        yield from _next_one(world, other)


def _one_failure(failures: list[Failure]) -> Failure:
    if any(failure.error != failures[0].error for failure in failures):
        raise UndeterminedError("several failures at one place")
    return failures[0]


def _forced(world: World, run: Iterator[Any]) -> Any:
    """Look what a run would do if it were asked."""
    asked, world.asked = world.asked, True
    try:
        return step(run)
    finally:
        world.asked = asked


def zip_(world: World, *ups: Opener, prefetch: int) -> Iterator[Any]:
    runs = [_ahead(world, up(), prefetch) for up in ups]
    while True:
        row = [step(run) for run in runs]
        while world.looking and DONE in row[1:] and row[0] is not DONE:
            yield WAIT  # what a stream gives that reads nothing is not known before it is subscribed
        if any(x is DONE or isinstance(x, Failure) for x in row):
            row = [_forced(world, run) if x is WAIT else x for run, x in zip(runs, row, strict=True)]
            failures = [x for x in row if isinstance(x, Failure)]
            if failures and DONE in row:
                raise UndeterminedError("zip: one input completes where another fails")
            if failures:
                raise _one_failure(failures)
            return
        yield WAIT if WAIT in row else tuple(row)


def interleave(world: World, *ups: Opener, count: int = 1, prefetch: int) -> Iterator[Any]:
    runs = [_ahead(world, up(), prefetch) for up in ups]
    turn = taken = 0
    while runs:
        x = step(runs[turn])
        if isinstance(x, Failure):
            raise x
        if x is DONE:
            del runs[turn]
            taken = 0
            turn = turn % len(runs) if runs else 0
            continue
        yield x
        taken += x is not WAIT
        if taken == count:
            taken = 0
            turn = (turn + 1) % len(runs)


def merge_sorted(world: World, *ups: Opener, key: Any, prefetch: int) -> Iterator[Any]:
    runs = [_ahead(world, up(), prefetch) for up in ups]
    heads: list[Any] = [WAIT] * len(runs)
    while True:
        heads = [step(run) if x is WAIT else x for run, x in zip(runs, heads, strict=True)]
        if failures := [x for x in heads if isinstance(x, Failure)]:
            raise _one_failure(failures)
        if all(x is DONE for x in heads):
            return
        if WAIT in heads:
            yield WAIT
            continue
        yield from world.pause()
        place = min((i for i, x in enumerate(heads) if x is not DONE), key=lambda i: key(heads[i]))
        found, heads[place] = heads[place], WAIT
        yield found


def sequence_equal(world: World, up: Opener, other: Opener, equal: Any, prefetch: int) -> Iterator[Any]:
    runs = [_ahead(world, one(), prefetch) for one in (up, other)]
    while True:
        row: list[Any] = [WAIT, WAIT]
        while WAIT in row:
            row = [step(run) if x is WAIT else x for run, x in zip(runs, row, strict=True)]
            if any(isinstance(x, Failure) for x in row):
                row = [_forced(world, run) if x is WAIT else x for run, x in zip(runs, row, strict=True)]
                raise _one_failure([x for x in row if isinstance(x, Failure)])
            if WAIT in row:
                yield WAIT
        yield from world.pause()
        if row == [DONE, DONE]:
            yield True
            return
        if DONE in row or not call(equal, *row):
            yield False
            return


def combined_last(world: World, *ups: Opener, prefetch: int) -> Iterator[Any]:
    """Say what the last combination is, which does not depend on who is first."""
    yield from world.pause()
    lanes = [lane(up) for up in ups]
    if any(isinstance(end, Failure) for _, end in lanes):
        if any(end is DONE and not some for some, end in lanes):
            raise UndeterminedError("combine_latest: one input is empty where another fails")
        raise _one_failure([end for _, end in lanes if isinstance(end, Failure)])
    if all(some for some, _ in lanes):
        yield tuple(some[-1] for some, _ in lanes)


def with_latest_from_one(world: World, up: Opener) -> Iterator[Any]:
    for x in up():
        yield x if x is WAIT else (x, 60)


# What comes in an order that is not determined: the inputs as lanes, and what is the same in every order.


def lane(up: Opener) -> tuple[list[Any], Any]:
    """Run to the end and return the elements and the end: DONE or the Failure."""
    some: list[Any] = []
    try:
        run = up()
    except Failure as failure:
        return some, failure
    while True:
        x = step(run)
        if x is DONE or isinstance(x, Failure):
            return some, x
        some.append(x)


def _gathered(world: World, lanes: Callable[[], list[Opener]]) -> Iterator[Any]:
    """Emit the elements of all lanes, sorted, once they are known."""
    yield from world.pause()
    world.lanes += 1
    found = [lane(up) for up in lanes()]
    world.lanes -= 1
    failures = [end for _, end in found if isinstance(end, Failure)]
    if failures:
        raise _one_failure(failures)
    yield from _items(world, InOrder()([x for some, _ in found for x in some]))


def merge_lanes(world: World, *ups: Opener, prefetch: int) -> list[Opener]:
    return list(ups)


def flat_map_lanes(world: World, up: Opener, fn: Any, concurrency: int, prefetch: int) -> list[Opener]:
    return _lane_each(world, up, fn)


def _lane_each(world: World, up: Opener, fn: Any) -> list[Opener]:
    """Return a lane for each element, and one for the end of upstream, which may fail before any of them has."""
    some, end = lane(up)
    lanes: list[Opener] = []
    try:
        lanes.extend(call(fn, x) for x in some)
    except Failure as failure:
        end = failure

    def outer() -> Iterator[Any]:
        if isinstance(end, Failure):
            raise end
        yield from ()

    return [*lanes, outer]


def merged(world: World, *ups: Opener, prefetch: int) -> Iterator[Any]:
    return _gathered(world, lambda: list(ups))


def flat_mapped(world: World, up: Opener, fn: Any, concurrency: int, prefetch: int) -> Iterator[Any]:
    return _gathered(world, lambda: flat_map_lanes(world, up, fn, concurrency, prefetch))


def expanded(world: World, up: Opener, fn: Any, concurrency: int) -> Iterator[Any]:
    return _gathered(world, lambda: _lane_each(world, up, lambda x: partial(expand, world, lambda: iter([x]), fn)))


def joined(world: World, up: Opener, other: Opener, key: Any, how: str) -> Iterator[Any]:
    def pairs() -> Iterator[Any]:
        (left, end), (right, other_end) = lane(up), lane(other)
        needed = [(left, end)] * (how in ("inner", "left")) + [(right, other_end)] * (how in ("inner", "right"))
        if any(not xs and not isinstance(x, Failure) for xs, x in needed) and isinstance(end, Failure) != isinstance(
            other_end, Failure
        ):
            raise UndeterminedError("join: one input is empty, so that no pair can come, and the other fails")
        if failures := [x for x in (end, other_end) if isinstance(x, Failure)]:
            raise _one_failure(failures)
        yield from ((x, y) for x in left for y in right if key(x) == key(y))
        if how in ("left", "outer"):
            yield from ((x, None) for x in left if all(key(x) != key(y) for y in right))
        if how in ("right", "outer"):
            yield from ((None, y) for y in right if all(key(x) != key(y) for x in left))

    return _gathered(world, lambda: [pairs])


def switched_once(world: World, up: Opener, fn: Any) -> Iterator[Any]:
    return concat_map(world, partial(take, world, up, 1), fn)


def windows_listed(world: World, up: Opener, count: int) -> Iterator[Any]:
    return buffer(world, lambda: _ahead(world, up(), MOST), count)


def windows_whole(world: World, up: Opener, count: int) -> Iterator[Any]:
    return _ahead(world, up(), MOST)


def windows_begun(world: World, up: Opener, count: int) -> Iterator[Any]:
    place = 0
    for x in _ahead(world, up(), MOST):
        if x is WAIT or place % count == 0:
            yield x
        place += x is not WAIT


def groups_listed(world: World, up: Opener, key: Any) -> Iterator[Any]:
    def groups() -> Iterator[Any]:
        made: dict[Any, list[Any]] = {}
        for x in up():
            made.setdefault(call(key, x), []).append(x)
        yield from made.items()

    return _gathered(world, lambda: [groups])


def partition_both(world: World, up: Opener, predicate: Any) -> Iterator[Any]:
    return _gathered(world, lambda: [partial(tap, world, up, predicate)])


SHARING: dict[str, Callable[..., Opener]] = {"replay": replay}

OPEN_LANES: dict[str, Callable[..., list[Opener]]] = {"merge": merge_lanes, "flat_map": flat_map_lanes}

MODELS: dict[str, Callable[..., Iterator[Any]]] = {
    "all": all_,
    "any": any_,
    "average": average,
    "buffer": buffer,
    "buffer_timeout": buffer_timeout,
    "buffer_until": buffer_until,
    "buffer_while": buffer_while,
    "cache": same,
    "cast": cast,
    "checked": same,
    "checkpoint": same,
    "combined_last": combined_last,
    "concat": concat,
    "concat_map": concat_map,
    "contains": contains,
    "count": count,
    "default_if_empty": default_if_empty,
    "dematerialize": dematerialize,
    "distinct": distinct,
    "do_finally": same,
    "drop_repeats": drop_repeats,
    "element_at": element_at,
    "end_with": end_with,
    "enumerate": enumerate_,
    "expand": expand,
    "expanded": expanded,
    "filter": filter_,
    "first": first,
    "flat_map": flat_map,
    "flat_mapped": flat_mapped,
    "flatten": flatten,
    "for_each": for_each,
    "groups_listed": groups_listed,
    "ignore_elements": ignore_elements,
    "interleave": interleave,
    "is_empty": is_empty,
    "joined": joined,
    "keep_alive": same,
    "last": last,
    "limit_rate": same,
    "log": same,
    "map": map_,
    "map_async": map_async,
    "map_async_unordered": map_async_unordered,
    "map_batches": map_batches,
    "map_error": map_error,
    "materialize": materialize,
    "max": max_,
    "merge_sorted": merge_sorted,
    "merged": merged,
    "metrics": same,
    "min": min_,
    "observed": same,
    "of_type": of_type,
    "on_backpressure_buffer": unbounded,
    "on_error_complete": on_error_complete,
    "on_error_resume": on_error_resume,
    "on_error_return": on_error_return,
    "pairwise": pairwise,
    "parallel_mapped": parallel_mapped,
    "partition_both": partition_both,
    "partition_first": filter_,
    "partition_second": filter_not,
    "publish_on": publish_on,
    "race_never": same,
    "reduce": reduce,
    "repeat": repeat,
    "retry": retry,
    "scan": scan,
    "sequence_equal": sequence_equal,
    "share": same,
    "single": single,
    "skip": skip,
    "skip_last": skip_last,
    "skip_until_now": same,
    "skip_while": skip_while,
    "sliding": sliding,
    "split_when": split_when,
    "starmap": starmap,
    "start_with": start_with,
    "stateful_map": stateful_map,
    "subscribe_on": same,
    "sum": sum_,
    "switch_if_empty": switch_if_empty,
    "switched_once": switched_once,
    "take": take,
    "take_last": take_last,
    "take_until_never": same,
    "take_while": take_while,
    "tap": tap,
    "throttle": same,
    "timeout": same,
    "to_dict": to_dict,
    "to_list": to_list,
    "to_set": to_set,
    "windows_begun": windows_begun,
    "windows_listed": windows_listed,
    "windows_whole": windows_whole,
    "with_context": same,
    "with_latest_from_one": with_latest_from_one,
    "zip": zip_,
}


class Machine:
    """Run a model: pull an element, or peek whether the end is known without asking."""

    def __init__(self, world: World, chain: Chain) -> None:
        self.world = world
        self._run = opener(world, chain)()
        self.end: Any = None
        self.elements: list[Any] = []

    def pull(self, count: int) -> None:
        """Pull so many elements, or to the end."""
        self.world.asked = True
        for _ in range(count):
            if self.end is None:
                self._take()

    def peek(self) -> None:
        """See the end, if it is known."""
        if self.end is None:
            self.world.asked = False
            self._take()

    def _take(self) -> None:
        x = step(self._run)
        if x is DONE or isinstance(x, Failure):
            self.end = x
        elif x is not WAIT:
            assert self.world.asked, f"a model gave {x!r} unasked"
            self.elements.append(x)
            self.world.spend()


def open_lanes(world: World, chain: Chain) -> list[tuple[list[Any], Any]] | None:
    """Return the lanes of a chain whose last step leaves the order open, or None."""
    if not chain.steps or chain.steps[-1].name not in OPEN_LANES or not chain.steps[-1].options:
        return None
    world.asked = True
    world.lanes = 1
    one = chain.steps[-1]
    up = opener(world, Chain(chain.source, chain.steps[:-1], chain.start))
    arguments = [_argument(world, argument) for argument in one.args]
    lanes = OPEN_LANES[one.name](world, up, *arguments, **dict(one.options))
    return [lane(up) for up in lanes]
