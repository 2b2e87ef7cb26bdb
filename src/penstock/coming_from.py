"""coming_from: what a name of another library is called here, for the error of an attribute that there is not.

The names are in `coming_from.tsv`, which `python -m scripts.names_elsewhere --write` makes of the tables of
`docs/operators/coming-from.md`.
"""

from __future__ import annotations

import pkgutil

_OF_A_PIPELINE = frozenset({"progress", "result", "run", "running", "wait"})


class NoSuchNameError(AttributeError):
    """The error of an attribute that there is not; what is there instead is looked for when the message is read.

    Code that only asks whether there is such an attribute, as `hasattr` does, pays nothing for the search.
    """

    def __init__(self, owner: type, wanted: str) -> None:
        super().__init__(owner, wanted, name=wanted)  # without `obj`, so that Python adds no guess to ours
        self._owner = owner
        self._wanted = wanted

    def __reduce__(self) -> tuple[type[NoSuchNameError], tuple[type, str]]:
        return type(self), (self._owner, self._wanted)

    def __str__(self) -> str:
        kind, wanted = self._owner.__name__, self._wanted
        if wanted.startswith("_"):
            return f"{kind!r} object has no attribute {wanted!r}"
        said = names_elsewhere().get(wanted)
        if said is not None:
            return f"{kind} has no {wanted}{' ' if said.startswith('(') else '; '}{said}"
        if wanted in _OF_A_PIPELINE:
            return f"{kind} has no {wanted}; end it with a Sink, and a pipeline can run: (stream | sink).run().wait()"
        close = close_name(self._owner, wanted)
        return f"{kind} has no {wanted}" if close is None else f"{kind} has no {wanted}; did you mean {close}()?"


def names_elsewhere() -> dict[str, str]:
    """Return what is said of each name that another library has and Stream has not."""
    data = pkgutil.get_data("penstock", "coming_from.tsv")
    assert data is not None  # it is part of the package
    lines = data.decode().splitlines()
    parted = (line.partition("\t") for line in lines)
    return {name: said for name, _, said in parted}


def close_name(owner: type, wanted: str) -> str | None:
    """Return the public name of a class that is most like another one, or None."""
    import difflib  # noqa: PLC0415  only an error needs it

    names = [name for name in dir(owner) if not name.startswith("_")]
    return next(iter(difflib.get_close_matches(wanted, names, 1, cutoff=0.7)), None)


__all__ = ["NoSuchNameError", "close_name", "names_elsewhere"]
