"""resuming: what holds for a stream that goes on behind its positions, as one call."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from penstock.engine.words.arguments import function_given
from penstock.run.resumption import Position, Resumption
from penstock.stream import Stream
from penstock.testing.signals import VerificationError

MOST = 100
"""Elements that are looked at, unless the call says another number."""


def check_resumable(make: Callable[[], Stream[Any]], *, most: int = MOST) -> None:
    """Hold a stream to the laws of resuming; `make` is called for each run, as another process would.

    1. a plain subscriber gets the elements, without positions;
    2. positions are JSON values, each another one;
    3. behind every position comes the same rest, with the same positions;
    4. a run that is left in the middle changes nothing;
    5. a commit changes nothing of what follows, and may be told again.

    Of a stream without an end the first `most` elements are looked at.

    >>> check_resumable(lambda: Stream.range(5).map(str))
    """
    function_given("check_resumable", "make", make)
    found = _opened(make, None, most)
    more = len(found) < most  # what comes behind the last is known to be nothing
    plain = list(make().take(most))
    if plain != [element for _, element in found]:
        raise _broken(
            "a plain subscriber gets the elements", f"it got {plain!r:.200}, and with positions {found!r:.200}"
        )
    _check_positions([position for position, _ in found])
    for number, (position, _) in enumerate(found):
        _check_rest("behind every position comes the same rest", make, position, found[number + 1 :], more)
    for number, (position, _) in enumerate(found[:-1]):
        list(Resumption.of(make()).open(position).take(1))
        _check_rest("a run that is left in the middle changes nothing", make, position, found[number + 1 :], more)
    for number, (position, _) in enumerate(found):
        resumption = Resumption.of(make())
        for _ in range(2):
            resumption.commit(position)
        _check_rest("a commit changes nothing of what follows", make, position, found[number + 1 :], more)


def _opened(make: Callable[[], Stream[Any]], after: Position | None, most: int) -> list[tuple[Position, Any]]:
    return list(Resumption.of(make()).open(after).take(most))


def _check_positions(positions: list[Position]) -> None:
    seen: dict[str, int] = {}
    for number, position in enumerate(positions):
        try:
            text = json.dumps(position)
            back = json.loads(text)
        except (TypeError, ValueError) as error:
            raise _broken("positions are JSON values", f"element {number} has {position!r:.200}: {error}") from error
        if back != position:
            raise _broken("positions are JSON values", f"element {number} has {position!r:.200}, which reads {back!r}")
        if text in seen:
            raise _broken("each position is another one", f"elements {seen[text]} and {number} have {position!r:.200}")
        seen[text] = number


def _check_rest(law: str, make: Callable[[], Stream[Any]], position: Position, rest: list[Any], more: int) -> None:
    got = _opened(make, position, len(rest) + more)
    if got != rest:
        raise _broken(law, f"behind {position!r:.200} came {got!r:.200} in the place of {rest!r:.200}")


def _broken(law: str, words: str) -> VerificationError:
    return VerificationError(f"check_resumable: law '{law}': {words}")


__all__ = ["check_resumable"]
