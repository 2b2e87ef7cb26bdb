"""What every verification does around its trials: it refuses factories, prints nothing, and tells of threads left."""

from __future__ import annotations

import gc
import json
import logging
import subprocess
import sys
import threading
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from penstock import Stream, flow
from penstock.cli import main
from penstock.tck import (
    Limits,
    Report,
    Status,
    render,
    summary,
    to_json,
    to_junit,
    verify_processor,
    verify_publisher,
    verify_pull_sink,
    verify_pull_source,
    verify_pull_through,
    verify_subscriber,
    verify_subscriber_blackbox,
)
from penstock.tck.pytest_classes import PublisherVerification
from tests.tck.publisher.broken_publishers import IgnoresZero
from tests.tck.publisher.broken_publishers_demand import ThreadsOf
from tests.tck.publisher.correct_publishers import PascalPublisher, SyncPublisher, ThreadPublisher, ThreadRun, numbers

QUICK = Limits(elements=20, timeout=1, quiet=0.01)
ROOT = Path(__file__).parents[2]


def broken(*_):
    raise OSError("no disk")


def nothing(*_):
    return None


def sound(n):
    return SyncPublisher(numbers(n))


NO_PUBLISHER = "which is no publisher: it lacks subscribe"
NO_SUBSCRIBER = "which is no subscriber: it lacks on_subscribe, on_next, on_error, on_complete"


@pytest.mark.parametrize(
    ("verify", "factory", "reason"),
    [
        (verify_publisher, broken, "the factory, called with None, raised OSError('no disk')"),
        (verify_publisher, nothing, f"the factory, called with None, returned None, {NO_PUBLISHER}"),
        (
            verify_publisher,
            lambda n: SyncPublisher,
            (
                f"the factory, called with None, returned {SyncPublisher!r}, which is no publisher: "
                "it is a class, and a factory returns what it makes of it"
            ),
        ),
        (verify_subscriber, broken, "the factory, called with SubscriberProbe, raised OSError('no disk')"),
        (verify_subscriber, nothing, f"the factory, called with SubscriberProbe, returned None, {NO_SUBSCRIBER}"),
        (verify_subscriber_blackbox, broken, "the factory raised OSError('no disk')"),
        (verify_subscriber_blackbox, nothing, f"the factory returned None, {NO_SUBSCRIBER}"),
        (verify_processor, broken, "the factory raised OSError('no disk')"),
        (
            verify_processor,
            nothing,
            (
                "the factory returned None, which is no processor: "
                "it lacks on_subscribe, on_next, on_error, on_complete, subscribe"
            ),
        ),
        (verify_pull_source, broken, "the factory, called with 6, raised OSError('no disk')"),
        (
            verify_pull_source,
            nothing,
            (
                "the factory, called with 6, returned None, which is no pull-stream source: "
                "it is not callable and has no read"
            ),
        ),
        (
            verify_pull_through,
            nothing,
            "the factory returned None, which is no pull-stream through: it is not callable",
        ),
        (verify_pull_sink, broken, "the factory, called with Told, raised OSError('no disk')"),
    ],
)
def test_a_factory_that_makes_no_subject_is_not_run(verify, factory, reason):
    report = verify(factory, limits=QUICK, subject="it")
    assert (report.subject, report.outcomes, report.not_run) == ("it", (), reason)
    assert not report.ok
    assert summary(report) == f"not run: {reason}"
    assert render(report).splitlines()[2:] == [f"not run: {reason}"]


def test_a_factory_that_makes_nothing_without_an_end_is_told_what_to_do():
    report = verify_publisher(lambda n: SyncPublisher(range(n)), limits=QUICK)
    assert report.not_run.endswith(
        "None asks for one without an end; if it has none, say how many it can have with max_elements"
    )


def test_a_publisher_of_another_text_is_told_its_dialect():
    made = PascalPublisher(sound(3))
    report = verify_publisher(lambda n: made, limits=QUICK)
    assert report.not_run == (
        f"the factory, called with None, returned {made!r}, {NO_PUBLISHER}; verify it with dialect='dotnet'"
    )


@pytest.mark.parametrize(("option", "called"), [("failing", "0"), ("over", "CountedSource")])
def test_the_other_factories_are_looked_at_too(option, called):
    report = verify_publisher(sound, limits=QUICK, **{option: lambda _: 7})
    assert report.not_run == f"the factory `{option}`, called with {called}, returned 7, {NO_PUBLISHER}"


def test_a_factory_that_raises_now_and_then_is_not_run():
    made = []

    def make(n):
        made.append(n)
        return sound(n) if len(made) < 10 else broken()

    assert verify_publisher(make, limits=QUICK).not_run.endswith("raised OSError('no disk')")


def test_a_class_of_tests_fails_once_and_skips_the_rest():
    class Broken(PublisherVerification):
        limits = QUICK

        def publisher(self, elements):
            return broken()

    with pytest.raises(AssertionError, match=r"^the factory, called with None, raised OSError\('no disk'\)$"):
        Broken().test_it_was_run()
    with pytest.raises(Exception, match="not run: the factory") as skipped:
        Broken().test_rule_1_01_demand_never_exceeded()
    assert type(skipped.value).__name__ == "SkipTest"


