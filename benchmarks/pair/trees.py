"""trees: source trees, and a process for each that measures rows on it."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.measure import Sample

HERE = Path(__file__).resolve().parent.parent.parent


class CannotRunError(Exception):
    """Say that a tree cannot run a row."""


@contextmanager
def tree(of: str, repository: Path = HERE) -> Iterator[Path]:
    """Give the folder of a source tree: one that has `src`, or a revision of this repository, unpacked meanwhile."""
    if (Path(of) / "src").is_dir():
        yield Path(of).resolve()
        return
    with TemporaryDirectory(prefix="penstock-base-") as folder:
        packed = subprocess.run(
            ["git", "-C", str(repository), "archive", "--format=tar", of, "src"], capture_output=True, check=False
        )
        if packed.returncode:
            raise SystemExit(f"{of!r} is no folder with src and no revision: {packed.stderr.decode().strip()}")
        with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as files:
            files.extractall(folder, filter="data")
        yield Path(folder)


@dataclass(frozen=True, slots=True)
class Bench:
    """Ask one process for one run after the other."""

    process: subprocess.Popen[str]

    def run(self, row: str, *, quick: bool) -> Sample:
        """Let the process run a row once."""
        answer = self.ask({"row": row, "quick": quick})
        if "error" in answer:
            raise CannotRunError(answer["error"])
        return Sample(**answer)

    def ask(self, request: dict[str, object] | None = None) -> dict[str, Any]:
        """Send a request, if any, and return the next answer."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        if request is not None:
            self.process.stdin.write(f"{json.dumps(request)}\n")
            self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"the process that measures has ended with {self.process.wait()}")
        found: dict[str, Any] = json.loads(line)
        return found


@contextmanager
def bench(folder: Path) -> Iterator[Bench]:
    """Start a process that has the benchmarks of here and penstock of a tree, and end it."""
    path = os.pathsep.join((str(folder / "src"), str(HERE)))
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.pair.rows"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=HERE,
        env=os.environ | {"PYTHONPATH": path},
    )
    try:
        made = Bench(process)
        used = Path(made.ask()["penstock"])
        if not used.is_relative_to(folder.resolve()):
            raise SystemExit(f"penstock must come from {folder}, got {used}")
        yield made
    finally:
        process.kill()
        process.communicate()
