"""weave: turn a run of stages into the text of one loop.

The text is a generator function. Its shape, for `map(f)`, `filter(p)`, `take(2)` over an iterable:

    def run(open_source, gate, where, c2_count, c0_fn, c1_predicate):
        source = None
        try:
            s2_left = c2_count
            source = open_source(gate)
            for v in source:
                v = c0_fn(v)
                if not c1_predicate(v):
                    if gate.over: return       # cancelled: a run that rejects everything must stop too
                    continue
                s2_left -= 1
                if s2_left == 0:
                    gate.final = True         # lets the drain loop complete with this very element
                    yield v
                    break
                yield v
        except Exception as error: ...         # names the stage and the function by the line it happened in
        finally: close(source)                 # on completion, on error and on cancel

Four forms come from the same bodies. `sync` iterates; `free` does too, for those who end a run by closing it and need
no gate; `async` iterates asynchronously; `fed` iterates over a queue that says STARVED when it is empty: the loop
passes that word on and is resumed when there is more.

Invariants: a `stop` or an `ends` only ever leaves the outermost loop, so a stage that has them begins a new piece when
loops are nested; the text depends on the bodies alone, never on a stage's values, so it is compiled once per shape.
"""

from __future__ import annotations

import linecache
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Literal

from penstock.stage import Body

Form = Literal["sync", "free", "async", "fed"]

MOST_STAGES = 250  # keeps one function's text and arguments within reason
MOST_LOOPS = 8  # CPython refuses more than 20 nested blocks
MOST_PLANS = 2000
MOST_TAILS = 4  # each tail repeats the text of all stages after it

_WORD = re.compile(r"^(\s*)(?:(.*:)\s+)?(skip|stop|none)$")
_FIELD = re.compile(r"\{(\w+)\}")
_STEP_IN = "    "


@dataclass(frozen=True, eq=False)
class Loop:
    """Be a compiled loop: its function, which stage wrote each line, and which fields it takes."""

    function: Callable[..., Any]
    first: int
    owners: tuple[int, ...]
    fields: tuple[tuple[int, str], ...]


class _Weaver:
    """Write the lines of one loop."""

    def __init__(self, bodies: Sequence[Body], form: Form) -> None:
        self.bodies = bodies
        self.form = form
        self.lines: list[str] = []
        self.owners: list[int] = []
        self.fields: dict[tuple[int, str], str] = {}
        self.inner: list[str] = []
        self.depth = 0

    def line(self, text: str, owner: int = -1) -> None:
        self.lines.append(_STEP_IN * self.depth + text)
        self.owners.append(owner)

    def name(self, index: int, field: str) -> str:
        if any(field == variable for variable, _ in self.bodies[index].state):
            return f"s{index}_{field}"
        return self.fields.setdefault((index, field), f"c{index}_{field}")

    def fill(self, index: int, text: str) -> str:
        return _FIELD.sub(lambda found: self.name(index, found[1]), text)

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
            self.line(f"if {' or '.join(ends)}: break", owner)
        if self.form != "free":
            closing = "".join(f"close_inner({inner}); " for inner in reversed(self.inner))
            self.line(f"if gate.over: {closing}return", owner)
        self.line("continue", owner)

    def statements(self, index: int, ends: list[str]) -> None:
        """Write the `do` of one stage."""
        for raw in self.fill(index, self.bodies[index].do).splitlines():
            found = _WORD.match(raw)
            if found is None:
                self.line(raw, index)
                continue
            indent, condition, word = found.groups()
            start = self.depth
            self.depth += len(indent) // 4
            if condition:
                self.line(condition, index)
                self.depth += 1
            if word == "skip":
                self.leave(ends, index)
            elif word == "stop":
                self.line("break", index)
            else:
                self.line("raise no_element()", index)
            self.depth = start

    def last_follows(self) -> None:
        """Say that the end may be looked for without demand after the next element."""
        if self.form != "free":
            self.line("gate.final = True")

    def elements(self, first: int, first_end: int) -> None:
        """Write what happens to one element `v` from stage `first` on; `first_end` is -1 inside nested loops."""
        ends = self.ends(first_end) if first_end >= 0 else []
        for index in range(first, len(self.bodies)):
            body = self.bodies[index]
            if body.do:
                self.statements(index, ends)
            if body.each is not None:
                inner = f"inner{index}"
                self.line(f"{inner} = items_of({self.fill(index, body.each)}, gate)", index)
                self.line("try:", index)
                self.depth += 1
                self.line(f"for v in {inner}:", index)
                self.depth += 1
                self.line("if v is None: raise no_element()", index)
                self.inner.append(inner)
                self.elements(index + 1, -1)
                self.inner.pop()
                self.depth -= 2
                # An iterator that is exhausted has closed itself; on an error or a cancel somebody has to close it.
                self.line("except BaseException:", index)
                self.line(f"{_STEP_IN}close_inner({inner})", index)
                self.line(f"{_STEP_IN}raise", index)
                self.leave(ends, index)
                return
        if ends:
            self.line(f"if {' or '.join(ends)}:")
            self.depth += 1
            self.last_follows()
            self.line("yield v")
            self.line("break")
            self.depth -= 1
        self.line("yield v")

    def tails(self) -> None:
        """Write what follows when upstream has completed, stage by stage."""
        if any(body.tail is not None for body in self.bodies):
            self.last_follows()  # upstream is used up, so the end may be looked for without demand
        for index, body in enumerate(self.bodies):
            if body.tail is None:
                continue
            ends = self.ends(index + 1)
            if ends:
                self.line(f"if not ({' or '.join(ends)}):", index)
                self.depth += 1
            self.line(f"for v in {self.fill(index, body.tail)}:", index)
            self.depth += 1
            self.line("if v is None: raise no_element()", index)
            self.elements(index + 1, index + 1)
            self.depth -= 2 if ends else 1

    def write(self) -> str:
        """Write the whole function and return its text."""
        self.line("")  # the signature, once the fields are known
        self.depth = 1
        self.line("source = None")
        self.line("try:")
        self.depth += 1
        for index, body in enumerate(self.bodies):
            for variable, initial in body.state:
                self.line(f"s{index}_{variable} = {self.fill(index, initial)}", index)
        ends = self.ends(0)
        if ends:
            self.line(f"if not ({' or '.join(ends)}):")
            self.depth += 1
        self.line("source = open_source(gate)")
        self.line("async for v in source:" if self.form == "async" else "for v in source:")
        self.depth += 1
        if self.form == "fed":
            self.line("if v is starved:")
            self.line(f"{_STEP_IN}yield v")
            self.line(f"{_STEP_IN}continue")
        self.line("if v is None: raise no_element()")
        self.elements(0, 0)
        self.depth -= 2 if ends else 1
        self.tails()
        self.depth = 1
        self.line("except Exception as error:")
        wait = "await " if self.form == "async" else ""
        self.line(f"{_STEP_IN}failed, source = source, None")
        self.line(f"{_STEP_IN}raise {wait}fail(failed, where, error)")
        self.line("finally:")
        self.line(f"{_STEP_IN}if source is not None: {wait}close(source)")
        names = "".join(f", {name}" for name in self.fields.values())
        start = "async def" if self.form == "async" else "def"
        self.lines[0] = f"{start} run(open_source, gate, where{names}):"
        return "\n".join(self.lines)


