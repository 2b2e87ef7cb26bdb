"""scripts: no part of the tests hides another, in CI neither, and a newer Python is found where it is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def program(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def run(*command: str | Path, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    found = os.environ["PATH"] if path is None else f"{path}{os.pathsep}/usr/bin{os.pathsep}/bin"
    return subprocess.run(
        [str(each) for each in command],
        cwd=ROOT,
        env=os.environ | {"PATH": found},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("fast", "servers", "session", "own", "status"),
    [
        (0, 0, 0, 0, 0),
        (1, 0, 0, 0, 1),
        (0, 1, 0, 0, 1),
        (0, 0, 1, 0, 1),
        (0, 0, 0, 1, 1),
        (1, 1, 1, 1, 1),
        (5, 5, 0, 5, 0),
        (0, 5, 5, 5, 0),
        (5, 0, 5, 5, 0),
        (1, 5, 5, 5, 1),
        (5, 2, 5, 5, 1),
        (5, 5, 5, 5, 5),
    ],
)
def test_every_part_runs_and_the_status_is_that_of_all(
    tmp_path: Path, fast: int, servers: int, session: int, own: int, status: int
) -> None:
    fake = program(
        tmp_path / "python",
        f'case "$*" in *--ignore*) echo fast ended; exit {fast};; *"not session"*) echo own ended; exit {own};; '
        f"*connectors*) echo servers ended; exit {servers};; *) echo shared ended; exit {session};; esac",
    )
    done = run("scripts/test-all", fake, "-k", "take")
    assert done.returncode == status
    assert done.stdout.splitlines()[:4] == ["fast ended", "servers ended", "shared ended", "own ended"]
    parts = "\n== without Spark and servers\nfast ended\n\n== with servers\nservers ended\n\n== with Spark\nown ended\n"
    assert done.stdout.endswith(parts)


def test_what_failed_is_repeated_at_the_end(tmp_path: Path) -> None:
    text = 'echo "=== short test summary info ==="; echo "FAILED $4"; echo "1 failed"; exit 1'
    done = run("scripts/test-all", program(tmp_path / "python", text))
    _, _, summaries = done.stdout.partition("== without Spark and servers\n")
    assert summaries.count("FAILED") == 4


def test_arguments_reach_every_part_whole(tmp_path: Path) -> None:
    done = run("scripts/test-all", program(tmp_path / "python", 'for last; do :; done; echo "[$last]"'), "a and b")
    assert done.stdout.splitlines()[:4] == ["[a and b]"] * 4


MADE = """
.venv/installed-%: ; @echo $@
check: ; @{check}
test: ; @echo tested
fast: ; @echo fast $(VENV) $(ARGS)
docs: ; @echo docs
free-threaded: ; @echo free-threaded $(PYTHON)
spark-versions: ; @{oldest}
"""


@pytest.mark.parametrize(
    ("check", "oldest", "status"),
    [
        ("true", "true", 0),
        ("false", "true", 1),
        ("true", "false", 1),
        ("true", "kill -9 $$(cut -d ' ' -f 4 /proc/$$PPID/stat)", 1),  # the shell that runs it
    ],
)
def test_every_part_of_ci_runs_and_one_that_fails_is_seen(tmp_path: Path, check: str, oldest: str, status: int) -> None:
    for folder in (".ci", "scripts"):
        (tmp_path / folder).mkdir()
    shutil.copy(ROOT / ".ci" / "run", tmp_path / ".ci")
    program(tmp_path / "scripts" / "newer-python", f"echo {sys.executable}")
    program(tmp_path / "scripts" / "free-threaded-python", "echo python3.14t")
    (tmp_path / "Makefile").write_text(MADE.format(check=check, oldest=oldest), encoding="utf-8")
    done = run(tmp_path / ".ci" / "run")
    assert done.returncode == status, done.stdout + done.stderr
    assert [line for line in done.stdout.splitlines() if line.startswith(("tested", "fast", "free"))] == [
        "tested",
        f"fast .venv-{sys.version_info[0]}.{sys.version_info[1]} tests/engine tests/operators tests/stage",
        "free-threaded python3.14t",
    ]
    assert done.stdout.count(": failed after ") == 2 * status - done.stdout.count("before its end")
    assert ("== all passed, after " in done.stdout) is (status == 0)


def pretender(path: Path, version: str) -> Path:
    """Make a program that says it is a Python of some version, by what this one would say of it."""
    minor = version.split(".")[1]
    return program(
        path, f"exec {sys.executable} -c 'import sys; sys.version_info = (3, {minor}, 0); exec(sys.argv[1])' \"$2\""
    )


def test_the_newest_python_on_the_path_is_found(tmp_path: Path) -> None:
    old = pretender(tmp_path / "python", "3.11")
    program(tmp_path / "python3.13", "exit 1")  # whatever else the machine has
    pretender(tmp_path / "python3.12", "3.12")
    assert run("scripts/newer-python", old, path=tmp_path).stdout == "python3.12\n"
    pretender(tmp_path / "python3.13", "3.13")
    assert run("scripts/newer-python", old, path=tmp_path).stdout == "python3.13\n"
    assert run("scripts/newer-python", tmp_path / "python3.13", path=tmp_path).stdout == ""


def test_a_python_of_pyenv_is_found_behind_a_shim_that_does_nothing(tmp_path: Path) -> None:
    old = pretender(tmp_path / "python", "3.12")
    program(tmp_path / "python3.13", "exit 127")
    program(tmp_path / "pyenv", f'if [ "$1" = versions ]; then echo 3.13.9; echo 3.13.10; else echo {tmp_path}/$2; fi')
    (tmp_path / "3.13.10" / "bin").mkdir(parents=True)
    newest = pretender(tmp_path / "3.13.10" / "bin" / "python", "3.13")
    assert run("scripts/newer-python", old, path=tmp_path).stdout == f"{newest}\n"


def test_a_free_threaded_python_is_one_whose_gil_is_off(tmp_path: Path) -> None:
    def free(name: str, enabled: str) -> Path:
        text = (
            f"exec {sys.executable} -c 'import sys; sys._is_gil_enabled = lambda: {enabled}; exec(sys.argv[1])' \"$2\""
        )
        return program(tmp_path / name, text)

    program(tmp_path / "python3.14t", "exit 127")  # whatever else the machine has
    free("python3.13t", "True")
    program(tmp_path / "pyenv", "exit 0")
    assert run("scripts/free-threaded-python", path=tmp_path).stdout == ""
    free("python3.13t", "False")
    assert run("scripts/free-threaded-python", path=tmp_path).stdout == "python3.13t\n"
    free("python3.14t", "False")
    assert run("scripts/free-threaded-python", path=tmp_path).stdout == "python3.14t\n"


def test_browser_that_is_there_is_left_alone(tmp_path: Path) -> None:
    program(tmp_path / "chromium", "exit 0")
    done = subprocess.run(
        ["/bin/sh", "scripts/ensure-browser"],
        cwd=ROOT,
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_browser_that_is_missing_and_cannot_be_installed_is_named_with_the_cure(tmp_path: Path) -> None:
    done = subprocess.run(
        ["/bin/sh", "scripts/ensure-browser"],
        cwd=ROOT,
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "On Debian: sudo apt-get install chromium." in done.stderr


def test_browser_is_installed_from_debians_packages(tmp_path: Path) -> None:
    program(tmp_path / "id", "echo 0")
    program(tmp_path / "env", 'shift; "$@"')
    browser = tmp_path / "chromium"
    install = f'printf "#!/bin/sh\\n" > {browser}; /bin/chmod +x {browser}'
    program(tmp_path / "apt-get", f'case "$*" in install*chromium) {install};; esac')
    done = subprocess.run(
        ["/bin/sh", "scripts/ensure-browser"],
        cwd=ROOT,
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "No Chromium was found; installing Debian's\n"), done.stderr
