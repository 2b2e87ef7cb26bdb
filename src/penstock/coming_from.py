"""coming_from: what to write for a name that there is not, for the error of an attribute.

The names of other libraries are in `coming_from.tsv`, which `python -m scripts.names_elsewhere --write` makes of the
tables of `docs/operators/coming-from.md`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.engine.many.emitter import ELSEWHERE

_PARTS = frozenset({"Flow", "Sink", "Pipeline", "Run"})
_OF_A_RUN = {
    "awaitTermination": "wait", "cancel": "cancel", "get": "wait", "join": "wait", "now": "now", "result": "wait",
    "stop": "stop", "wait": "wait",
}  # fmt: skip
_RUNS = {
    "awaitTermination": "wait()", "get": "wait()", "isActive": "done", "join": "wait()", "lastProgress": "now()",
    "recentProgress": "progress", "result": "wait()", "status": "now()", "terminate": "cancel()",
}  # fmt: skip
_OF_A_PIPELINE = frozenset({"progress", "result", "run", "running", "wait"})
_SINKS = {
    "collect": "to_list()", "list": "to_list()", "foreach": "for_each()", "foreachBatch": "foreach_batch()",
    "print": "for_each(print)", "reduce": "fold()", "show": "for_each(print)", "sum": "fold()",
    "to_csv": "roll() of penstock.connectors.files", "write": "to_file()",
}  # fmt: skip


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
        said = _of_a_part(self._owner, wanted) if kind in _PARTS else _of_a_stream(kind, wanted)
        if said is not None:
            return f"{kind} has no {wanted}{' ' if said.startswith('(') else '; '}{said}"
        close = close_name(self._owner, wanted)
        return f"{kind} has no {wanted}" if close is None else f"{kind} has no {wanted}; did you mean {close}()?"


class _Names(type):
    """The class of Named: a name that the class does not have, such as `Stream.of`, says what it is called here."""

    if not TYPE_CHECKING:  # a checker would take every name for known

        def __getattr__(cls, name: str) -> Any:
            raise NoSuchNameError(cls, name)


class Named(metaclass=_Names):
    """What says of a name that it does not have what to write instead; only names that are not found come by."""

    __slots__ = ()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise NoSuchNameError(type(self), name)


WRAP = "Stream.from_iterable makes a stream of elements"


class Follower(Named):
    """What can follow a stream, and refuses what is none before `|`."""

    __slots__ = ()

    if not TYPE_CHECKING:  # a checker knows that there is no such `|`

        def __ror__(self, before: object) -> Any:
            kind = type(self).__name__
            raise TypeError(f"|: a {kind} can follow a stream or a flow, got {before!r}; {WRAP}")


def _of_a_stream(kind: str, wanted: str) -> str | None:
    if kind == "Subject" and wanted in ELSEWHERE:
        return f"here it is {ELSEWHERE[wanted]}()"
    said = names_elsewhere().get(wanted)
    if said is None and wanted in _OF_A_PIPELINE:
        return "end it with a Sink, and a pipeline can run: (stream | sink).run().wait()"
    return said


def _of_a_part(owner: type, wanted: str) -> str | None:
    """Return what is said of a name that a flow, a sink, a pipeline or a run does not have."""
    kind = owner.__name__
    of_streams = hasattr(getattr(owner, "_before", object), wanted)
    if kind == "Pipeline":
        if wanted in _OF_A_RUN:
            return f"a run has it: pipeline.run().{_OF_A_RUN[wanted]}()"
        if wanted in {"execute", "start"}:
            return "here it is run()"
        return f"put it before the sink: stream.{wanted}(...) | sink" if of_streams else None
    if kind == "Run":
        return f"here it is {_RUNS[wanted]}" if wanted in _RUNS else None
    if wanted in _OF_A_PIPELINE:
        return "what has a source and a sink can run: (stream | flow | sink).run().wait()"
    if kind == "Sink":
        return f"here it is {_SINKS[wanted]}" if wanted in _SINKS else None
    if of_streams:
        return f"write it in the function of the flow, or behind the flow: (stream | flow).{wanted}(...)"
    return None


def names_elsewhere() -> dict[str, str]:
    """Return what is said of each name that another library has and Stream has not."""
    import pkgutil  # noqa: PLC0415  only an error needs it

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


__all__ = ["WRAP", "Follower", "Named", "NoSuchNameError", "close_name", "names_elsewhere"]
