"""body: what a synchronous step does to one element, as lines for the fused loop.

A body is text, because the engine joins the bodies of adjacent stages into one loop: as a plain generator, as an
asynchronous generator, as a generator that is fed by signals, or as a function that is called with each element. An
iterator transformation could serve only the first of them. In the lines `v` is the element. `{name}` is a field of the
stage or a variable of the body's `state`, in which `items` is where a stage keeps elements: those who listen see how
many. Three words stand for what only the loop knows:

- `skip` drops the element and goes on with the next one; the body's own `ends` must be false by then;
- `stop` ends the stream; the body's `ends` must be true by then;
- `none` fails because `v` is None, which is not an element (rule 2.13).

A text is read when its body is made, and refused with a ValueError unless it keeps these rules:

- A word is a statement by itself, on a line or after `if …:` or `else:`, and not inside a loop of the body, where it
  would mean that loop. `stop` needs `ends`.
- Only `v` and variables of the state are assigned: everything else in the loop belongs to the engine or to other
  stages. Variables are set in order, each from those before it.
- The names it knows are `v`, Python's builtins, `deque`, and those in braces. Only `do` and `each` have a `v`.
- Braces with a name in them are a placeholder, so there are neither sets in braces nor f-strings. A placeholder is a
  variable: not part of a string, of an attribute or of a keyword.
- There is no `return`, `yield`, `await`, `import`, `global`, `def`, `lambda`, `match`, `finally` or `except … as`, no
  `break` or `continue` but for loops of the body, and of `del` only what takes items out. A method of the stage can do
  all that.
- Indents are as Python has them, and comments do no harm; every text but `do` is an expression on one line.

What it names and is not in its state must be an attribute of the stage: a class whose `loop` or `loops` name something
else is refused when it is defined.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from penstock.stage.grammar import BodyReading, leaves


@dataclass(frozen=True, eq=False)
class Body:
    """The lines of one stage; equal only to itself, so that compiled loops are found by identity."""

    do: str = ""
    state: tuple[tuple[str, str], ...] = ()
    head: str | None = None
    """An expression: its items come first, before upstream is opened."""
    each: str | None = None
    """An expression: what follows runs for each of its items."""
    ends: str | None = None
    """A condition: once true, no further element is asked of upstream."""
    room: str | None = None
    """An expression: how many elements of upstream it will still take, where it counts them."""
    lacks: str | None = None
    """An expression: how many more elements of upstream its next one takes, where it counts them."""
    tail: str | None = None
    """An expression: its items follow when upstream has completed."""

    # What follows from the texts.
    fields: tuple[str, ...] = field(init=False, repr=False)
    """The attributes of the stage that are named in them."""
    drops: bool = field(init=False, repr=False)
    """Whether an element may be dropped."""
    drops_all: bool = field(init=False, repr=False)
    """Whether nothing gets through before the end."""
    calls_first: bool = field(init=False, repr=False)
    """Whether something of the stage's is called when a run begins."""
    lines: tuple[tuple[int, str], ...] = field(init=False, repr=False)
    """The lines of `do`, each with its depth; a word is a separate line."""

    def __post_init__(self) -> None:
        variables: list[str] = []
        readings: list[BodyReading] = []
        self._refuse_types()
        for name, initial in self.state:
            if name == "v" or not name.isidentifier() or name in variables:
                raise ValueError(f"Body: state {name!r}: a variable must have a name that is not taken")
            readings.append(BodyReading(f"state {name!r}", initial, variables).expression())
            variables.append(name)
            if any(early in dict(self.state) for early in readings[-1].fields):
                raise ValueError(f"Body: state {name!r}: {initial!r}: a variable is set from those before it alone")
        calls_first = any(reading.calls for reading in readings)
        do = BodyReading("do", self.do, variables, element=True)
        statements = do.statements()
        if "stop" in do.words and self.ends is None:
            raise ValueError("Body: do: stop needs `ends`, a condition that is true by then")
        readings.append(do)
        for part in ("head", "each", "ends", "room", "lacks", "tail"):
            text: str | None = getattr(self, part)
            if text is not None:
                readings.append(BodyReading(part, text, variables, element=part == "each").expression())
        vars(self).update(  # a frozen dataclass has no other way
            fields=tuple(dict.fromkeys(name for reading in readings for name in reading.fields)),
            drops=not do.words.isdisjoint({"skip", "stop"}),
            drops_all=leaves(statements),
            calls_first=calls_first,
            lines=_lines_of(statements),
        )

    def _refuse_types(self) -> None:
        for part in ("do", "head", "each", "ends", "room", "lacks", "tail"):
            text: object = getattr(self, part)
            if not isinstance(text, str) and (text is not None or part == "do"):
                raise TypeError(f"Body: {part} must be a text, got {text!r}")
        if not isinstance(self.state, tuple) or not all(map(_is_variable, self.state)):
            raise TypeError(f'Body: state must be pairs of texts, as (("count", "0"),), got {self.state!r}')


def _is_variable(pair: object) -> bool:
    return isinstance(pair, tuple) and len(pair) == 2 and all(isinstance(text, str) for text in pair)


def _lines_of(statements: list[ast.stmt]) -> tuple[tuple[int, str], ...]:
    """Write statements as lines with their depth, when a body is made and not when a run begins.

    Runs begin on many threads, and two threads that use `ast` at once may raise SystemError on CPython 3.11.
    """
    lines = ast.unparse(ast.Module(statements, [])).splitlines()
    return tuple(((len(line) - len(line.lstrip())) // 4, line.lstrip()) for line in lines)
