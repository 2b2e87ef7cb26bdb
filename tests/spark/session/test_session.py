from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark import SparkContext

from penstock.spark import Spark, SparkClosedError, SparkSetupError
from penstock.spark.session.held import package_zip
from penstock.spark.session.java import CURE, Java, find_java
from penstock.spark.session.jvm.options import quick_start
from penstock.spark.session.launch import settings
from tests.spark.processes import QUICK_JVM

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Let another process live through the lives of several sessions, and return what it saw."""
    folder = tmp_path_factory.mktemp("life")
    ran = subprocess.run(
        [sys.executable, "-m", "tests.spark.lifecycle"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])},
        capture_output=True,
        text=True,
        check=False,
        timeout=1000,
    )
    told = [line.removeprefix("SEEN ") for line in ran.stdout.splitlines() if line.startswith("SEEN ")]
    assert told, ran.stderr
    found: dict[str, Any] = json.loads(told[0])
    found["stderr"] = ran.stderr
    return found


# A life in another process.


def test_an_embedded_session_answers(seen: dict[str, Any]) -> None:
    assert seen["answer"] == [0, 2, 4, 6, 8]


def test_close_leaves_no_process_thread_or_port(seen: dict[str, Any]) -> None:
    running = seen["running"]
    assert running["processes"] >= 2  # the JVM and a Python worker, or this test would prove nothing
    assert running["ports"] >= 2
    assert seen["closed"] == seen["before"]
    assert seen["before"]["threads"] == ["MainThread"]


def test_a_session_that_does_not_start_leaves_nothing(seen: dict[str, Any]) -> None:
    assert re.match(r"^SparkSetupError: spark: the session did not start: .*exited.*$", seen["bad conf"])
    taken = r"java\.net\.BindException: .*Address already in use: Service 'sparkDriver' failed .*"
    assert re.match(f"^SparkSetupError: spark: the session did not start: {taken}$", seen["busy port"])
    assert seen["after failures"] == seen["before"]


def test_the_environment_is_put_back(seen: dict[str, Any]) -> None:
    assert seen["running"]["environment"] == seen["before"]["environment"]


def test_an_embedded_session_listens_on_loopback_only(seen: dict[str, Any]) -> None:
    loopback = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}
    assert set(seen["addresses"]) <= loopback


def test_a_session_writes_nothing_into_the_working_folder(seen: dict[str, Any]) -> None:
    assert seen["files"] == []


def test_a_session_starts_and_works_quietly(seen: dict[str, Any]) -> None:
    found = re.search(r"STARTING\n(.*)CLOSING\n", seen["stderr"], re.DOTALL)
    assert found
    assert found[1] == ""


def test_the_gate_is_one_and_is_closed_with_the_session(seen: dict[str, Any]) -> None:
    assert seen["one gate"]
    assert seen["gate closed"]


def test_a_second_session_in_one_process_is_refused(seen: dict[str, Any]) -> None:
    assert seen["second"] == (
        "SparkSetupError: spark: a Spark session runs in this process already;"
        " give it as Spark(session=...), or stop it first"
    )


def test_closing_ends_all_that_runs_and_whoever_waits_is_told(seen: dict[str, Any]) -> None:
    closed = "GateError: stream: the Spark session was closed"
    assert seen["ends"] == dict.fromkeys(("batch", "live", "through", "loop", "run"), closed)


def test_what_is_left_of_a_closed_session_says_so(seen: dict[str, Any]) -> None:
    kept = seen["kept"]
    assert kept.pop("a stream made before") == (
        "GateError: gate: it is closed, and so is the Spark session that it belonged to"
    )
    assert kept == dict.fromkeys(kept, "SparkClosedError: spark: the session is closed; make a new Spark()")
    assert len(kept) == 10


def test_a_stopped_session_is_not_borrowed(seen: dict[str, Any]) -> None:
    assert seen["stopped"] == "SparkClosedError: spark: session must be running, got one that was stopped"


# In this process.


def test_a_closed_spark_says_so_and_leaves_what_it_borrowed_running(spark: Spark) -> None:
    borrowed = Spark(session=spark.session)
    assert repr(borrowed) == "Spark(local[2])"
    borrowed.close()
    borrowed.close()
    assert (borrowed.closed, repr(borrowed)) == (True, "Spark(closed)")
    for use in (
        lambda: borrowed.session,
        lambda: borrowed.gate,
        lambda: borrowed.stage(None, "n long"),  # type: ignore[arg-type]
        lambda: borrowed.partitioned([1], list, "n long"),
        lambda: borrowed.on_close(print),
    ):
        with pytest.raises(SparkClosedError, match=r"^spark: the session is closed; make a new Spark\(\)$"):
            use()
    assert spark.session.range(1).count() == 1


def test_what_was_left_for_close_happens_last_first_and_all_of_it(spark: Spark) -> None:
    borrowed = Spark(session=spark.session)
    order: list[int] = []

    def broken() -> None:
        order.append(2)
        raise OSError("no")

    borrowed.on_close(lambda: order.append(1))
    borrowed.on_close(broken)
    borrowed.on_close(lambda: order.append(3))
    with pytest.raises(OSError, match=r"^no$"):
        borrowed.close()
    assert order == [3, 2, 1]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"master": "local", "remote": "sc://x"}, TypeError, "got master and remote"),
        ({"session": 5}, TypeError, "spark: session must be a SparkSession, got 5"),
        ({"remote": "http://x"}, ValueError, "spark: remote must be like sc://host:15002, got 'http://x'"),
    ],
)
def test_wrong_arguments_are_refused(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"{re.escape(message)}$"):
        Spark(**options)


def test_conf_for_a_borrowed_session_is_refused(spark: Spark) -> None:
    message = "spark: conf must be left out for a session that runs already; use session.conf.set"
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        Spark(session=spark.session, conf={"spark.x": 1})


def test_connect_without_its_parts_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "grpc", None)
    message = "spark: remote needs Spark Connect; install it with `pip install pyspark[connect]`"
    with pytest.raises(SparkSetupError, match=f"^{re.escape(message)}$"):
        Spark(remote="sc://127.0.0.1:15002")


class _NoContext:
    _active_spark_context = None
    _gateway = None


def test_a_master_that_does_not_answer_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.spark.session.launch.SparkContext", _NoContext)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound but not listening: nobody else gets the port, and nobody answers
        port = taken.getsockname()[1]
        message = f"spark: no master answers at spark://127.0.0.1:{port}: 127.0.0.1:{port}: Connection refused"
        with pytest.raises(SparkSetupError, match=f"^{re.escape(message)}$"):
            Spark(master=f"spark://127.0.0.1:{port}")
    with pytest.raises(ValueError, match=r"^spark: master must be like spark://host:7077, got 'spark://x:y'$"):
        Spark(master="spark://x:y")
    message = "spark: master must be local[*], spark://host:7077, yarn or k8s://..., got 'nonsense'"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        Spark(master="nonsense")
    with pytest.raises(ValueError, match=rf"^{re.escape(message.replace('nonsense', 'local[nonsense]'))}$"):
        Spark(master="local[nonsense]")


def test_a_missing_or_wrong_java_is_reported_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("penstock.spark.session.launch.SparkContext", _NoContext)
    monkeypatch.setattr("penstock.spark.session.java.find_java.__defaults__", ({"PATH": str(tmp_path)}, ()))
    message = f"spark: Java 17 or newer must be installed, found none; {CURE}"
    with pytest.raises(SparkSetupError, match=f"^{re.escape(message)}$"):
        Spark()
    old = tmp_path / "old"
    (old / "bin").mkdir(parents=True)
    (old / "bin" / "java").touch(mode=0o755)
    (old / "release").write_text('JAVA_VERSION="11.0.9"')
    monkeypatch.setattr("penstock.spark.session.java.find_java.__defaults__", ({"JAVA_HOME": str(old)}, ()))
    message = f"spark: Java 17 or newer must be installed, but JAVA_HOME {old} is Java 11.0.9 ({old}); {CURE}"
    with pytest.raises(SparkSetupError, match=f"^{re.escape(message)}$"):
        Spark()


def test_settings_bind_to_loopback_only_where_everything_is_here() -> None:
    for master in ("local", "local[*]", "local-cluster[1,1,512]", "spark://127.0.0.1:7077", "spark://localhost:7077"):
        assert settings(master, ui=False)["spark.driver.bindAddress"] == "127.0.0.1", master
    for master in ("spark://host:7077", "spark://127.0.0.1:1,host:2", "yarn", "k8s://https://host"):
        assert "spark.driver.bindAddress" not in settings(master, ui=False), master
    assert settings("local", ui=False)["spark.ui.enabled"] == "false"
    assert settings("local", ui=True)["spark.ui.enabled"] == "true"


def test_the_jvm_of_an_embedded_session_puts_off_what_can_wait(spark: Spark) -> None:
    gateway: Any = SparkContext._gateway
    words = Path(f"/proc/{gateway.proc.pid}/cmdline").read_text(encoding="utf-8").split("\0")
    ours = [words.index(option) for option in quick_start(find_java()).split()]
    assert len(ours) == 5
    assert max(ours) < words.index(QUICK_JVM.split()[0])  # what a user says comes later, and counts
    assert quick_start(Java(Path("/"), "17", "Openj9")) == ""


def test_the_shipped_package_is_whole(tmp_path: Path) -> None:
    archive = package_zip(tmp_path)
    code = "import sys; sys.path.insert(0, sys.argv[1]); import penstock; print(penstock.Stream.range(3).count().get())"
    ran = subprocess.run([sys.executable, "-I", "-S", "-c", code, archive], capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.stderr) == ("3\n", "")


@pytest.mark.parametrize("name", ["pyspark", "pyarrow"])
def test_a_missing_library_says_what_to_install(name: str) -> None:
    code = f"import sys; sys.modules[{name!r}] = None; import penstock; import penstock.spark"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    message = f"penstock.spark needs PySpark and PyArrow, {name} is missing: pip install penstock[spark]"
    assert ran.stderr.splitlines()[-1] == f"ModuleNotFoundError: {message}"
