"""borrowed: a session that another program has started: what is taken as it is, and what is refused.

Nothing of it is changed. Its workers may run another Python than this process: PySpark starts whatever `python3` is on
PATH unless PYSPARK_PYTHON says which. One on this machine is looked at, before a query fails in it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from penstock.errors import PenstockError
from penstock.spark.session.connect import is_remote
from penstock.spark.session.interpreter import is_own
from penstock.spark.session.java import SparkSetupError
from penstock.spark.session.launch import is_local

_LOOK = "import sys; print('%d.%d' % sys.version_info[:2]); import pyarrow, pandas"
_PATIENCE = 60  # seconds for a Python to import two libraries


class SparkClosedError(PenstockError):
    """The error that a Spark was used after its close()."""


def is_stopped(session: SparkSession) -> bool:
    """Return whether a session was ended by its own stop()."""
    return not is_remote(session) and session.sparkContext._jsc is None


def borrowed(session: SparkSession, conf: Mapping[str, object] | None) -> SparkSession:
    """Return a session that was given, or refuse what cannot be used."""
    if not isinstance(session, SparkSession) and not is_remote(session):
        raise TypeError(f"spark: session must be a SparkSession, got {session!r}")
    if conf:
        raise TypeError("spark: conf must be left out for a session that runs already; use session.conf.set")
    if is_stopped(session):
        raise SparkClosedError("spark: session must be running, got one that was stopped")
    if not is_remote(session) and is_local(session.sparkContext.master or "") and not shares_python(session):
        _check(session.sparkContext.pythonExec)
    return session


def shares_python(session: SparkSession) -> bool:
    """Return whether the workers of a session run this interpreter, with all that it can import."""
    program = session.sparkContext.pythonExec
    found = shutil.which(program)
    return is_own(program) or (found is not None and Path(found).absolute() == Path(sys.executable).absolute())


def _check(program: str) -> None:
    """Refuse a Python in which PySpark would not run, or not with Arrow."""
    here = f"{sys.version_info[0]}.{sys.version_info[1]}"
    cure = f"start the session with PYSPARK_PYTHON={sys.executable}, or let Spark() start it"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    try:
        found = subprocess.run(
            [program, "-c", _LOOK], capture_output=True, text=True, timeout=_PATIENCE, check=False, env=environment
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SparkSetupError(f"spark: the session's workers run {program}, which does not start; {cure}") from error
    there = found.stdout.strip()
    if there and there != here:
        raise SparkSetupError(
            f"spark: the session's workers run Python {there} ({program}), and this is Python {here}; {cure}"
        )
    if found.returncode:
        told = (found.stderr.strip().splitlines() or ["it ended without a word"])[-1]
        raise SparkSetupError(
            f"spark: the session's workers run {program}, where PySpark cannot use Arrow: {told}; {cure}"
        )


__all__ = ["SparkClosedError", "borrowed", "is_stopped", "shares_python"]