# A Flow as a processor.


def test_a_flow_is_verified_as_the_processor_it_makes():
    same = flow(lambda stream: stream.map(lambda element: element))
    for given in (same, lambda: same):
        report = verify_processor(given, limits=QUICK)
        assert report.failed == ()
        for test in ("publisher.failure_is_signalled", "processor.error_is_passed_on_at_once"):
            assert report.outcome(test).status is Status.PASSED


def test_a_flow_that_swallows_failures_fails():
    report = verify_processor(flow(lambda stream: stream.on_error_complete()), limits=QUICK)
    assert {"1.4", "4.2"} <= {outcome.rule for outcome in report.failed}


# What is printed.


def test_a_report_prints_as_its_matrix():
    report = verify_publisher(sound, limits=QUICK, settle=lambda: None)
    assert str(report) == render(report)
    assert "publisher.demand_never_exceeded" in str(report)


class LetsItOut(ThreadRun):
    """Lets what its subscriber raises end its thread, which Python prints."""

    def serve(self, subscriber):
        subscriber.on_subscribe(self)
        for element in self.publisher.source:
            if not self.wait():
                return
            if self.refused is not None:
                subscriber.on_error(ValueError("rule 3.9: a request must be positive"))
                return
            subscriber.on_next(element)
        if not self.over:
            subscriber.on_complete()


def letting_it_out(n):
    made = ThreadsOf(numbers(n))
    made.serving = LetsItOut
    return made


class LetsItOutOfItsThread:
    """A source that answers on a thread for each request, which what an answer function raises ends."""

    def __init__(self):
        self.end = None

    def __call__(self, abort, answer=None):
        self.end = self.end or abort
        value = (None, 0) if self.end is None else (self.end,)
        if answer is not None:
            answering = threading.Thread(target=answer, args=value)
            answering.start()
            answering.join()


PRINTS = """
import sys
sys.path.insert(0, {root!r})
from penstock import Stream
from penstock.tck import Limits, verify_publisher, verify_pull_source
from tests.tck.test_verification import LetsItOutOfItsThread, letting_it_out
limits = Limits(elements=20, quiet=0.02)
print(verify_publisher(lambda n: Stream.range(10**9 if n is None else n), limits=limits).ok)
print(verify_publisher(letting_it_out, limits=limits).failed)
source = verify_pull_source(lambda n: LetsItOutOfItsThread(), limits=limits, finite=False)
print(source.outcome("pull_source.no_exception_crosses").status.value)
"""


def test_a_sound_subject_prints_nothing_but_its_report():
    ran = subprocess.run(
        [sys.executable, "-c", PRINTS.format(root=str(ROOT))], capture_output=True, text=True, check=False
    )
    assert (ran.stdout, ran.stderr) == ("True\n()\npassed\n", "")


def test_handlers_see_no_record_of_what_was_planned():
    seen = []

    class Seeing(logging.Handler):
        def emit(self, record):
            seen.append(record.getMessage())

    handler = Seeing()
    logging.getLogger().addHandler(handler)
    try:
        assert verify_publisher(lambda n: Stream.range(10**9 if n is None else n), limits=QUICK).ok
        assert seen == []
        logging.getLogger("penstock.tests").warning("of another matter")
        assert seen == ["of another matter"]
    finally:
        logging.getLogger().removeHandler(handler)


def test_hooks_and_the_collector_are_as_before():
    hook, frozen, handlers = threading.excepthook, gc.get_freeze_count(), list(logging.getLogger().handlers)
    verify_publisher(broken, limits=QUICK)
    assert (threading.excepthook, gc.get_freeze_count(), logging.getLogger().handlers) == (hook, frozen, handlers)


def test_what_was_there_before_is_not_collected():
    looked_at = []

    def make(n):
        looked_at.append(gc.get_freeze_count())
        return sound(n)

    verify_publisher(make, limits=QUICK, settle=lambda: None)
    assert min(looked_at) > 0


# Threads.


class NeverEnds(ThreadRun):
    """Keeps its thread when its stream is over."""

    gate = threading.Event()

    def serve(self, subscriber):
        super().serve(subscriber)
        del subscriber
        self.gate.wait()


def test_threads_that_are_left_running_are_reported():
    def make(n):
        made = ThreadsOf(numbers(n))
        made.serving = NeverEnds
        return made

    NeverEnds.gate = threading.Event()
    try:
        report = verify_publisher(make, limits=QUICK)
    finally:
        NeverEnds.gate.set()
    assert len(report.left_running) > 10
    assert set(report.left_running) == {"threaded-publisher"}
    assert "left running: " in str(report)
    assert "threads that began meanwhile and did not end (threaded-publisher, " in str(report)


