"""`penstock verify pull-source`, `pull-through` and `pull-sink` print the matrix property by property."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from penstock.cli import main

MODULE = """
from penstock import pull
from tests.tck.pull import broken_pull, broken_pull_sound as sound

def source(n):
    return pull.values(range(n)) if n is not None else pull.count()

def failing(n):
    def items():
        yield from range(n)
        raise OSError("planned")
    return pull.values(items())

def forgetful(n):
    return broken_pull.ForgetsTheAbort(sound.Supply(n))

def one(n):
    return pull.once("only")

def endless(n):
    return pull.count()

def both(inputs):
    return pull.cat(inputs)

def odd():
    return pull.filter(lambda n: n % 2)

def odd_values(values):
    return [n for n in values if n % 2]

def fails(error):
    def fn(n):
        raise error
    return pull.map(fn)

def started(start):
    return pull.async_map(start)

def hooked(hook):
    return pull.through(None, hook)

def wrapped():
    return broken_pull.WrapsErrors

def ahead():
    return pull.buffer(3)

def caught():
    return pull.catch()

def sink(done):
    return pull.drain(None, done)

def sink_of(done, count):
    seen = []
    return pull.drain(lambda n: [seen.append(n), len(seen) < count][1], done)

def sink_fails(done, error):
    def op(n):
        raise error
    return pull.drain(op, done)

def loud(done):
    return broken_pull.TellsTheEndTwice(None, done)

def nothing():
    pass
"""

FAST = ("--settle", "modules:nothing", "--elements", "50")
ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def modules(tmp_path, monkeypatch):
    (tmp_path / "modules.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(ROOT), *sys.path])
    monkeypatch.delitem(sys.modules, "modules", raising=False)


def verify(capsys, *arguments):
    status = main(["verify", *arguments])
    printed = capsys.readouterr()
    return status, printed.out.splitlines(), printed.err


def test_a_sound_source_exits_with_0(capsys):
    status, lines, errors = verify(
        capsys, "pull-source", "modules:source", "--failing", "modules:failing", "--over", "penstock.pull:values",
        "--stuck", "penstock.pull:pushable", "--combines", "modules:both", *FAST,
    )  # fmt: skip
    assert (status, errors) == (0, "")
    assert lines[0] == "source modules:source by the properties of the pull-stream protocol"
    assert "B3   passed          pull_source.answers_come_in_order" in lines
    assert lines[-1] == "29 passed, 0 failed, 0 not applicable"


def test_a_broken_source_exits_with_1_and_says_what_to_look_at(capsys):
    status, lines, _ = verify(capsys, "pull-source", "modules:forgetful", *FAST)
    assert status == 1
    place = lines.index("A5   failed          pull_source.an_abort_stays")
    assert lines[place + 1 : place + 4] == [
        (
            "       seen: request 2 was answered with the value 'again', though it came after the abort"
            " (seen in pull_source.an_abort_stays)"
        ),
        "       look: Look at whether an abort is remembered, or only answered.",
        "       property: After an abort, asks and aborts are answered with an end and indications are ignored.",
    ]
    assert lines[-1].endswith("; broken: A5")


def test_a_sound_through_exits_with_0(capsys):
    status, lines, errors = verify(
        capsys, "pull-through", "modules:odd", "--expects", "modules:odd_values", "--stopping", "penstock.pull:take",
        "--failing", "modules:fails", "--working", "modules:started", "--hooked", "modules:hooked",
        "--flattens", "penstock.pull:flatten", *FAST,
    )  # fmt: skip
    assert (status, errors) == (0, "")
    assert lines[0] == "through modules:odd by the properties of the pull-stream protocol"
    assert lines[-1] == "39 passed, 0 failed, 0 not applicable"


def test_a_sound_sink_exits_with_0(capsys):
    status, lines, errors = verify(
        capsys, "pull-sink", "modules:sink", "--stopping", "modules:sink_of", "--failing", "modules:sink_fails", *FAST
    )
    assert (status, errors) == (0, "")
    assert lines[0] == "sink modules:sink by the properties of the pull-stream protocol"
    assert lines[-1] == "10 passed, 0 failed, 0 not applicable"


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (("pull-source", "modules:one", "--exactly", "1"), 0),
        (("pull-source", "modules:endless", "--never-ends"), 0),
        (("pull-through", "modules:ahead", "--eager"), 0),
        (("pull-through", "modules:ahead"), 1),
        (("pull-through", "modules:caught", "--recovers"), 0),
        (("pull-through", "modules:caught"), 1),
        (("pull-through", "modules:wrapped"), 1),
        (("pull-sink", "modules:loud"), 1),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_options_reach_the_verification(capsys, arguments, status):
    assert verify(capsys, *arguments, *FAST)[0] == status


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("pull-source", "modules:nothing"),
            (
                "a source factory takes the number of values, but modules:nothing cannot be called so: "
                "too many positional arguments"
            ),
        ),
        (
            ("pull-through", "modules:source"),
            (
                "a through factory takes no argument, but modules:source cannot be called so: "
                "missing a required argument: 'n'"
            ),
        ),
        (
            ("pull-sink", "modules:nothing"),
            (
                "a sink factory takes a function to be told the end, but modules:nothing cannot be called so: "
                "too many positional arguments"
            ),
        ),
        (("pull-source", "modules:gone"), "modules has no gone"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_cannot_be_run_exits_with_2(capsys, arguments, message):
    assert verify(capsys, *arguments) == (2, [], f"penstock verify: {message}\n")
