"""weave: turn a run of stages into the text of one loop.

The text is a generator function. Its shape, for `map(f)`, `filter(p)`, `take(2)` over an iterable:

    def run(open_source, gate, where, c2_count, c0_fn, c1_predicate):
        source, stopped = None, False
        try:
            s2_left = c2_count
            source = open_source(gate)
            for v in source:
                v = c0_fn(v)
                if not c1_predicate(v):
                    if gate.over: raise left_loop  # cancelled: a run that rejects everything must stop too
                    continue
                s2_left -= 1
                if s2_left == 0:
                    place.finished()          # lets the drain loop complete with this very element
                    yield v
                    stopped = True
                    break
                yield v
        except Exception as error: ...         # names the stage and the function by the line it happened in
        except BaseException: stopped = True   # on cancel
        finally: (leave if stopped else close)(source)  # on completion, on error and on cancel

Five forms come from the same bodies. `sync` iterates; `free` does too, for callers that end a run by closing it and
need no gate; `async` iterates asynchronously; `fed` iterates over a queue that says STARVED when it is empty: the loop
passes that word on and is resumed when there is more; `push` is a function that is called with each element
(`weave_push.py`).

Invariants: a `stop` or an `ends` only ever leaves the outermost loop, so a stage that has them begins a new piece when
loops are nested; the text depends on the bodies alone, never on a stage's values, so it is compiled once per shape.
"""

from __future__ import annotations

import linecache
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from itertools import count
from typing import Any, Literal

from penstock.engine.weaving.pieces import MOST_LOOPS, pieces
from penstock.stage import Body
from penstock.stage.grammar import PLACEHOLDER

Form = Literal["sync", "free", "async", "fed", "push"]

MOST_PLANS = 2000

STEP_IN = "    "


@dataclass(frozen=True, eq=False)
class WovenLoop:
    """A compiled loop: its function, which stage wrote each line, and which fields it takes."""

    function: Callable[..., Any]
    first: int
    stop: int
    owners: tuple[int, ...]
    fields: tuple[tuple[int, str], ...]