def test_threads_that_end_are_not_reported():
    assert verify_publisher(lambda n: ThreadPublisher(numbers(n)), limits=QUICK).left_running == ()


# JSON and JUnit.


def refusing(n):
    made = sound(n)
    made.run = IgnoresZero
    return made


def test_a_report_as_json():
    report = verify_publisher(refusing, limits=QUICK, settle=lambda: None, subject="it")
    told = json.loads(to_json(report))
    assert (told["subject"], told["dialect"], told["ok"], told["not_run"]) == ("it", "jvm", False, None)
    assert told["counts"]["failed"] == 1
    assert len(told["outcomes"]) == len(report.outcomes)
    (failed,) = (outcome for outcome in told["outcomes"] if outcome["status"] == "failed")
    assert (failed["rule"], failed["id"], failed["test"]) == ("3.9", "3.9", "publisher.zero_request_is_an_error")
    assert failed["detail"] == "request(0) brought no on_error"
    assert failed["hint"]
    assert failed["sentence"]


def test_a_report_as_junit():
    report = verify_publisher(refusing, limits=QUICK, settle=lambda: None, subject="it")
    suite = ET.fromstring(to_junit(report))
    assert (suite.get("name"), suite.get("tests"), suite.get("failures")) == ("it", str(len(report.outcomes)), "1")
    assert len(suite.findall("testcase/skipped")) == int(suite.get("skipped") or 0) > 0
    (failure,) = suite.findall("testcase/failure")
    assert failure.get("message") == "request(0) brought no on_error"


def test_what_was_not_run_is_an_error_in_junit_and_said_in_json():
    report = Report("it", (), not_run="the factory raised OSError('\x00')")
    suite = ET.fromstring(to_junit(report))
    assert (suite.get("errors"), suite.get("tests")) == ("1", "1")
    assert suite.find("testcase/error").get("message") == "the factory raised OSError('\\x00')"
    assert json.loads(to_json(report))["not_run"] == report.not_run


MODULE = """
from penstock import flow
from tests.tck.publisher.correct_publishers import SyncPublisher, numbers

def sound(n):
    return SyncPublisher(numbers(n))

def broken(n):
    raise OSError("no disk")

def none(n):
    return None

def nothing():
    pass

same = flow(lambda stream: stream.map(lambda element: element))
"""


@pytest.fixture
def subjects(tmp_path, monkeypatch):
    (tmp_path / "subjects_of_cli.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(ROOT), *sys.path])
    monkeypatch.delitem(sys.modules, "subjects_of_cli", raising=False)
    return tmp_path


FAST = ("--settle", "subjects_of_cli:nothing", "--elements", "10")
SOUND = "subjects_of_cli:sound"


@pytest.mark.usefixtures("subjects")
@pytest.mark.parametrize(
    "arguments", [(SOUND, *FAST, "--json"), ("--json", SOUND, *FAST), (SOUND, "--json", "-", *FAST)], ids=" ".join
)
def test_json_is_printed_in_place_of_the_matrix(capsys, arguments):
    assert main(["verify", "publisher", *arguments]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["ok"] is True
    assert printed.err == ""


def test_files_are_written_beside_the_matrix(capsys, subjects):
    files = ("--json", "report.json", "--junit", "report.xml")
    assert main(["verify", "publisher", *files, SOUND, *FAST]) == 0
    assert capsys.readouterr().out.startswith(f"publisher {SOUND} by the JVM text\n")
    assert json.loads((subjects / "report.json").read_text())["subject"] == f"publisher {SOUND}"
    assert ET.parse(subjects / "report.xml").getroot().tag == "testsuite"


@pytest.mark.usefixtures("subjects")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "say what to verify, as package.module:factory"),
        (("--json", "report.json"), "say what to verify, as package.module:factory"),
        (
            (SOUND, "--json", "--junit"),
            "--json and --junit cannot both be printed: name a file for one of them",
        ),
        (
            ("subjects_of_cli:broken",),
            ("publisher subjects_of_cli:broken was not run: the factory, called with None, raised OSError('no disk')"),
        ),
        (
            ("subjects_of_cli:none",),
            (
                "publisher subjects_of_cli:none was not run: "
                f"the factory, called with None, returned None, {NO_PUBLISHER}"
            ),
        ),
    ],
)
def test_what_cannot_be_run_exits_with_2_and_one_sentence(capsys, arguments, message):
    assert main(["verify", "publisher", *arguments]) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", f"penstock verify: {message}\n")


@pytest.mark.usefixtures("subjects")
def test_a_file_that_cannot_be_written_exits_with_2(capsys):
    assert main(["verify", "publisher", SOUND, *FAST, "--json", "missing/report.json"]) == 2
    assert capsys.readouterr().err.startswith("penstock verify: missing/report.json cannot be written: ")


@pytest.mark.usefixtures("subjects")
def test_a_flow_can_be_named(capsys):
    assert main(["verify", "processor", "subjects_of_cli:same", "--elements", "10", "--quiet", "0.01"]) == 0
