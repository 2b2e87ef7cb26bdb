"""machine: what the numbers were taken on, without its name."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version

from benchmarks.workload import PEERS


@dataclass(frozen=True, slots=True)
class Machine:
    """Hold the shape of a machine and the versions that ran on it."""

    cores: int
    architecture: str
    system: str
    python: str
    versions: tuple[tuple[str, str], ...]

    def sentence(self) -> str:
        """Say it in one line."""
        peers = ", ".join(f"{name} {number}" for name, number in self.versions)
        return f"{self.cores} cores, {self.system} {self.architecture}, {self.python}; {peers}"


def this_machine(packages: Sequence[str] = ("penstock", *PEERS), others: Sequence[tuple[str, str]] = ()) -> Machine:
    """Describe the machine this runs on, with the versions of packages and of what else took part."""
    return Machine(
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        architecture=platform.machine(),
        system=platform.system(),
        python=f"{platform.python_implementation()} {platform.python_version()}",
        versions=(*((name, version(name)) for name in packages), *others),
    )
