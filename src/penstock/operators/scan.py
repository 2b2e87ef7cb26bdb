"""scan: emit each step of a running result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from penstock.engine.arguments import function_given
from penstock.stage import Body, Stage

A = TypeVar("A")
B = TypeVar("B")


@dataclass(frozen=True, slots=True)
class Scan(Stage[A, B]):
    """Emit the result so far after each element; the initial value itself is not emitted.

    Emits when upstream emits. Backpressures when downstream does. Completes when upstream completes.
    Cancels when downstream cancels.
    """

    fn: Callable[[B, A], B]
    initial: B
    loop: ClassVar[Body] = Body(
        "v = {result} = {fn}({result}, v)\nif v is None: none", state=(("result", "{initial}"),)
    )

    def __post_init__(self) -> None:
        function_given("scan", "fn", self.fn)
