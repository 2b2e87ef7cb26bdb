"""settings: what both sides are told: bounds, keep-alive, codec, errors."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from penstock.bridges.rsocket.codecs import Codec
from penstock.bridges.rsocket.errors import Known, known_errors
from penstock.bridges.rsocket.frames import MOST_REQUESTED
from penstock.engine.words.arguments import count_given


@dataclass(frozen=True, slots=True)
class Liveness:
    """How often a consumer shows that it lives, and after how much silence either side counts as lost."""

    interval: float = 20.0
    """Seconds between two signs of life."""
    lifetime: float = 90.0
    """Seconds of silence after which the other side counts as lost."""

    def __post_init__(self) -> None:
        for name in ("interval", "lifetime"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise TypeError(f"Liveness: {name} must be seconds, got {value!r}")
            if not 0.001 <= value <= 2_000_000:
                raise ValueError(f"Liveness: {name} must be from 0.001 to 2000000 seconds, got {value!r}")
        if self.interval >= self.lifetime:
            raise ValueError(f"Liveness: interval must be < lifetime, got {self.interval!r} and {self.lifetime!r}")


@dataclass(frozen=True, slots=True)
class Settings:
    """What a connection has to know."""

    codec: Codec
    window: int
    largest: int
    keep_alive: Liveness
    errors: Known = field(repr=False)

    @staticmethod
    def of(
        function: str,
        codec: Codec,
        window: int,
        largest: int,
        keep_alive: Liveness,
        errors: Iterable[type[Exception]],
    ) -> Settings:
        """Check what was given to `function`."""
        if not isinstance(codec, Codec):
            raise TypeError(f"{function}: codec must have mime, encode and decode, got {codec!r}")
        if not isinstance(codec.mime, str) or not codec.mime.isascii() or not 1 <= len(codec.mime) <= 255:
            raise ValueError(f"{function}: codec must have a mime of 1 to 255 ASCII characters, got {codec.mime!r}")
        count_given(function, "window", window, 1)
        if window > MOST_REQUESTED:
            raise ValueError(f"{function}: window must be <= {MOST_REQUESTED}, got {window!r}")
        count_given(function, "largest", largest, 64)
        if not isinstance(keep_alive, Liveness):
            raise TypeError(f"{function}: keep_alive must be a Liveness, got {keep_alive!r}")
        return Settings(codec, window, largest, keep_alive, known_errors(function, errors))
