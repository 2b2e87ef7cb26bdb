"""checkpoint: mark a place in a chain, for errors that pass it.

Group: look on
Marble: a.checkpoint('orders') over -1-2-#
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeVar

from penstock.engine.weaving.blame import add_note, notes_of
from penstock.engine.words.arguments import name_given
from penstock.stage import Body, Gives, Sight, Stage

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Checkpoint(Stage[T, T]):
    """Add a note with the name to every error of upstream that passes; it costs nothing until one does.

    Emits when upstream emits. Backpressures when downstream does. Completes when upstream completes. Cancels when
    downstream cancels.
    """

    name: str
    sight: ClassVar[Sight] = Sight.ITEM
    gives: ClassVar[Gives] = Gives.ONE
    loop: ClassVar[Body] = Body()

    def __post_init__(self) -> None:
        name_given("checkpoint", self.name)

    def saw(self, error: Exception) -> None:
        """Add the note, once."""
        note = f"past checkpoint {self.name}"
        if note not in notes_of(error):
            add_note(error, note)
