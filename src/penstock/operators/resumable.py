"""resumable: emit what a function opens from a position, so that a restart goes on where it was.

Group: make a stream
Marble: Stream.resumable(lambda n: range(n, 4), counted=True)
Choose: I have ... and want a stream of it / something that opens from any position, for restarts
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from penstock.engine.runs.chain import Chain
from penstock.engine.runs.given import connect_to
from penstock.engine.runs.wiring import connect, refuse
from penstock.engine.weaving.blame import blamed
from penstock.engine.words.arguments import function_given
from penstock.spec.interfaces import Subscriber
from penstock.stage import Again, Body, Gives, Sight, Source, Stage

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Resumable(Source[T]):
    """Emit the elements that `open_from` gives from the beginning; who resumes opens it behind a position instead.

    Emits when what was opened does. Backpressures when downstream does. Completes when what was opened completes; fails
    if the function raises. Cancels what was opened.
    """

    open_from: Callable[[Any], Any]
    commit: Callable[[Any], object] | None = None
    counted: bool = False

    def __post_init__(self) -> None:
        function_given("resumable", "open_from", self.open_from)
        if self.commit is not None:
            function_given("resumable", "commit", self.commit)

    @property
    def again(self) -> Again:
        """Give the same again; where commits are told, what was committed may be gone."""
        return Again.SAME if self.commit is None else Again.UNSAID

    def opened(self, after: Any) -> Chain:
        """Return what follows a position, None being the beginning: pairs of a position and an element, or elements."""
        return Chain(_Opened(self, (after or 0) if self.counted else after))

    def connect(self, downstream: Subscriber[T], /) -> None:
        """Open it from the beginning and leave the positions out."""
        chain = self.opened(None)
        connect(chain if self.counted else chain.then(_BARE), downstream)


@dataclass(frozen=True, slots=True)
class _Opened(Source[Any]):
    """What follows a position."""

    source: Resumable[Any]
    after: Any

    def connect(self, downstream: Subscriber[Any], /) -> None:
        try:
            connect_to("resumable", self.source.open_from(self.after), downstream)
        except Exception as error:  # noqa: BLE001  rule 1.9: a failure is signalled, never raised
            refuse(downstream, blamed(error, self.source, self.source.open_from))


def element_of(pair: Any) -> Any:
    """Return the element of a pair, and refuse what is none."""
    if not isinstance(pair, tuple) or len(pair) != 2:
        raise TypeError(f"resumable: open_from must give pairs (position, element), got {pair!r:.100}")
    if pair[0] is None:
        raise TypeError(f"resumable: None is the beginning and no position, got {pair!r:.100}")
    return pair[1]


@dataclass(frozen=True, slots=True)
class _Bare(Stage[Any, Any]):
    """Leave the position out."""

    sight: ClassVar[Sight] = Sight.ITEM
    gives: ClassVar[Gives] = Gives.ONE
    loop: ClassVar[Body] = Body("v = {element}(v)\nif v is None: none")

    @property
    def element(self) -> Callable[[Any], Any]:
        """Return what takes the element."""
        return element_of


_BARE = _Bare()