class Weaver:
    """The writer of one loop's lines; what `watching/weave_observed.py` adds to them has separate methods here."""

    most_loops = MOST_LOOPS
    arguments = "open_source, gate, where"

    def __init__(self, bodies: Sequence[Body], form: Form) -> None:
        self.bodies = bodies
        self.form = form
        self.lines: list[str] = []
        self.owners: list[int] = []
        self.fields: dict[tuple[int, str], str] = {}
        self.inner: list[str] = []
        self.slots = 0
        self.depth = 0

    def line(self, text: str, owner: int = -1) -> None:
        self.lines.append(STEP_IN * self.depth + text)
        self.owners.append(owner)

    @contextmanager
    def under(self, text: str, owner: int = -1) -> Iterator[None]:
        """Write a line, and under it what is written inside of the block."""
        self.line(text, owner)
        self.depth += 1
        yield
        self.depth -= 1

    def unless(self, ends: list[str], owner: int = -1) -> AbstractContextManager[None]:
        """Write what is written inside of the block for the case that no stage has ended yet."""
        return self.under(f"if not ({' or '.join(ends)}):", owner) if ends else nullcontext()

    def name(self, index: int, field: str) -> str:
        if any(field == variable for variable, _ in self.bodies[index].state):
            return f"s{index}_{field}"
        return self.fields.setdefault((index, field), f"c{index}_{field}")

    def fill(self, index: int, text: str) -> str:
        return PLACEHOLDER.sub(lambda found: self.name(index, found[1]), text)

    def ends(self, first: int) -> list[str]:
        """Return the conditions of the stages from `first` on, after which the outermost loop is over."""
        return [
            self.fill(index, body.ends)
            for index, body in enumerate(self.bodies)
            if index >= first and body.ends is not None
        ]

    def leave(self, ends: list[str], owner: int) -> None:
        """Go on with the next element, or leave the loop where a stage has ended or the run was cancelled."""
        if ends:
            self.line(f"if {' or '.join(ends)}: stopped = True; break", owner)
        if self.gated:
            self.line("if gate.over: raise left_loop", owner)
        self.line("continue", owner)

    def statements(self, index: int, ends: list[str]) -> None:
        """Write the `do` of one stage."""
        own = self.bodies[index].ends
        others = ends if own is None else [each for each in ends if each != self.fill(index, own)]
        start = self.depth
        for depth, text in self.bodies[index].lines:
            self.depth = start + depth
            if text == "skip":
                self.left_out(index)
                self.leave(others, index)
            elif text == "stop":
                self.left_out(index)
                self.stops(index)
            else:
                self.line("raise no_element()" if text == "none" else self.fill(index, text), index)
        self.depth = start

    def stops(self, owner: int) -> None:
        """Leave the loop, and with it the source, which may have more."""
        self.line("stopped = True", owner)
        self.line("break", owner)

    def left_out(self, index: int) -> None:
        """Write what is to be done when a stage drops the element."""

    def passed(self, index: int) -> None:
        """Write what is to be done when a stage is done with the element."""

    @property
    def gated(self) -> bool:
        """Whether the run asks at its gate what is left to read."""
        return self.form not in {"free", "push"}

    @property
    def placed(self) -> bool:
        """Whether the loop has anything to say there: it may end, or be in the middle of what a stage adds."""
        adds = (body.ends or body.each or body.head or body.tail for body in self.bodies)
        return self.gated and any(adds)

    def slot(self) -> str:
        """Return where the loop says which iterator it is in the middle of."""
        self.slots += 1
        return f"place.inners[{self.slots - 1}]"

    def last_follows(self) -> None:
        """Say that nothing more is read of upstream."""
        if self.placed:
            self.line("place.finished()")
        elif self.gated:
            self.line("gate.finish()")

    def elements(self, first: int, first_end: int) -> None:
        """Write what happens to one element `v` from stage `first` on; `first_end` is -1 inside nested loops."""
        ends = self.ends(first_end) if first_end >= 0 else []
        for index in range(first, len(self.bodies)):
            body = self.bodies[index]
            self.statements(index, ends)
            if body.each is None:
                self.passed(index)
            else:
                inner = f"inner{index}"
                self.line(f"{inner} = {self.fill(index, body.each)}", index)
                if self.gated:
                    slot = self.slot()
                    self.line(f"if type({inner}) in plain: {slot} = {inner} = iter({inner})", index)
                    self.line(f"else: {inner}, {slot} = items_of({inner}, gate)", index)
                    if ends:  # where upstream signals, it is cancelled before what comes of its last element
                        leave = "; gate.leave()" if self.form == "fed" else ""
                        self.line(f"if {' or '.join(ends)}: place.done = True{leave}", index)
                else:
                    self.line(f"if type({inner}) not in plain: {inner} = items_of({inner}, gate)[0]", index)
                self.passed(index)
                with self.under("try:", index):
                    self.inner.append(inner)
                    self.loop(inner, index, -1)
                    self.inner.pop()
                # An iterator that is exhausted has closed itself; on an error or a cancel the loop has to close it.
                with self.under("except BaseException:", index):
                    self.line(f"close_inner({inner})", index)
                    self.line("raise", index)
                self.leave(ends, index)
                return
        if ends:
            with self.under(f"if {' or '.join(ends)}:"):
                self.last_follows()
                self.line("yield v")
                self.stops(-1)
        self.emit()

    def emit(self) -> None:
        """Give an element to the code that iterates."""
        self.line("yield v")

    def loop(self, items: str, index: int, first_end: int) -> None:
        """Write the loop over items that stage `index` adds, from the next stage on."""
        with self.under(f"for v in {items}:", index):
            self.looks(index)
            self.elements(index + 1, first_end)

    def behind(self) -> None:
        """Let go of the source, of which nothing more is read, before what follows it."""
        wait = "await " if self.form == "async" else ""
        if self.form == "fed":
            self.line("gate.leave()")
        elif any(body.tail is not None for body in self.bodies) and self.ends(0):
            self.line("behind, source = source, None")
            self.line(f"if behind is not None: {wait}(leave if stopped else close)(behind)")

    def heads(self) -> None:
        """Write what comes before upstream is opened: that of the last stage is the first to be emitted."""
        for index in reversed(range(len(self.bodies))):
            self.items(index, self.bodies[index].head)

    def tails(self) -> None:
        """Write what follows when upstream has completed, stage by stage."""
        self.last_follows()  # upstream is used up, so the end may be looked for without demand
        for index, body in enumerate(self.bodies):
            self.items(index, body.tail)

    def items(self, index: int, items: str | None) -> None:
        """Write what happens to the items that a stage adds itself, from the next stage on."""
        if items is None:
            return
        ends = self.ends(index + 1)
        with self.unless(ends, index):
            filled = self.fill(index, items)
            slot = self.slot() if self.gated else None
            if slot:
                self.line(f"items = {slot} = iter({filled})", index)
                filled = "items"
            self.loop(filled, index, index + 1)
            if slot and ends:  # a stage that has enough leaves what is left of them
                self.line(f"{slot} = None", index)

    def variables(self) -> None:
        """Write what the variables of the stages begin with."""
        for index, body in enumerate(self.bodies):
            for variable, initial in body.state:
                self.line(f"s{index}_{variable} = {self.fill(index, initial)}", index)

    def begin(self) -> None:
        """Write what comes before everything else, once the stages have their variables."""

    def stands(self) -> str:
        """Return what tells how many elements each stage still takes, or lacks for its next one."""
        counts = [(index, body.room or body.lacks) for index, body in enumerate(self.bodies)]
        return f"lambda: {{{', '.join(f'{index}: {self.fill(index, count)}' for index, count in counts if count)}}}"

    def source(self) -> None:
        """Write the loop over the source."""
        with self.under("async for v in source:" if self.form == "async" else "for v in source:"):
            self.came()
            self.looks()
            self.elements(0, 0)

    def looks(self, owner: int = -1) -> None:
        """Look for None, in the source or in what a stage adds."""
        self.line("if v is None: raise no_element()", owner)

    def came(self) -> None:
        """Write what is done first with what the source gives: the word of an empty queue is passed on."""
        if self.form == "fed":
            with self.under("if v is starved:"):
                self.line("yield v")
                self.line("continue")

    def end(self) -> None:
        """Write what comes when everything has come."""

    def leaves(self) -> None:
        """Write how the function is left: with an error that says where, and with the source closed.

        What closing raises fails a run whose source is used up. One that was left, by a stage or by who iterates, is
        over already, and what leaves it is not replaced: the hook is told.
        """
        wait = "await " if self.form == "async" else ""
        with self.under("except Exception as error:"):
            self.line("failed, source = source, None")
            self.line(f"raise {self.blamed(f'{wait}fail(failed, where, error)')}")
        with self.under("except BaseException:"):
            self.line("stopped = True")
            self.line("raise")
        with self.under("finally:"):
            self.closes(f"if source is not None: {wait}(leave if stopped else close)(source)")

    def blamed(self, error: str) -> str:
        """Return what to raise for an error that says where it was raised."""
        return error

    def closes(self, closing: str) -> None:
        """Write what is done behind everything else."""
        self.line(closing)

    def function(self) -> None:
        """Write what stands in the function."""
        self.line("source, stopped = None, False")
        with self.under("try:"):
            place = len(self.lines)
            if self.placed:
                self.line("")  # the place, once its loops are known
            self.variables()
            if self.form == "fed" and any(body.room or body.lacks for body in self.bodies):
                self.line(f"gate.stands.append((where[1].first, {self.stands()}))")
            self.begin()
            self.heads()
            with self.unless(self.ends(0)):
                self.line("source = open_source(gate)")
                if self.gated:
                    self.line("gate.opened(source)")
                self.source()
            self.behind()
            self.tails()
            self.end()
        self.leaves()
        if self.placed:
            self.lines[place] = f"{2 * STEP_IN}place = gate.place({self.slots})"

    def write(self) -> str:
        """Write the whole function and return its text."""
        with self.under(""):  # the signature, once the fields are known
            self.function()
        names = "".join(f", {name}" for name in self.fields.values())
        start = "async def" if self.form == "async" else "def"
        self.lines[0] = f"{start} run({self.arguments}{names}):"
        return "\n".join(self.lines)