_numbers = count()
_plans: dict[tuple[Form, tuple[Body, ...]], tuple[Loop, ...]] = {}


def loops_for(bodies: tuple[Body, ...], form: Form, surroundings: dict[str, Any]) -> tuple[Loop, ...]:
    """Return the compiled loops for these bodies, one feeding the next, writing them when they are new."""
    found = _plans.get((form, bodies))
    if found is None:
        if len(_plans) >= MOST_PLANS:
            _plans.clear()  # shapes are few, unless a program makes them up at random
        found = tuple(_compile(bodies[start:stop], form, surroundings, start) for start, stop in pieces(bodies))
        _plans[form, bodies] = found
    return found


def _compile(bodies: tuple[Body, ...], form: Form, surroundings: dict[str, Any], first: int) -> Loop:
    weaver = _Weaver(bodies, form)
    text = weaver.write()
    scope = dict(surroundings)
    name = f"<penstock {form} loop {next(_numbers)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)  # tracebacks show the line
    exec(compile(text, name, "exec"), scope)  # noqa: S102  our own text: bodies are constants of the program
    owners = tuple(owner + first if owner >= 0 else -1 for owner in weaver.owners)
    fields = tuple((index + first, field) for index, field in weaver.fields)
    return Loop(scope["run"], first, owners, fields)


def pieces(bodies: Sequence[Body]) -> list[tuple[int, int]]:
    """Cut a run of bodies into ranges that each fit into one loop."""
    cuts: list[tuple[int, int]] = []
    start = loops = tails = 0
    for index, body in enumerate(bodies):
        too_deep = body.each is not None and loops == MOST_LOOPS
        leaves_nested = body.ends is not None and loops > 0
        # A tail is written after the outermost loop, where an inner loop's variables would repeat it.
        if too_deep or leaves_nested or index - start == MOST_STAGES or (body.tail is not None and tails == MOST_TAILS):
            cuts.append((start, index))
            start, loops, tails = index, 0, 0
        loops += body.each is not None
        tails += body.tail is not None
    cuts.append((start, len(bodies)))
    return cuts
