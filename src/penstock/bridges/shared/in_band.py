"""in_band: how the end and a failure travel among the elements of a queue or a channel.

Elements travel as they are. Behind the last one comes a Completed() or a Failed(error). An element that is itself one
of these travels inside a Next, so that nothing is taken for what it is not.
"""

from __future__ import annotations

from typing import Any

from penstock.engine.words.signals import Completed, Failed, Next
from penstock.errors import ProtocolError

_SIGNALS = (Next, Failed, Completed)


def packed(element: Any) -> Any:
    """Return an element as it travels."""
    return Next(element) if isinstance(element, _SIGNALS) else element


def unpacked(item: Any) -> Any:
    """Return the element that travelled."""
    return item.element if isinstance(item, Next) else item


def ends(item: Any) -> bool:
    """Tell whether this is the end; raise the failure if it is one."""
    if isinstance(item, Failed):
        if not isinstance(item.error, Exception):
            raise ProtocolError("1.4", f"the sender failed with {item.error!r}, which is not an exception")
        raise item.error
    return isinstance(item, Completed)


def end_of(error: Exception | None) -> Completed | Failed:
    """Return the end as it travels."""
    return Completed() if error is None else Failed(error)
