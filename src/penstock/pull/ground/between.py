"""between: the ground of throughs that answer in their own time: one source that is read, one desk that is asked."""

from __future__ import annotations

from typing import Any

from penstock.pull.ground.desk import Confirm, Desk
from penstock.pull.ground.protocol import End, Read
from penstock.pull.ground.reader import SourceReader


class Between:
    """A module that passes values on as they come; its subclasses say what else becomes of them, and of the end."""

    def __init__(self, read: Read) -> None:
        self.desk = desk = Desk(self.wanted, self.close)
        passes = type(self).arrived is Between.arrived  # then there is no need to ask it each time
        self.reader = SourceReader(read, desk.give if passes else self.arrived, self.ended, desk.turn)
        desk.level = self.reader.level
        if type(self).wanted is Between.wanted:
            desk.wanted = self.reader.ask

    @property
    def level(self) -> int:
        """How many modules of this package stand above it in a row, since the last landing."""
        return self.desk.level

    def wanted(self) -> bool:
        """Ask for what is needed; tell whether there is nothing to do but wait."""
        return self.reader.ask()

    def arrived(self, value: Any) -> None:
        """Take a value from upstream."""
        self.desk.give(value)

    def ended(self, end: End) -> None:
        """Take the end of upstream."""
        self.desk.finish(end)

    def close(self, end: End, confirm: Confirm) -> None:
        """Let go of upstream."""
        self.reader.abort(end, confirm)