class CleanWeaver(Weaver):
    """The writer of a loop over a source in which there is no None."""

    def looks(self, owner: int = -1) -> None:
        """Look for None in what a stage adds alone."""
        if owner >= 0:
            super().looks(owner)


_numbers = count()
_plans: dict[tuple[Form, tuple[Body, ...], type[Weaver]], tuple[WovenLoop, ...]] = {}


def loops_for(
    bodies: tuple[Body, ...], form: Form, surroundings: dict[str, Any], weaver: type[Weaver] = Weaver
) -> tuple[WovenLoop, ...]:
    """Return the compiled loops for these bodies, one feeding the next, writing them when they are new."""
    found = _plans.get((form, bodies, weaver))
    if found is None:
        if len(_plans) >= MOST_PLANS:
            _plans.clear()  # shapes are few, unless a program makes them up at random
        found = tuple(
            _compile(weaver(bodies[start:stop], form), surroundings, start)
            for start, stop in pieces(bodies, weaver.most_loops)
        )
        _plans[form, bodies, weaver] = found
    return found


def _compile(weaver: Weaver, surroundings: dict[str, Any], first: int) -> WovenLoop:
    text = weaver.write()
    scope = dict(surroundings)
    name = f"<penstock {weaver.form} loop {next(_numbers)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)  # tracebacks show the line
    exec(compile(text, name, "exec"), scope)  # noqa: S102  our own text: bodies are constants of the program
    function = scope.pop("run")  # whose globals these are: neither keeps the other alive
    weakref.finalize(function.__code__, linecache.cache.pop, name, None).atexit = False
    owners = tuple(owner + first if owner >= 0 else -1 for owner in weaver.owners)
    fields = tuple((index + first, field) for index, field in weaver.fields)
    return WovenLoop(function, first, first + len(weaver.bodies), owners, fields)
