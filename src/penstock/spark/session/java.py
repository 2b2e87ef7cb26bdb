"""java: find a Java that Spark can run on, or say exactly what to install."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import SetupError

LEAST = 17
NEEDED = "jdk.incubator.vector"  # Spark's launcher asks for this module by name
PLACES = ("/usr/lib/jvm", "/usr/java", "/opt/java", "/opt", "/Library/Java/JavaVirtualMachines")
CURE = "install one with `apt-get install openjdk-17-jre-headless`, or set JAVA_HOME to one that is there"

_VERSION = re.compile(r'version "(?:1\.)?(\d+)([^"]*)"')
_PATIENCE = 30  # seconds; a JVM that does not say its version by then never will


class SparkSetupError(SetupError):
    """The error that Spark cannot be started here, with what to do about it."""


@dataclass(frozen=True, slots=True)
class Java:
    """An installed Java: its home folder and its version."""

    home: Path
    version: str
    variant: str = "Hotspot"
    """The kind of JVM; most do not say, and are of this one."""

    @property
    def is_hotspot(self) -> bool:
        """Return whether the JVM is the usual one, whose options are known."""
        return self.variant.lower() == "hotspot"

    @property
    def major(self) -> int:
        """Return the first number of the version; 8 for the old way of writing it, 1.8."""
        numbers = re.findall(r"\d+", self.version)
        first = int(numbers[0]) if numbers else 0
        return int(numbers[1]) if first == 1 and len(numbers) > 1 else first


def find_java(environ: Mapping[str, str] = os.environ, places: Sequence[str] = PLACES) -> Java:
    """Return the first Java that fits: that of JAVA_HOME, that of PATH, else one of the usual places."""
    faults: list[str] = []
    seen: set[Path] = set()
    for home, found_by in _homes(environ, places):
        if home in seen:
            continue
        seen.add(home)
        found = _examined(home)
        if isinstance(found, Java):
            return found
        faults.append(f"{found_by} is {found}")
    if not faults:
        raise SparkSetupError(f"spark: Java {LEAST} or newer must be installed, found none; {CURE}")
    raise SparkSetupError(f"spark: Java {LEAST} or newer must be installed, but {'; '.join(faults)}; {CURE}")


def _homes(environ: Mapping[str, str], places: Sequence[str]) -> Iterator[tuple[Path, str]]:
    """Name the folders to look into, and how each was found."""
    named = environ.get("JAVA_HOME")
    if named:
        yield Path(named).resolve(), f"JAVA_HOME {named}"
    program = shutil.which("java", path=environ.get("PATH", ""))
    if program:
        yield Path(program).resolve().parent.parent, f"{program} of PATH"
    for place in places:
        for program_there in sorted(Path(place).glob("*/bin/java")) + sorted(
            Path(place).glob("*/Contents/Home/bin/java")  # macOS
        ):
            yield program_there.resolve().parent.parent, str(program_there)


def _examined(home: Path) -> Java | str:
    """Return the Java of a folder, or what is wrong with it."""
    program = home / "bin" / "java"
    if not os.access(program, os.X_OK) or not program.is_file():
        return f"a folder without bin/java ({home})"
    facts = _release(home)
    version = facts.get("JAVA_VERSION") or _asked(program)
    if version is None:
        return f"a program that does not say its version ({program})"
    java = Java(home, version, facts.get("JVM_VARIANT") or "Hotspot")
    if java.major < LEAST:
        return f"Java {version} ({home})"
    modules = facts.get("MODULES")
    if modules is not None and NEEDED not in modules.split():
        return f"Java {version} without the module {NEEDED} ({home})"
    return java


def _release(home: Path) -> dict[str, str]:
    """Read the file in which a Java describes itself; it saves starting it."""
    try:
        text = (home / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    pairs = (line.partition("=") for line in text.splitlines() if "=" in line)
    return {name.strip(): value.strip().strip('"') for name, _, value in pairs}


def _asked(program: Path) -> str | None:
    try:
        answer = subprocess.run(
            [program, "-version"], capture_output=True, text=True, errors="replace", timeout=_PATIENCE, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _VERSION.search(answer.stderr + answer.stdout)
    return found[1] + found[2] if found else None
