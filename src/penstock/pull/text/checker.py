"""checker: the watch on the protocol between two neighbours, as a through."""

from __future__ import annotations

from typing import Any

from penstock.pull.module import PullThrough
from penstock.tck.pull.checker import PullChecker


class Checker(PullChecker, PullThrough[Any, Any]):
    """A through that changes nothing and looks at everything; wired once.

    What breaks the protocol is kept from the other neighbour and put into `faults`; `verify()` raises the first.
    """

    def __init__(self, *, strict: bool = False) -> None:
        PullChecker.__init__(self, strict=strict)
        PullThrough.__init__(self, self.watch, name="checker")


def checker(*, strict: bool = False) -> Checker:
    """Make a through that watches the protocol between its neighbours; with `strict` it asks more of the consumer.

    >>> from penstock import pull
    >>> watched = pull.checker(strict=True)
    >>> pull.pull(pull.count(2), watched, pull.drain())
    >>> watched.verify()
    """
    return Checker(strict=strict)


__all__ = ["Checker", "checker"]
