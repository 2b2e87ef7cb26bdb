from __future__ import annotations

import re
import stat
from pathlib import Path

import pytest

from penstock.spark.session.java import CURE, Java, SparkSetupError, find_java


def installed(folder: Path, version: str = "", modules: str | None = None, says: str | None = None) -> Path:
    """Make a folder that looks like a Java: it describes itself in a file, or says its version when it is started."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho '{says or ''}' >&2\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    if version:
        text = f'JAVA_VERSION="{version}"\n' + (f'MODULES="{modules}"\n' if modules is not None else "")
        (folder / "release").write_text(text)
    return folder


def refused(environ: dict[str, str], places: tuple[str, ...], message: str) -> None:
    with pytest.raises(SparkSetupError, match=f"^{re.escape(message)}$"):
        find_java(environ, places)


def test_the_java_of_this_machine_is_found() -> None:
    found = find_java()
    assert found.major >= 17
    assert (found.home / "bin" / "java").is_file()


def test_java_home_comes_first(tmp_path: Path) -> None:
    first = installed(tmp_path / "a", "21.0.1")
    second = installed(tmp_path / "b", "17.0.2")
    environ = {"JAVA_HOME": str(first), "PATH": str(second / "bin")}
    assert find_java(environ, ()) == Java(first, "21.0.1")
    assert find_java({"PATH": str(second / "bin")}, ()) == Java(second, "17.0.2")


def test_a_wrong_java_home_is_passed_over_if_another_fits(tmp_path: Path) -> None:
    old = installed(tmp_path / "old", "11.0.9")
    installed(tmp_path / "jvm" / "good", "17.0.2")
    found = find_java({"JAVA_HOME": str(old), "PATH": ""}, (str(tmp_path / "jvm"),))
    assert found == Java(tmp_path / "jvm" / "good", "17.0.2")


def test_a_java_without_a_release_file_is_asked(tmp_path: Path) -> None:
    home = installed(tmp_path / "j", says='openjdk version "17.0.15" 2025-04-15')
    assert find_java({"JAVA_HOME": str(home)}, ()) == Java(home, "17.0.15")


@pytest.mark.parametrize(("version", "major"), [("1.8.0_392", 8), ("11.0.9", 11), ("17", 17), ("25.0.3", 25), ("?", 0)])
def test_the_major_version_is_read_in_both_ways_of_writing(version: str, major: int) -> None:
    assert Java(Path("x"), version).major == major


def test_no_java_at_all_says_what_to_install(tmp_path: Path) -> None:
    refused({}, (str(tmp_path),), f"spark: Java 17 or newer must be installed, found none; {CURE}")
    assert "apt-get install openjdk-17-jre-headless" in CURE


def test_a_wrong_version_is_named(tmp_path: Path) -> None:
    home = installed(tmp_path / "j", "11.0.9")
    refused(
        {"JAVA_HOME": str(home)},
        (),
        f"spark: Java 17 or newer must be installed, but JAVA_HOME {home} is Java 11.0.9 ({home}); {CURE}",
    )


def test_an_old_java_that_is_asked_is_named(tmp_path: Path) -> None:
    home = installed(tmp_path / "j", says='java version "1.8.0_392"')
    refused(
        {"JAVA_HOME": str(home)},
        (),
        f"spark: Java 17 or newer must be installed, but JAVA_HOME {home} is Java 8.0_392 ({home}); {CURE}",
    )


def test_a_java_without_the_module_that_spark_needs_is_named(tmp_path: Path) -> None:
    home = installed(tmp_path / "j", "21.0.1", modules="java.base java.sql")
    refused(
        {"PATH": str(home / "bin")},
        (),
        f"spark: Java 17 or newer must be installed, but {home / 'bin' / 'java'} of PATH is"
        f" Java 21.0.1 without the module jdk.incubator.vector ({home}); {CURE}",
    )


def test_a_java_home_without_java_and_one_that_says_nothing_are_named(tmp_path: Path) -> None:
    dumb = installed(tmp_path / "jvm" / "dumb", says="hello")
    empty = tmp_path / "empty"
    refused(
        {"JAVA_HOME": str(empty)},
        (str(tmp_path / "jvm"),),
        f"spark: Java 17 or newer must be installed, but JAVA_HOME {empty} is a folder without bin/java ({empty});"
        f" {dumb / 'bin' / 'java'} is a program that does not say its version ({dumb / 'bin' / 'java'}); {CURE}",
    )
