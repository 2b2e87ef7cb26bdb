"""checks: look at one thing after the other that penstock needs, without starting Spark.

None of them imports what may be missing: a check says what it found, and one that fails in a way it did not foresee
says that.
"""

from __future__ import annotations

import importlib
import os
import platform
import re
import runpy
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from importlib import metadata
from pathlib import Path
from typing import Any

import penstock

HERE, SPARK = "process", "spark"
"""What a thing is needed for: pipelines of this process too, or only those on Spark."""
_PYTHON = (3, 11)
_INSTALL = f'{sys.executable} -m pip install "penstock[spark]"'
_ENOUGH = 2 * 1024**3
"""Memory that a driver with Spark in it needs: 1 GB for the JVM, and as much for Python and its workers."""
_DISK = 1024**3
_PATIENCE = 30  # seconds for a program to say its version


class State(Enum):
    """How something was found."""

    WELL = "ok"
    HINT = "hint"
    """It works, and could work better."""
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found of one thing: its state, what is there, and how to get what is missing."""

    name: str
    part: str
    state: State
    what: str
    cure: str = ""


Check = Callable[[], tuple[State, str, str]]


def checked(checkpoint: str | None) -> Iterator[Finding]:
    """Look at everything, and at the folder of a checkpoint if there is one."""
    checks: list[tuple[str, str, Check]] = [
        ("penstock", HERE, _penstock),
        ("Python", HERE, _python),
        ("memory", HERE, _memory),
        ("loopback", HERE, _loopback),
        ("temporary folder", HERE, lambda: _folder(Path(tempfile.gettempdir()), "set TMPDIR to a folder of yours")),
        ("working folder", HERE, lambda: _folder(Path.cwd(), "change to a folder that you may write to")),
        ("Java", SPARK, _java),
        ("PySpark", SPARK, lambda: _library("pyspark")),
        ("Arrow", SPARK, lambda: _library("pyarrow")),
        ("pandas", SPARK, lambda: _library("pandas")),
        ("class archive", SPARK, _archive),
    ]
    if checkpoint is not None:
        there = Path(checkpoint)
        make = f"mkdir -p {checkpoint} && chmod u+rwx {checkpoint}, or name another folder"
        checks.append(("checkpoint", SPARK, lambda: _folder(there, make)))
    for name, part, check in checks:
        try:
            state, what, cure = check()
        except Exception as error:  # noqa: BLE001  it is what was found
            state, what, cure = State.MISSING, f"cannot be looked at: {type(error).__name__}: {error}", ""
        yield Finding(name, part, state, what, cure)


def version() -> str:
    """Return the version of penstock, as it was installed."""
    try:
        return metadata.version("penstock")
    except metadata.PackageNotFoundError:
        return "(not installed, run from its source)"


def _penstock() -> tuple[State, str, str]:
    return State.WELL, f"{version()}, in {Path(penstock.__file__).parent}", ""


def _python() -> tuple[State, str, str]:
    what = f"{platform.python_implementation()} {platform.python_version()}, {sys.executable}"
    if sys.version_info < _PYTHON:
        return State.MISSING, f"{what}; 3.11 or newer is needed", "apt-get install python3.11 python3.11-venv"
    return State.WELL, what, ""


def _memory() -> tuple[State, str, str]:
    free = _available()
    if free is None:
        return State.HINT, "how much is free cannot be found out here", ""
    what = f"{free / 1024**3:.1f} GB free"
    if free < _ENOUGH:
        less = "run smaller: penstock run FILE --conf spark.driver.memory=512m, or end other programs"
        return State.HINT, f"{what}; Spark in this process wants {_ENOUGH / 1024**3:.0f} GB", less
    return State.WELL, what, ""


def _available() -> int | None:
    """Return the bytes that this process may still take: of the machine, and of its container if it has a limit."""
    found: list[int] = []
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
        free = re.search(r"^MemAvailable:\s+(\d+) kB", text, re.MULTILINE)
        if free:
            found.append(int(free[1]) * 1024)
        limit = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
        if limit.isdigit():
            used = int(Path("/sys/fs/cgroup/memory.current").read_text(encoding="ascii"))
            found.append(max(0, int(limit) - used))
    except OSError:
        pass  # another system, or no container
    if not found and "SC_AVPHYS_PAGES" in os.sysconf_names:
        found.append(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return min(found, default=None)


def _loopback() -> tuple[State, str, str]:
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            with socket.create_connection(("127.0.0.1", port), timeout=5):
                return State.WELL, f"a port of 127.0.0.1 can be opened and reached ({port})", ""
    except OSError as error:
        cure = "bring the loopback interface up: ip link set lo up"
        return State.MISSING, f"no port of 127.0.0.1 can be opened and reached: {error.strerror or error}", cure


def _folder(folder: Path, cure: str) -> tuple[State, str, str]:
    there = next((each for each in (folder, *folder.absolute().parents) if each.exists()), Path("/"))
    try:
        with tempfile.TemporaryFile(dir=there) as file:
            file.write(b"penstock")
            file.flush()
    except OSError as error:
        return State.MISSING, f"{folder} cannot be written: {error.strerror or error}", cure
    free = shutil.disk_usage(there).free
    what = f"{folder}, {free / 1024**3:.1f} GB free" + ("" if there == folder else "; it will be made")
    return (State.WELL, what, "") if free >= _DISK else (State.HINT, f"{what}, which is little", "make room there")


def _java() -> tuple[State, str, str]:
    # Without PySpark the package cannot be imported; this module of it needs nothing.
    file = Path(penstock.__file__).parent / "spark" / "session" / "java.py"
    known: dict[str, Any] = runpy.run_path(str(file))
    try:
        java = known["find_java"]()
    except penstock.PenstockError as error:
        return State.MISSING, str(error).removeprefix("spark: ").partition("; install")[0], f"{known['CURE']}"
    program = java.home / "bin" / "java"
    done = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=_PATIENCE, check=False)
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["it says nothing"])[0]
        return State.MISSING, f"{program} does not run: {said}", known["CURE"]
    return State.WELL, f"{java.version}, {java.home}", ""


def _library(name: str) -> tuple[State, str, str]:
    try:
        found = metadata.version(name)
    except metadata.PackageNotFoundError:
        return State.MISSING, "not installed", _INSTALL
    wanted = _range(name)
    if not _fits(found, wanted):
        return State.MISSING, f"{found} is installed, and {wanted} is needed", _INSTALL
    try:
        importlib.import_module(name)
    except Exception as error:  # noqa: BLE001  a library that does not import does not work
        return (
            State.MISSING,
            f"{found} does not import: {type(error).__name__}: {error}",
            f"{_INSTALL} --force-reinstall",
        )
    return State.WELL, found, ""


def _range(name: str) -> str:
    """Return the versions of a library that penstock is made for, as its own package says."""
    try:
        said = metadata.requires("penstock") or []
    except metadata.PackageNotFoundError:
        return ""
    for each in said:
        required, _, extra = each.partition(";")
        if re.match(rf"{name}\b(?!\[)", required) and "spark" in extra:
            return required.removeprefix(name).strip()
    return ""


def _fits(found: str, wanted: str) -> bool:
    for sign, bound in re.findall(r"(>=|<)\s*([\d.]+)", wanted):
        newer = _numbers(found) >= _numbers(bound)
        if newer is (sign == "<"):
            return False
    return True


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", text)[:3])


def _archive() -> tuple[State, str, str]:
    """Look for the archive of Spark's classes; without one Spark works, and starts more slowly."""
    try:
        from penstock.spark.session.class_archive import archive_for  # noqa: PLC0415  it needs PySpark
        from penstock.spark.session.java import find_java  # noqa: PLC0415
    except ImportError:
        return State.HINT, "none; it can be made when Java and PySpark are there", ""
    try:
        found = archive_for(find_java())
    except penstock.PenstockError:
        return State.HINT, "none; it can be made when Java is there", ""
    if found is None:
        return (
            State.HINT,
            "none for this Java and this Spark; with one, Spark starts in about half the time",
            "penstock prepare",
        )
    return State.WELL, f"{found}, {found.stat().st_size / 1024**2:.0f} MB", ""


__all__ = ["HERE", "SPARK", "Finding", "State", "checked", "version"]
