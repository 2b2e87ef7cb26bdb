"""weave_push: the text of a segment as a function that is called with each element.

Where no stage of a segment makes several elements of one, no loop has to be left half-way: behind a joint its elements
can be pushed through a function. For `map(f)`, `filter(p)`, `take(2)`:

    def run(where, last, c0_fn, c1_predicate, c2_count):
        s2_left = c2_count
        def push(v):
            nonlocal s2_left
            try:
                v = c0_fn(v)
                if not c1_predicate(v): return starved
                s2_left -= 1
                if s2_left == 0: last()           # nothing more is read of upstream
                return v
            except Exception as error: ...        # names the stage and the function by the line it happened in
        def tails(gate): ...                      # a generator of what follows when nothing more is read
        def stands(): return {2: s2_left}         # how many elements each stage still takes, or lacks for its next one
        return None, push, tails, stands          # or, as the first of them, the loop that follows here

Where a stage lets no element pass (`count`, `reduce`), nothing is delivered before the end. Then there is a loop over
elements that come together besides, which takes a quarter of the time of as many calls:

        def fold(chunk):
            nonlocal s0_total
            try:
                for v in chunk: s0_total += 1
            except Exception as error: ...
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock.engine.weaving.weave import STEP_IN, Form, Weaver
from penstock.stage import Body


class PushWeaver(Weaver):
    """The writer of a segment as a function of one element."""

    arguments = "where, last"

    def __init__(self, bodies: Sequence[Body], form: Form) -> None:
        super().__init__(bodies, form)
        self.pushing = False
        """Whether a function of elements that come is being written, and not the generator of what follows."""
        self.next_one = self.no_more = "return starved"
        """How that function is done with an element that nothing comes of, and with the last one that is read."""

    @property
    def gated(self) -> bool:
        """Whether there is a gate: what follows is iterated over."""
        return not self.pushing

    def leave(self, ends: list[str], owner: int) -> None:
        """Say that nothing comes of this element, or go on with the next one of a tail."""
        if not self.pushing:
            super().leave(ends, owner)
            return
        if ends:
            self.line(f"if {' or '.join(ends)}: last(); {self.no_more}", owner)
        self.line(self.next_one, owner)

    def stops(self, owner: int) -> None:
        """Say that this element was one too many."""
        if not self.pushing:
            super().stops(owner)
            return
        self.line("last()", owner)
        self.line(self.no_more, owner)

    def changed(self) -> list[str]:
        """Return what the functions may change."""
        return [f"s{index}_{name}" for index, body in enumerate(self.bodies) for name, _ in body.state]

    def push(self) -> None:
        """Write what becomes of an element."""
        self.pushing = True
        ends = self.ends(0)
        for index in range(len(self.bodies)):
            self.statements(index, ends)
            self.passed(index)
        if ends:
            self.line(f"if {' or '.join(ends)}: last()")
        self.emit()
        self.pushing = False

    def fold(self) -> None:
        """Write what becomes of several elements, none of which passes."""
        self.pushing, self.next_one, self.no_more = True, "continue", "return"
        with self.under("for v in chunk:"):
            ends = self.ends(0)
            for index, body in enumerate(self.bodies):
                self.statements(index, ends)
                self.passed(index)
                if _lets_nothing_pass(body):
                    break
        self.pushing = False

    def emit(self) -> None:
        """Give an element to the run."""
        self.line("return v" if self.pushing else "yield v")

    def fails(self) -> None:
        """Write what to raise in the place of an error."""
        self.line("raise fail(None, where, error)")

    def blames(self, write: Callable[[], None]) -> None:
        """Write something whose errors say where they were raised."""
        with self.under("try:"):
            write()
        with self.under("except Exception as error:"):
            self.fails()

    def inside(self, name: str, argument: str, before: Sequence[str], write: Callable[[], None]) -> None:
        """Write a function inside of the whole one, which may change all variables."""
        with self.under(f"def {name}({argument}):"):
            changed = self.changed()
            if changed:
                self.line(f"nonlocal {', '.join(changed)}")
            for text in before:
                self.line(text)
            self.blames(write)

    def functions(self) -> None:
        """Write the functions of one element."""
        self.inside("push", "v", [], self.push)

    def tails(self) -> None:
        """Write what follows when nothing more is read."""
        self.line("")  # the place, once its loops are known
        place = len(self.lines) - 1
        super().tails()
        self.line("yield from ()")
        self.lines[place] = f"{STEP_IN * self.depth}place = gate.place({self.slots})"

    def variables(self) -> None:
        """Write what the variables of the stages begin with, if there are any."""
        self.line("pass")
        super().variables()

    def function(self) -> None:
        """Write what stands in the function."""
        self.blames(self.variables)
        self.begin()
        self.functions()
        folds = any(map(_lets_nothing_pass, self.bodies))
        if folds:
            self.inside("fold", "chunk", [], self.fold)
        self.inside("tails", "gate", [], self.tails)
        self.line(f"return {'fold' if folds else None}, push, tails, {self.stands()}")


def _lets_nothing_pass(body: Body) -> bool:
    """Tell whether a stage makes nothing of an element before the end."""
    return body.each is None and body.lines[-1:] == ((0, "skip"),)
