"""done_offsets: what was given of each partition that is held here, and how much of it is done.

The consumer's thread notes which partitions are taken away and what is committed; what is given may be noted by others.
What is done of a partition that was taken away is not ours to commit: its next holder has gone on from what was
committed.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from penstock.connectors.kafka.positions import Place


@dataclass(slots=True)
class _Progress:
    """The offsets behind what was given of a partition, and behind what is done."""

    given: int
    done: int


class DoneOffsets:
    """The partitions that are held, with what was given of them and what is done."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: dict[Place, _Progress] = {}
        self._told = False
        self.reached: dict[Place, int] = {}
        """The offsets that this run has committed, also those of partitions that were taken away since."""
        self.torn: set[Place] = set()
        """The partitions that were taken away while what was given of them was not done."""

    def gave(self, place: Place, first: int, end: int) -> None:
        """Note that the records from one offset up to another were given."""
        with self._lock:
            held = self._held.get(place)
            if held is None:
                self._held[place] = _Progress(end, first)
            else:
                held.given = end

    def done(self, offsets: Mapping[Place, int]) -> dict[Place, int]:
        """Take note of what is done, and return what of it is to be committed: what is held and has come further."""
        found: dict[Place, int] = {}
        with self._lock:
            self._told = True
            for place, offset in offsets.items():
                held = self._held.get(place)
                if held is not None and held.done < offset <= held.given:
                    found[place] = offset
        return found

    def expect(self) -> None:
        """Know that what is given will be committed, so that a partition that goes waits for it from the first on."""
        with self._lock:
            self._told = True

    def committed(self, offsets: Mapping[Place, int]) -> None:
        """Note that so much is committed."""
        with self._lock:
            for place, offset in offsets.items():
                self.reached[place] = max(offset, self.reached.get(place, 0))
                held = self._held.get(place)
                if held is not None and held.done < offset:
                    held.done = offset

    def finished(self, places: Iterable[Place]) -> bool:
        """Tell whether what was given of some partitions is committed; it is where a run commits nothing."""
        with self._lock:
            if not self._told:
                return True
            return all(held.done >= held.given for place in places if (held := self._held.get(place)))

    def drop(self, places: Iterable[Place]) -> None:
        """Forget partitions that are held no longer."""
        with self._lock:
            for place in places:
                held = self._held.pop(place, None)
                if held is not None and held.done < held.given:
                    self.torn.add(place)


__all__ = ["DoneOffsets"]
