"""commands: run the real `penstock` command in a process, with what a test wants to be missing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

WAIT = 200
"""Seconds after which a process that hangs is given up."""
NO_JAVA = (
    "import os, sys; import penstock.spark.session.java as java; java.find_java.__defaults__ = ({}, ());"
    "from penstock.cli import main; sys.exit(main(sys.argv[1:]))"
)
"""The command on a machine that has no Java anywhere."""


def without(folder: Path, *modules: str) -> str:
    """Return a folder for PYTHONPATH in which some modules are as if they were not installed."""
    for name in modules:
        (folder / f"{name}.py").write_text(f"raise ModuleNotFoundError(\"No module named '{name}'\", name='{name}')\n")
    return str(folder)


def environment(*first: str) -> dict[str, str]:
    """Return the environment of a process that finds what this one finds, after some folders."""
    return os.environ | {"PYTHONPATH": os.pathsep.join([*first, *sys.path]), "COLUMNS": "120"}


def penstock(*arguments: object, first: str = "", code: str = "") -> subprocess.CompletedProcess[str]:
    """Run the command to its end, or a program that calls it."""
    program = ["-c", code] if code else ["-m", "penstock"]
    return subprocess.run(
        [sys.executable, *program, *map(str, arguments)],
        capture_output=True,
        text=True,
        env=environment(*filter(None, [first])),
        timeout=WAIT,
        check=False,
    )
