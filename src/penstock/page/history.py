"""history: the last minutes of a page, as it is sent to browsers: bounded, and read from any thread."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Sequence
from threading import Lock
from typing import Any

from penstock.page.model import RunPicture, Trouble

MOST_FRAMES = 600
"""How many moments are kept: five minutes at two in a second."""
MOST_TROUBLES = 200
"""How many errors are kept."""


class History:
    """The latest frames, the graphs that they belong to, and the latest errors."""

    def __init__(self, most: int = MOST_FRAMES) -> None:
        self._lock = Lock()
        self._frames: deque[tuple[int, str]] = deque(maxlen=most)
        self._graphs: dict[int, str] = {}
        self._latest: Any = None
        self._troubles: deque[Trouble] = deque(maxlen=MOST_TROUBLES)
        self._number = self._version = self._seen = 0

    def add(self, at: float, shown: Sequence[RunPicture]) -> None:
        """Keep a moment."""
        drawing = [each.drawing() for each in shown]
        with self._lock:
            if drawing != self._latest:
                self._latest = drawing
                self._version += 1
                self._graphs[self._version] = _text({"version": self._version, "runs": drawing})
            self._number += 1
            frame = {
                "number": self._number,
                "at": round(at, 3),
                "version": self._version,
                "runs": [each.frame.data() for each in shown],
            }
            self._frames.append((self._version, _text(frame)))
            oldest = self._frames[0][0]
            self._graphs = {version: text for version, text in self._graphs.items() if version >= oldest}

    def trouble(self, at: float, run: str, what: str, notes: Sequence[str] = ()) -> None:
        """Keep an error."""
        with self._lock:
            self._seen += 1
            self._troubles.append(Trouble(self._seen, round(at, 3), run, what, tuple(notes)))

    @property
    def number(self) -> int:
        """Return the number of the newest frame, 0 if there is none."""
        return self._number

    def newest(self, version: int, trouble: int) -> tuple[int, int, list[tuple[str, str]]]:
        """Return the newest frame for a browser, as named texts, with the graph and the errors it does not know."""
        with self._lock:
            texts = [("graph", self._graphs[self._version])] if self._version > version and self._graphs else []
            texts += [("trouble", _text(each.data())) for each in self._troubles if each.number > trouble]
            if self._frames:
                texts.append(("frame", self._frames[-1][1]))
            return self._version, self._seen, texts

    def whole(self) -> str:
        """Return everything that is kept as the text of one JSON object."""
        with self._lock:
            graphs = ",".join(self._graphs.values())
            frames = ",".join(text for _, text in self._frames)
            troubles = ",".join(_text(each.data()) for each in self._troubles)
        return f'{{"graphs":[{graphs}],"frames":[{frames}],"troubles":[{troubles}]}}'


def _text(data: Any) -> str:
    return json.dumps(data, separators=(",", ":"))
