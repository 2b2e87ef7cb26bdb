"""error: fail without an element.

Group: make a stream
Marble: Stream.error(ValueError('lost'))
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.engine.grounds.outlet import Outlet
from penstock.engine.words.arguments import of_class
from penstock.spec.interfaces import Subscriber
from penstock.stage import Again, Results, Source


@dataclass(frozen=True, slots=True)
class Error(Source[Any]):
    """Fail at once.

    Emits never. Backpressures never. Completes never: it fails when subscribed, without being asked. Cancels at once.
    """

    results: ClassVar[Results] = Results.ONE
    error: Exception

    def __post_init__(self) -> None:
        if not isinstance(self.error, Exception):
            raise TypeError(f"error: error must be an Exception, got {self.error!r}{of_class(self.error)}")

    @property
    def again(self) -> Again:
        """Fail, again."""
        return Again.SAME

    def length(self) -> int:
        """Return zero."""
        return 0

    def connect(self, downstream: Subscriber[Any], /) -> None:
        """Signal the error; it is never raised here, since its traceback would keep the subscriber alive."""
        outlet: Outlet[Any] = Outlet(downstream)
        outlet.open()
        if not outlet.closed:
            outlet.complete(self.error)
