"""supply: where the rows of a streaming DataFrame come from, and from where on they can be had again.

A place is what Spark keeps as a part of its offset, `[position, rows]`: a position of the stream, and how many rows of
the element behind it, which may be a record batch, were taken already. A stream that cannot be opened behind a position
has no places.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from penstock.errors import PenstockError
from penstock.operators.resumable import OpenedRun
from penstock.run.resumption import NotResumableError, Reckoning, Resumption
from penstock.spec.interfaces import Publisher
from penstock.spec.predicates import is_publisher
from penstock.stage import Again
from penstock.stream import Stream

Place = list[Any]
Given = Publisher[Any] | Callable[[int], Publisher[Any]]
SaidAgain = Literal["same", "later"]


class IngestError(PenstockError):
    """The error that rows cannot be given to Spark, with the reason."""


# Which place follows each row of a batch.


class Places(Protocol):
    """The places behind the rows of one record batch."""

    def behind(self, index: int, /) -> Place:
        """Return the place behind a row."""
        ...


@dataclass(frozen=True, slots=True)
class RowPlaces:
    """The places behind rows that are elements; `kept` are the numbers of those that fit, if some did not."""

    positions: Sequence[Any]
    kept: Sequence[int] | None = None

    def behind(self, index: int, /) -> Place:
        """Return the place behind an element."""
        return [self.positions[index if self.kept is None else self.kept[index]], 0]


@dataclass(frozen=True, slots=True)
class InnerPlaces:
    """The places behind the rows of an element that is a record batch, of which the first `skipped` were left out."""

    before: Any
    after: Any
    rows: int
    skipped: int = 0

    def behind(self, index: int, /) -> Place:
        """Return the place behind a row, which is in the middle of the element unless it is the last."""
        taken = self.skipped + index + 1
        return [self.after, 0] if taken == self.rows else [self.before, taken]


class CountedPositions(Sequence[Any]):
    """The positions behind elements that are counted, each made when it is asked for."""

    def __init__(self, position: Callable[[int], Any], first: int, length: int) -> None:
        self._position = position
        self._first = first
        self._length = length

    def __getitem__(self, index: Any) -> Any:
        return self._position(self._first + index + 1)

    def __len__(self) -> int:
        return self._length


# How a run knows them.


class Track:
    """The way of one run through its source; this one is of a source that has no positions."""

    skip = 0
    """Rows of the first element, a record batch, that were taken by the run before."""
    counts_elements = False
    """Whether positions are numbers of elements, which are not those of rows if elements are record batches."""

    def element(self, given: Any) -> Any:
        """Return an element without its position."""
        return given

    def rows(self, given: list[Any]) -> tuple[list[Any], Sequence[Any] | None]:
        """Take elements that are rows; return them and the positions behind them."""
        return given, None

    def batch(self, given: Any) -> tuple[Any, Places | None]:
        """Take an element that is a record batch; return its rows and the places behind them."""
        return given, None


class CountedTrack(Track):
    """The way of a run whose elements are counted."""

    counts_elements = True

    def __init__(self, position: Callable[[int], Any], count: int, skip: int) -> None:
        self._position = position
        self._count = count
        self.skip = skip

    def rows(self, given: list[Any]) -> tuple[list[Any], Sequence[Any] | None]:
        """Count the elements."""
        first, self._count = self._count, self._count + len(given)
        return given, CountedPositions(self._position, first, len(given))

    def batch(self, given: Any) -> tuple[Any, Places | None]:
        """Count the element, and the rows in it."""
        before, self._count = self._count, self._count + 1
        return _within(self, given, self._position(before), self._position(self._count))


class ToldTrack(Track):
    """The way of a run whose elements come with their positions."""

    def __init__(self, position: Any, skip: int) -> None:
        self._at = position
        self.skip = skip

    def element(self, given: Any) -> Any:
        """Leave the position out."""
        return given[1]

    def rows(self, given: list[Any]) -> tuple[list[Any], Sequence[Any] | None]:
        """Take the positions off."""
        return [element for _, element in given], [position for position, _ in given]

    def batch(self, given: Any) -> tuple[Any, Places | None]:
        """Take the position off, and count the rows."""
        before, (self._at, element) = self._at, given
        return _within(self, element, before, self._at)


class RowTrack(Track):
    """The way of a run that a function of the row's number has opened; the rows in record batches count, too."""

    def __init__(self, row: int) -> None:
        self._row = row

    def rows(self, given: list[Any]) -> tuple[list[Any], Sequence[Any] | None]:
        """Count rows."""
        first, self._row = self._row, self._row + len(given)
        return given, CountedPositions(int, first, len(given))

    def batch(self, given: Any) -> tuple[Any, Places | None]:
        """Count the rows of a batch."""
        first, self._row = self._row, self._row + given.num_rows
        return given, RowPlaces(CountedPositions(int, first, given.num_rows))


