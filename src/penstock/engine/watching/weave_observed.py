"""weave_observed: the text of a loop that a listener sees.

It is the loop of `weaving/weave.py` with as little more as possible, since most elements must not pay for being seen.

Counts. An element is only counted where its number changes: what comes from the source is counted by the source itself
or by `compress`, which takes one tick of a tally for each element and is not written in Python; a stage that drops an
element takes a tick as well (`for _ in tally: break`, which is faster than to add one to a variable that others read),
and what a stage adds (`each`, `head`, `tail`) takes ticks of its tally. How many each stage has delivered follows from
these. Tallies are read at any time and from any thread.

Time. The loop is written twice, once as it is and once with the clock read around every stage, and one element now and
then takes the second way: the first of all, and from then on one every so often (`SampledElements.pace`). Where the
source is iterated, the others are taken in pieces by `islice`, so that no element has to be asked whether it is the
one:

    while True:
        for v in islice(lane.feed, lane.pace()):
            ...                               # as it is
        else:
            t = lane.turn()
            if t is None: break               # the source had less than a whole piece
            v = next(lane.feed, end)
            if v is end: break
            ...                               # with the clock read
            continue
        break                                 # a stage has ended

Inside such a piece and behind it `continue` and `break` mean the same to what is written between. Where elements come
by themselves, from an asynchronous source, from a queue or as calls, each takes a tick until the next is due.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.engine.weaving.weave import CleanWeaver, Form, Weaver
from penstock.engine.weaving.weave_push import PushWeaver
from penstock.stage import Body


class _CountingWeaver(Weaver):
    """The writer of what is the same for loops and for functions: counters, and the clock around every stage."""

    def __init__(self, bodies: Sequence[Body], form: Form) -> None:
        super().__init__(bodies, form)
        self.drops = [index for index, body in enumerate(bodies) if body.drops and not body.drops_all]
        self.adds = [index for index, body in enumerate(bodies) if body.each or body.head or body.tail]
        self.counts_down = form in {"async", "fed", "push"}
        self.timed = False

    def begin(self) -> None:
        """Give the meter what it reads."""
        for index in self.adds:
            self.line(f"tally{index} = meter.adds[{index}]")
        for index in self.drops:
            self.line(f"drops{index} = meter.drops[{index}]")
        if self.counts_down:
            self.line("left = ()")
        for name in ("clock", "spent", "timed"):
            self.line(f"{name} = meter.{name}")
        keeps = [index for index, body in enumerate(self.bodies) if any(name == "items" for name, _ in body.state)]
        held = f"lambda: ({''.join(f'({index}, len(s{index}_items)), ' for index in keeps)})"
        self.line(f"meter.begin({held})")

    def left_out(self, index: int) -> None:
        """Count the element, and the time it took."""
        if index in self.drops:
            self.line(f"for _ in drops{index}: break", index)
        self.passed(index)

    def passed(self, index: int) -> None:
        """Note the time that the stage took."""
        if self.timed:
            self.line(f"{self.took(index + 1)}; t = clock()", index)

    def took(self, place: int) -> str:
        """Return what notes the time since `t`."""
        return f"spent[{place}] += clock() - t; timed[{place}] += 1"


class ObservedWeaver(_CountingWeaver):
    """The writer of a loop that counts and keeps the time."""

    most_loops = 4  # each takes three nested blocks here, and CPython refuses more than 20
    arguments = "open_source, gate, where, meter"

    def __init__(self, bodies: Sequence[Body], form: Form) -> None:
        super().__init__(bodies, form)
        self.nested = 0

    def leave(self, ends: list[str], owner: int) -> None:
        """Begin to wait for the next element, where that is timed."""
        if self.timed and self.form == "async" and not self.nested:
            self.line("p = clock()", owner)
        super().leave(ends, owner)

    def both(self, first_end: int, owner: int = -1) -> None:
        """Write the loop over the lane of a stage, or of the source, that takes the time of an element now and then."""
        lane, first, timed = f"lane{owner + 1}", owner + 1, self.timed
        pulled = len(self.bodies) + 2 + owner
        with self.under("while True:", owner):
            with self.under(f"for v in islice({lane}.feed, {lane}.pace()):", owner):
                self.looks(owner)
                self.timed = False
                self.elements(first, first_end)
            with self.under("else:", owner):
                self.line(f"t = {lane}.turn()", owner)
                self.line("if t is None: break", owner)
                self.line(f"v = next({lane}.feed, end)", owner)
                self.line(f"spent[{pulled}] += clock() - t", owner)  # also what it takes to find the end
                self.line("if v is end: break", owner)
                self.line(f"timed[{pulled}] += 1", owner)
                self.looks(owner)
                self.line("t = clock()", owner)
                self.timed = True
                self.elements(first, first_end)
                self.timed = timed
                self.line("continue", owner)
            self.line("break", owner)

    def emit(self) -> None:
        """Give an element to the code that iterates; where the clock is read, take the time until the next request."""
        if not self.timed or self.form != "sync":
            super().emit()
            return
        self.line("gate.rested = False")
        self.line("t = clock()")
        self.line("yield v")
        self.line(f"if not gate.rested: {self.took(2 * len(self.bodies) + 2)}")

    def loop(self, items: str, index: int, first_end: int) -> None:
        """Write the loop over what a stage adds; inside a loop that is written as it is, so is this one."""
        self.nested += 1
        if self.inner and not self.timed:
            super().loop(f"compress({items}, tally{index})", index, first_end)
        else:
            self.line("t = clock()", index)
            self.line(f"lane{index + 1} = meter.lane({index}, {items})", index)
            self.line(f"meter.more[{index}] += clock() - t", index)
            self.both(first_end, index)
        self.nested -= 1

    def source(self) -> None:
        """Write the loop over the source, in pieces or counting down."""
        if not self.counts_down:
            self.line("lane0 = meter.source(source)")
            self.both(0)
            return
        if self.form == "async":
            self.line("p = clock()")
        super().source()

    def came(self) -> None:
        """Take the second way with one element now and then, where elements are counted down."""
        super().came()
        waits = self.form == "async"
        self.line("for _ in left: break")
        with self.under("else:"):
            self.line(f"left = meter.turn({'p' if waits else ''})")
            if waits:
                self.line("p = None")
            self.looks()
            self.line("t = clock()")
            self.timed = True
            self.elements(0, 0)
            self.timed = False
            if waits:
                self.line("p = clock()")
            self.line("continue")

    def last_follows(self) -> None:
        """Say that it counts as whole from here on, even if the end is never looked for."""
        self.line("meter.whole = True")
        super().last_follows()

    def end(self) -> None:
        """Say that everything has come."""
        self.line("meter.whole = True")

    def blamed(self, error: str) -> str:
        """Note the error of the loop."""
        return f"meter.failed({error}, error, where)"

    def closes(self, closing: str) -> None:
        """Say that the loop is over."""
        with self.under("try:"):
            self.line(closing)
        with self.under("finally:"):
            self.line("meter.end()")


class CleanObservedWeaver(ObservedWeaver, CleanWeaver):
    """The writer of such a loop over a source in which there is no None."""


class ObservedPushWeaver(_CountingWeaver, PushWeaver):
    """The writer of a function of one element that counts, and of another one that keeps the time as well."""

    arguments = "where, last, meter, failed"

    def left_out(self, index: int) -> None:
        """Know that nothing comes of the element whose time is taken."""
        super().left_out(index)
        if self.timed:
            self.line("meter.dropped()", index)

    def changed(self) -> list[str]:
        """Return what the functions may change."""
        return ["left", *super().changed()]

    def emit(self) -> None:
        """Know that the element whose time is taken is about to be delivered."""
        if self.timed:
            self.line("meter.passing()")
        super().emit()

    def fails(self) -> None:
        """Note where it failed; one name stands for all that is needed, since every call takes its names along."""
        self.line("raise failed(error)")

    def functions(self) -> None:
        """Write the function that keeps the time before the one that counts, and one for elements that are counted."""
        self.timed = True
        self.inside("push_timed", "v", ["left = meter.turn()", "t = clock()"], self.push)
        self.timed = False
        self.inside("push", "v", ["for _ in left: break", "else: return push_timed(v)"], self.push)
        self.inside("push_many", "v", [], self.push)
        self.line("meter.push_many = push_many")

    def loop(self, items: str, index: int, first_end: int) -> None:
        """Count what a stage adds."""
        super().loop(f"compress({items}, tally{index})", index, first_end)

    def tails(self) -> None:
        """Say that everything has come."""
        self.line("meter.whole = True")
        super().tails()
