"""`penstock verify` prints the matrix rule by rule and says by its exit status whether all is well."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from penstock.cli import main
from penstock.tck.outcome import Outcome, Report, Status
from penstock.tck.report import render, summary

MODULE = """
from tests.tck.publisher.broken_publishers import IgnoresZero
from tests.tck.subscriber.broken_subscribers_sound import Greedy
from tests.tck.publisher.correct_publishers import CppPublisher, FailsAfter, SyncPublisher, UnicastPublisher, numbers

closes = 0
number = 7

class Factories:
    def sound(n):
        return SyncPublisher(numbers(n))

def failing(k):
    return SyncPublisher(FailsAfter(k))

def broken(n):
    made = SyncPublisher(numbers(n))
    made.run = IgnoresZero
    return made

def unicast(n):
    return UnicastPublisher(numbers(n))

def cpp(n):
    return CppPublisher(numbers(n))

def one(n):
    return SyncPublisher([n and 1])

def nothing():
    pass
"""

FAST = ("--settle", "subjects:nothing", "--elements", "50")
ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def subjects(tmp_path, monkeypatch):
    (tmp_path / "subjects.py").write_text(MODULE)
    (tmp_path / "raising.py").write_text("raise OSError('no disk')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(ROOT), *sys.path])
    monkeypatch.delitem(sys.modules, "subjects", raising=False)


def verify(capsys, *arguments):
    status = main(["verify", *arguments])
    printed = capsys.readouterr()
    return status, printed.out.splitlines(), printed.err


def test_a_sound_publisher_exits_with_0(capsys):
    status, lines, errors = verify(
        capsys,
        "publisher",
        "subjects:Factories.sound",
        "--failing",
        "subjects:failing",
        "--over",
        "subjects:SyncPublisher",
        "--closes-source",
        *FAST,
    )
    assert (status, errors) == (0, "")
    assert lines[0] == "publisher subjects:Factories.sound by the JVM text"
    assert "1.1   passed          publisher.demand_never_exceeded" in lines
    assert lines[lines.index("3.4   not applicable  publisher.request_returns") + 1] == (
        "        why: it does not claim to be asynchronous"
    )
    assert lines[-1] == "54 passed, 0 failed, 4 not applicable"


def test_a_broken_publisher_exits_with_1_and_says_what_to_look_at(capsys):
    status, lines, _ = verify(capsys, "publisher", "subjects:broken", *FAST)
    assert status == 1
    place = lines.index("3.9   failed          publisher.zero_request_is_an_error")
    assert lines[place + 1] == "        seen: request(0) brought no on_error"
    assert lines[place + 2].startswith("        look: ")
    assert lines[place + 3].startswith("        rule: ")
    assert lines[-1].endswith("; broken: 3.9")


def test_a_publisher_of_the_cpp_dialect_is_shown_by_its_own_numbers(capsys):
    status, lines, _ = verify(capsys, "publisher", "subjects:cpp", "--dialect", "cpp", *FAST)
    assert status == 0
    assert lines[0] == "publisher subjects:cpp by the C++ text"
    assert "3.12 (JVM 3.13)  passed          publisher.cancelled_subscriber_is_released" in lines
    assert "1.11 (C++ only)  passed          publisher.subscription_outlives_publisher" in lines


@pytest.mark.parametrize(
    "arguments",
    [
        ("publisher", "subjects:unicast", "--unicast"),
        ("publisher", "subjects:one", "--min-elements", "1", "--max-elements", "1"),
        ("publisher", "subjects:one", "--min-elements", "1", "--max-elements", "1", "--never-ends"),
        (
            "publisher",
            "subjects:one",
            "--min-elements",
            "1",
            "--max-elements",
            "1",
            "--timeout",
            "1",
            "--quiet",
            "0.01",
        ),
        ("subscriber", "subjects:Greedy", "--blackbox", "--expects", "5"),
    ],
    ids=" ".join,
)
def test_options_reach_the_verification(capsys, arguments):
    assert verify(capsys, *arguments, *FAST)[0] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("publisher", "subjects"), "a name must be like package.module:factory, got 'subjects'"),
        (("publisher", "missing:factory"), "importing missing failed: ModuleNotFoundError: No module named 'missing'"),
        (("publisher", "raising:factory"), "importing raising failed: OSError: no disk"),
        (("publisher", "subjects:missing"), "subjects has no missing"),
        (("publisher", "subjects:Factories.missing"), "subjects has no Factories.missing"),
        (("publisher", "subjects:number"), "subjects:number must be a function, got 7"),
        (
            ("publisher", "missing.py:factory"),
            (
                "importing missing.py failed: ModuleNotFoundError: No module named 'missing';"
                " a module is named without .py: missing:factory"
            ),
        ),
        (
            ("publisher", "subjects:nothing"),
            (
                "a publisher factory takes the number of elements, but subjects:nothing cannot be called so: "
                "too many positional arguments"
            ),
        ),
        (
            ("subscriber", "subjects:nothing"),
            (
                "a subscriber factory takes a probe (or say --blackbox), but subjects:nothing cannot be called so: "
                "too many positional arguments"
            ),
        ),
        (
            ("processor", "subjects:failing"),
            (
                "a processor factory takes no argument, but subjects:failing cannot be called so: "
                "missing a required argument: 'k'"
            ),
        ),
        (("publisher", "subjects:cpp", "--failing", "subjects:gone"), "subjects has no gone"),
        (("publisher", "subjects:cpp", "--closes-source"), "--closes-source needs --over"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_cannot_be_run_exits_with_2(capsys, arguments, message):
    assert verify(capsys, *arguments) == (2, [], f"penstock verify: {message}\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "the following arguments are required: verify|run|explain|prepare|doctor"),
        (("verify",), "the following arguments are required: publisher|subscriber|processor|pull-..."),
        (
            ("verify", "publisher", "subjects:cpp", "--elements", "0"),
            "argument --elements: must be a whole number >= 1, got '0'",
        ),
        (
            ("verify", "publisher", "subjects:cpp", "--timeout", "soon"),
            "argument --timeout: must be a number of seconds > 0, got 'soon'",
        ),
        (
            ("verify", "publisher", "subjects:cpp", "--quiet", "inf"),
            "argument --quiet: must be a number of seconds > 0, got 'inf'",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_bad_command_line_exits_with_2(capsys, arguments, message):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert capsys.readouterr().err.splitlines()[-1].endswith(f"error: {message}")


@pytest.mark.parametrize(
    "command",
    [[sys.executable, "-m", "penstock"], [str(Path(sys.executable).parent / "penstock")]],
    ids=["module", "script"],
)
def test_runs_where_it_is_called(command, tmp_path):
    (tmp_path / "empty.py").write_text("""
class Over:
    def request(self, n): pass
    def cancel(self): pass

class Empty:
    def subscribe(self, subscriber):
        if subscriber is None:
            raise TypeError
        subscriber.on_subscribe(Over())
        subscriber.on_complete()

def make(n):
    return Empty()
""")
    arguments = ["verify", "publisher", "empty:make", "--max-elements", "0", "--quiet", "0.01"]
    ran = subprocess.run([*command, *arguments], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert ran.returncode == 1, ran.stderr  # it sends on_complete although it was cancelled
    assert ran.stdout.splitlines()[-1].endswith("; broken: 1.8")


def test_an_empty_report_can_be_shown():
    assert render(Report("nothing", ())) == "nothing by the JVM text\n\n\n0 passed, 0 failed, 0 not applicable"


def test_a_summary_names_each_broken_rule_once():
    failed = Outcome("1.1", "publisher.demand_never_exceeded", Status.FAILED, "seen", "look")
    assert summary(Report("it", (failed, failed))) == "0 passed, 2 failed, 0 not applicable; broken: 1.1"
