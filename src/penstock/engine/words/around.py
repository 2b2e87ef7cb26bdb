"""around: a callable of penstock's that stands around a function of a user's, which errors name."""

from __future__ import annotations

from penstock.engine.words.arguments import code_of, said_by, whole


class Around:
    """A callable that is known by the name and the line of the function inside of it."""

    __slots__ = ()

    @property
    def inside(self) -> object:
        """Return the function of the user's."""
        raise NotImplementedError

    @property
    def __name__(self) -> object:
        return said_by(whole(self.inside), "__qualname__")

    @property
    def __code__(self) -> object:
        return code_of(self.inside)


__all__ = ["Around"]
