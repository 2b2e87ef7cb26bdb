"""gate: what stands between one run and the loops it is made of."""

from __future__ import annotations


class Gate:
    """Tell a run's loops to stop (`over`) and that nobody asks (`rested`); be told of the last element (`final`)."""

    __slots__ = ("final", "over", "rested")

    def __init__(self) -> None:
        self.over = False
        self.final = False
        self.rested = False


class InnerGate(Gate):
    """Stop with the run a loop is part of; its own last element is not the last of that run."""

    __slots__ = ("_outer",)

    def __init__(self, outer: Gate) -> None:
        self._outer = outer
        self.final = False
        self.rested = True  # whoever asks there is not the one that this loop gives its elements to

    @property
    def over(self) -> bool:  # type: ignore[override]
        """Tell whether the run is over."""
        return self._outer.over
