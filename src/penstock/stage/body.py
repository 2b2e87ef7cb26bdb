"""body: what a synchronous step does to one element, as lines for the fused loop.

A body is text, because the engine joins the bodies of adjacent stages into one loop: as a plain generator, as an
asynchronous generator, or as a generator that is fed by signals. An iterator transformation could serve only the
first of the three. In the lines `v` is the element. `{name}` is a field of the stage or a variable of the body's
`state`, in which `items` is where a stage keeps elements: those who listen see how many. Three words stand for what
only the loop knows:

- `skip` drops the element and goes on with the next one; the body's own `ends` must be false by then;
- `stop` ends the stream; the body's `ends` must be true by then;
- `none` fails because `v` is None, which is not an element (rule 2.13).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, eq=False)
class Body:
    """Hold the lines of one stage; equal only to itself, so that compiled loops are found by identity."""

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
    tail: str | None = None
    """An expression: its items follow when upstream has completed."""
