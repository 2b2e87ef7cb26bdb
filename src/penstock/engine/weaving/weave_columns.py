"""weave_columns: the text of stages that see each element alone as a loop from rows to columns.

Where every element is treated alone and gives one element at most, no loop has to be left half-way, and what comes out
need not be handed over one by one: the loop itself takes each result apart. For `map(f)`, `filter(p)`, of which tuples
of two come:

    def run(rows, columns, kind, where, c0_fn, c1_predicate):
        l0, l1 = columns                          # a list for each
        try:
            for v in rows:
                v = c0_fn(v)
                if not c1_predicate(v): continue
                if type(v) is not kind: return (v,)
                try:
                    a0, a1 = v
                except Exception: return (v,)
                l0.append(a0); l1.append(a1)      # which CPython has an instruction for
        except Exception as error: ...            # names the stage and the function by the line it happened in

A result that is of another kind, or cannot be taken apart like this, is returned: the caller sees to it, and may go on
with the same rows, of which it was the last one read. So an error of the caller's is not taken for one of a stage.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import ClassVar

from penstock.engine.weaving.weave import Weaver
from penstock.stage import Body


def can_be_columns(bodies: Sequence[Body]) -> bool:
    """Tell whether bodies keep nothing, add nothing and never end, so that a loop of theirs can begin anywhere."""
    return not any(body.state or body.head or body.each or body.tail or body.ends for body in bodies)


class ColumnsWeaver(Weaver):
    """The writer of a loop from rows to columns; the rows are known to hold no None."""

    arguments = "rows, columns, kind, where"
    opening: ClassVar[tuple[str, ...]]
    """The lines that take an element `v` apart into `a0`, `a1` and so on."""
    width: ClassVar[int]
    """How many columns there are."""

    def emit(self) -> None:
        """Put an element into the columns."""
        self.line("if type(v) is not kind: return (v,)")
        self.line("try:")
        self.depth += 1
        for text in self.opening:
            self.line(text)
        self.depth -= 1
        self.line("except Exception: return (v,)")
        self.line("; ".join(f"l{place}.append(a{place})" for place in range(self.width)))

    def write(self) -> str:
        """Write the whole function and return its text."""
        self.line("")  # the signature, once the fields are known
        self.depth = 1
        self.line(f"{''.join(f'l{place}, ' for place in range(self.width))}= columns")
        self.line("try:")
        self.depth = 2
        self.line("for v in rows:")
        self.depth = 3
        self.elements(0, 0)
        self.depth = 1
        self.line("except Exception as error:")
        self.line("    raise fail(None, where, error)")
        names = "".join(f", {name}" for name in self.fields.values())
        self.lines[0] = f"def run({self.arguments}{names}):"
        return "\n".join(self.lines)


@lru_cache(maxsize=256)
def columns_weaver(opening: tuple[str, ...], width: int) -> type[ColumnsWeaver]:
    """Return the writer of loops whose results are taken apart by some lines."""
    return type("ColumnsWeaver", (ColumnsWeaver,), {"opening": opening, "width": width})


__all__ = ["ColumnsWeaver", "can_be_columns", "columns_weaver"]