def _within(track: Track, batch: Any, before: Any, after: Any) -> tuple[Any, Places]:
    """Leave out the rows that the run before had, and say which places the others have."""
    skip, track.skip = track.skip, 0
    if skip >= batch.num_rows and skip:
        raise IngestError(
            f"frame: the checkpoint is behind row {skip} of an element that has {batch.num_rows} rows now;"
            " the stream gives something else than before"
        )
    return batch.slice(skip), InnerPlaces(before, after, batch.num_rows, skip)


# What can be opened behind a place.


@dataclass(frozen=True, slots=True)
class Opening:
    """A run of a supply: what to subscribe to, and how its places are known."""

    publisher: Any
    track: Track
    told: OpenedRun | None = None
    """What is told of Spark's commits, and closed when no more of them come."""


class Supply(Protocol):
    """A stream that can be opened behind a place."""

    @property
    def counts(self) -> bool:
        """Tell whether a place is known by the number of rows before it, if each element is a row."""
        ...

    @property
    def commits(self) -> bool:
        """Tell whether the stream wants to be told what Spark has committed."""
        ...

    def open(self, place: Place | None, /) -> Opening:
        """Begin behind a place, None being the beginning."""
        ...

    def at(self, row: int, /) -> Place:
        """Return the place behind so many rows, where they are counted."""
        ...

    def commit(self, place: Place, told: OpenedRun | None, /) -> None:
        """Tell the stream that Spark has committed what comes before a place."""
        ...


@dataclass(frozen=True, slots=True)
class ResumedSupply:
    """A stream that goes on behind its positions."""

    resumption: Resumption[Any]

    @property
    def counts(self) -> bool:
        """Tell whether its elements are counted."""
        return self.resumption.counts

    @property
    def commits(self) -> bool:
        """Tell whether its source wants to be told."""
        return self.resumption.commits

    def open(self, place: Place | None, /) -> Opening:
        """Open it behind a position."""
        position, skip = place_of(place)
        found = self.resumption
        told = found.begun()
        if found.counts:
            track: Track = CountedTrack(found.position, found.count(position), skip)
            return Opening(found.elements(position, told), track, told)
        return Opening(found.open(position, told), ToldTrack(position, skip), told)

    def at(self, row: int, /) -> Place:
        """Return the place behind so many elements."""
        return [self.resumption.position(row), 0]

    def commit(self, place: Place, told: OpenedRun | None, /) -> None:
        """Tell the source."""
        position, _ = place_of(place)
        if position is not None:
            self.resumption.commit(position, told)


@dataclass(frozen=True, slots=True)
class RowSupply:
    """A function from a row's number to the publisher from there on."""

    fn: Callable[[int], Any]
    counts = True
    commits = False

    def open(self, place: Place | None, /) -> Opening:
        """Call the function."""
        row, _ = place_of(place)
        return Opening(held_to_contract(self.fn(row or 0)), RowTrack(row or 0))

    def at(self, row: int, /) -> Place:
        """Return the place behind so many rows."""
        return [row, 0]

    def commit(self, place: Place, told: OpenedRun | None, /) -> None:
        """Do nothing: a function of a number is told nothing."""


def supply_of(given: Given, again: SaidAgain | None) -> Supply:
    """Find out how a stream resumes, or raise NotResumableError; `again` says what nothing else says."""
    if not is_publisher(given):
        return RowSupply(given)
    if again == "later":
        raise NotResumableError(f"{given!r} gives what comes from then on, as was said", Again.LATER)
    stream = held_to_contract(given)
    if again == "same":
        try:
            return ResumedSupply(Resumption.of(stream))
        except NotResumableError:
            return ResumedSupply(Resumption(stream, Reckoning.REPLAYED))
    return ResumedSupply(Resumption.of(stream))


def again_given(operator: str, again: object) -> None:
    """Refuse what is no answer to what another run gives."""
    if again not in {None, "same", "later"}:
        raise ValueError(f"{operator}: again must be 'same' or 'later', got {again!r}")


def held_to_contract(given: Any) -> Stream[Any]:
    """Return a stream, or another publisher as one."""
    if isinstance(given, Stream):
        return given
    if not is_publisher(given):
        raise TypeError(f"frame: the function must return a Publisher, got {given!r}")
    return Stream.from_publisher(given)


def place_of(given: Any) -> tuple[Any, int]:
    """Return the position and the rows of a place, which may have been written by a query of another kind."""
    if given is None:
        return None, 0
    if isinstance(given, list) and len(given) == 2 and type(given[1]) is int and given[1] >= 0:
        return given[0], given[1]
    raise IngestError(f"frame: the checkpoint is at {given!r:.200}, which is no place in a stream")


def as_json(place: Place) -> Place:
    """Return a place as Spark will give it back, and refuse a position that cannot be written."""
    try:
        found: Place = json.loads(json.dumps(place))
    except (TypeError, ValueError) as error:
        raise IngestError(f"frame: a position must be a JSON value, got {place[0]!r:.200}: {error}") from error
    return found


__all__ = [
    "Given", "IngestError", "Opening", "Place", "Places", "ResumedSupply", "RowPlaces", "RowSupply", "SaidAgain",
    "Supply", "Track", "again_given", "as_json", "held_to_contract", "place_of", "supply_of",
]  # fmt: skip
