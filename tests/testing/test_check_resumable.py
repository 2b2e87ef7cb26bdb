"""check_resumable: each law of resuming refuses a source with a fault that breaks it, and says its name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from penstock import NotResumableError, Stream
from penstock.testing import VerificationError, check_resumable

LETTERS = "abcde"


def letters(after: int | None) -> Iterator[tuple[int, str]]:
    return ((at + 1, LETTERS[at]) for at in range(after or 0, len(LETTERS)))


class Journal:
    """A source that lives longer than the runs of it, with a place for a fault."""

    def __init__(self) -> None:
        self.opened = 0
        self.gone = 0

    def counts_runs(self, after: int | None) -> Iterator[tuple[int, str]]:
        """Give something else in every run."""
        self.opened += 1
        return ((at, f"{letter}{self.opened}") for at, letter in letters(after))

    def keeps_place(self, after: int | None) -> Iterator[tuple[int, str]]:
        """Go on where the last run was left."""
        for at, letter in letters(after):
            if at > self.gone:
                self.gone = at
                yield at, letter
        self.gone = 0

    def forgets(self, after: int | None) -> Iterator[tuple[int, str]]:
        """Forget one element too many at a commit."""
        return ((at, letter) for at, letter in letters(after) if at > self.gone)

    def commit(self, at: int) -> None:
        self.gone = at + 1


def test_a_sound_source_keeps_all_laws() -> None:
    told: list[int] = []
    check_resumable(lambda: Stream.resumable(letters, told.append))
    assert told == [at for at in range(1, 6) for _ in range(2)]


def test_a_stream_without_an_end_is_held_to_its_beginning() -> None:
    check_resumable(lambda: Stream.generate(0, lambda n: (n, n + 1)), most=7)


def test_a_stream_that_cannot_resume_is_refused() -> None:
    with pytest.raises(NotResumableError):
        check_resumable(lambda: Stream.from_iterable(iter(LETTERS)))


journal = Journal()
FAULTS: dict[str, tuple[str, Callable[[], Stream[Any]]]] = {
    "another run gives other elements": (
        "a plain subscriber gets the elements",
        lambda: Stream.resumable(Journal.counts_runs.__get__(journal)),
    ),
    "a position that is no JSON": (
        "positions are JSON values",
        lambda: Stream.resumable(lambda after: ((object(), letter) for _, letter in letters(None))),
    ),
    "a position that JSON changes": (
        "positions are JSON values",
        lambda: Stream.resumable(lambda after: (((at,), letter) for at, letter in letters(None))),
    ),
    "a page whose elements have one position": (
        "each position is another one",
        lambda: Stream.resumable(lambda after: ((at // 2, letter) for at, letter in letters(after))),
    ),
    "one element twice": (
        "behind every position comes the same rest",
        lambda: Stream.resumable(lambda after: letters(max(0, (after or 0) - 1))),
    ),
    "one element lost": (
        "behind every position comes the same rest",
        lambda: Stream.resumable(lambda after: letters(None if after is None else after + 1)),
    ),
    "positions that count from where it was opened": (
        "behind every position comes the same rest",
        lambda: Stream.resumable(
            lambda after: ((at + 1, letter) for at, letter in enumerate(LETTERS[after or 0 :]))
        ),
    ),
    "an end that is not the end": (
        "behind every position comes the same rest",
        lambda: Stream.resumable(lambda n: LETTERS[n:] if n < 5 else "more", counted=True),
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named(fault: str) -> None:
    law, make = FAULTS[fault]
    with pytest.raises(VerificationError, match=f"^check_resumable: law '{law}': "):
        check_resumable(make)


def test_a_source_that_remembers_a_run_is_named() -> None:
    source = Journal()
    with pytest.raises(VerificationError, match=r"^check_resumable: law 'a run that is left in the middle"):
        check_resumable(lambda: Stream.resumable(source.keeps_place))


def test_a_source_that_forgets_too_much_is_named() -> None:
    source = Journal()
    with pytest.raises(VerificationError, match=r"^check_resumable: law 'a commit changes nothing of what follows'"):
        check_resumable(lambda: Stream.resumable(source.forgets, source.commit))
