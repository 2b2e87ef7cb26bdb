"""pull_error: the exception that names a property of the pull-stream protocol."""

from __future__ import annotations

from penstock.errors import PenstockError
from penstock.spec.properties.every import property_of


class PullError(PenstockError):
    """The error of a module that broke a property of the protocol; `property_id` is its id, as in `B3`.

    A note says what the property asks.

    >>> PullError("B3", "request 2 was answered before request 1").__notes__
    ['B3: Answers come in the order of their requests; requests without an answer function do not count.']
    """

    def __init__(self, property_id: str, message: str) -> None:
        super().__init__(f"property {property_id}: {message}")
        self.property_id = property_id
        self._message = message
        self.add_note(f"{property_id}: {property_of(property_id).sentence}")

    def __reduce__(self) -> tuple[type[PullError], tuple[str, str]]:
        return (type(self), (self.property_id, self._message))
