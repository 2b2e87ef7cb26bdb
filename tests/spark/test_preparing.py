"""preparing: an archive of Spark's classes is found, used without a word, and never half written."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from pyspark import SparkContext

from penstock.cli import main
from penstock.spark import Spark, SparkSetupError, prepare, preparing
from penstock.spark.session.class_archive import options
from penstock.spark.session.java import Java, find_java

SMALL = "import sys; open(sys.argv[1], 'wb').write(b'classes')"
"""A builder that needs no JVM."""

STARTED = """
import sys
from pyspark import SparkContext
from penstock.spark import Spark
with Spark(master="local[1]", class_cache=sys.argv[1] == "on") as spark:
    jvm = SparkContext._gateway.proc.pid
    with open(f"/proc/{jvm}/maps") as maps:
        print(sorted({line.split()[-1] for line in maps if ".jsa" in line and "spark-classes" in line}))
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep archives in a folder of the test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "penstock"


def names(cache: Path) -> list[str]:
    return sorted(file.name for file in cache.iterdir())


def test_a_jvm_starts_from_the_archive_and_says_nothing_about_it(
    spark: Spark, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gateway: Any = SparkContext._gateway
    words = Path(f"/proc/{gateway.proc.pid}/cmdline").read_text(encoding="utf-8").split("\0")
    classpath = words[words.index("-cp") + 1]  # which must be the same for Java to take the archive
    # Spark's launcher is small enough to be archived in a second; Spark starts from it as from a larger one.
    command = [words[0], "-XX:ArchiveClassesAtExit=", "-cp", classpath, "org.apache.spark.launcher.Main", "none"]
    script = f"import subprocess, sys; words = {command!r}; words[1] += sys.argv[1]; subprocess.run(words)"
    monkeypatch.setattr(preparing, "_BUILD", script)
    made = prepare()
    used = subprocess.run([sys.executable, "-c", STARTED, "on"], capture_output=True, text=True, check=True)
    assert used.stdout == f"[{str(made)!r}]\n"
    assert used.stderr == ""  # not even that Spark asks for a module that Java warns of


def test_nothing_is_used_that_is_not_there_or_not_whole(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = find_java()
    assert options(java) == ""
    monkeypatch.setattr(preparing, "_BUILD", SMALL)
    made = prepare()
    assert names(cache) == [made.name]
    assert options(java) == f'"-XX:SharedArchiveFile={made}" -Xshare:auto -Xlog:cds*=off'
    assert prepare() == made  # it is there
    assert options(Java(java.home.parent, java.version)) == ""  # another Java
    made.write_bytes(b"class")
    assert options(java) == ""


def test_a_builder_that_fails_leaves_nothing(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparing, "_BUILD", "import sys; sys.exit('no room')")
    with pytest.raises(SparkSetupError, match=r"^prepare: no archive of Spark's classes could be written: no room$"):
        prepare()
    monkeypatch.setattr(preparing, "_BUILD", "pass")
    with pytest.raises(SparkSetupError, match=r"^prepare: no archive of Spark's classes .*: Java wrote none$"):
        prepare()
    assert names(cache) == []


def test_several_may_prepare_at_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparing, "_BUILD", SMALL)
    made: list[Path] = []
    threads = [threading.Thread(target=lambda: made.append(prepare())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 4
    assert names(cache) == [made[0].name]
    assert made[0].read_bytes() == b"classes"


def test_the_command_line_prepares(
    cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(preparing, "_BUILD", "import sys; sys.exit('no room')")
    assert main(["prepare"]) == 2
    told = "penstock prepare: no archive of Spark's classes could be written: no room\n"
    assert capsys.readouterr().err == told
    monkeypatch.setattr(preparing, "_BUILD", SMALL)
    assert main(["prepare"]) == 0
    out, err = capsys.readouterr()
    assert out == f"{cache / names(cache)[0]}\n"
    assert re.fullmatch(r"penstock prepare: done in \d+ s\n", err)
    assert main(["prepare", "--quiet"]) == 0
    assert capsys.readouterr() == (out, "")


def test_the_steps_are_told(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = "print('step: 1 of 2: one'); print('of no interest'); print('step: 2 of 2: two')"
    monkeypatch.setattr(preparing, "_BUILD", f"{told}; {SMALL}")
    steps: list[str] = []
    prepare(steps.append)
    assert steps == ["1 of 2: one", "2 of 2: two"]


# It starts what stands for the JVM, says its number, and hangs.
HANGING = """
import subprocess, sys, threading
from penstock.spark.preparing import _end_with_caller
threading.Thread(target=_end_with_caller, daemon=True).start()
open(sys.argv[1], "wb").write(b"half")
jvm = subprocess.Popen([sys.executable, "-c", "import threading; threading.Event().wait()"])
print("step: hanging", jvm.pid, flush=True)
jvm.wait()
"""
PREPARES = f"""
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell lets what it starts beside itself ignore it
from penstock.cli import main
from penstock.spark import preparing
preparing._BUILD = {HANGING!r}
sys.exit(main(["prepare"]))
"""


def runs(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)],
    ids=lambda value: str(value),
)
def test_nothing_is_left_of_one_that_is_broken_off(cache: Path, number: signal.Signals, status: int) -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(
        [sys.executable, "-c", PREPARES], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    assert process.stderr is not None
    jvm = int(process.stderr.readline().removeprefix("penstock prepare: hanging "))
    assert runs(jvm)
    process.send_signal(number)
    out, err = process.communicate(timeout=1000)
    told = "" if number == signal.SIGKILL else "penstock prepare: broken off; nothing of it is left\n"
    assert (process.returncode, out, err) == (status, "", told)
    gone = threading.Event()
    while runs(jvm):  # only a killed caller is noticed a moment later
        gone.wait(0.01)
    if number == signal.SIGKILL:  # what it has left goes with the next
        (left,) = names(cache)
        assert left.startswith(f"preparing-{process.pid}-")
        preparing._clear_up()
    assert names(cache) == []


def test_one_that_takes_too_long_is_ended(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparing, "_BUILD", HANGING)
    monkeypatch.setattr(preparing, "_PATIENCE", 0.5)
    told = "no archive of Spark's classes could be written: it was not done within 0.5 seconds"
    with pytest.raises(SparkSetupError, match=rf"^prepare: {told}$"):
        prepare()
    assert names(cache) == []
