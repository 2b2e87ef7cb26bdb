"""benchmarks.operators: no operator is forgotten, all contenders compute the same, and the page is well formed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import page
from benchmarks.machine import Machine
from benchmarks.measure import WrongResultError, measure
from benchmarks.operators import __main__ as command
from benchmarks.operators import joints, memory, observed, signals, synchronous
from benchmarks.operators.report import line, markdown
from benchmarks.report import Result
from benchmarks.verdict import Verdict, verdicts
from benchmarks.workload import HAND, PENSTOCK, REACTIVEX, Contender, Workload
from penstock.stage import Source

MACHINE = Machine(cores=2, architecture="x86_64", system="Linux", python="CPython 3.11", versions=((PENSTOCK, "1.0"),))
FLAT = Verdict("memory", "20 operators grow by less than 20 MB", "grew by 0.1 MB over 9 elements", passed=True)
COMPARED = [(each, contender) for each in (*joints.WORKLOADS, *signals.WORKLOADS) for contender in each.contenders]


def result_of(workload: Workload, size: int = 30) -> Result:
    measurement = measure(workload, size, 1)
    return Result(measurement, verdicts(measurement))


def test_every_synchronous_operator_has_a_case_or_a_reason() -> None:
    assert set(synchronous.CASES) | set(synchronous.LEFT_OUT) == synchronous.synchronous_operators()
    assert set(synchronous.CASES) & set(synchronous.LEFT_OUT) == set()


def test_stages_and_sources_that_can_be_iterated_are_synchronous() -> None:
    found = synchronous.synchronous_operators()
    assert {"map", "scan", "zip", "range", "flat_map"} <= found
    assert found & {"map_async", "publish_on", "never", "interval", "using"} == set()


@pytest.mark.parametrize("name", sorted(synchronous.CASES))
@pytest.mark.parametrize("size", [10, 130, 4010])
def test_the_generator_does_what_the_operator_does(name: str, size: int) -> None:
    case = synchronous.CASES[name]
    last = synchronous.expected(name, case, size)
    for contender in synchronous.workload_of(name, case).contenders:
        assert contender.run(size) == last


def test_a_generator_that_does_something_else_is_noticed() -> None:
    odd = replace(synchronous.CASES["map"], hand=iter)
    with pytest.raises(WrongResultError, match=r"^map: penstock must give \[0, 1, 2\], got \[1, 2, 3\]$"):
        synchronous.expected("map", odd, 3)


@pytest.mark.parametrize(("workload", "contender"), COMPARED, ids=[f"{w.name}-{c.name}" for w, c in COMPARED])
def test_every_contender_of_a_joint_or_subject_gives_what_is_expected(workload: Workload, contender: Contender) -> None:
    assert contender.run(130) == workload.expected(130)


def test_the_joints_that_are_asked_for_are_held_against_their_peers() -> None:
    asked = {each.name: {target.at_most for target in each.targets} for each in joints.WORKLOADS}
    assert {name for name, limits in asked.items() if 0.2 in limits} == {"merge", "zip", "flat_map"}
    assert {name for name, limits in asked.items() if 1.0 in limits} == {"combine_latest", "group_by", "share"}


def test_what_is_fed_by_signals_is_held_against_reactivex_and_take_against_take_while() -> None:
    asked = {each.name: [(target.against, target.at_most) for target in each.targets] for each in signals.WORKLOADS}
    assert asked.pop("take behind a boundary") == [(signals.TAKE_WHILE, 1.1)]
    assert set(map(tuple, asked.values())) == {((REACTIVEX, 1.0),)}
    assert {name.split()[0] for name in asked} == {"subject", "merge", "zip", "share"}


@pytest.mark.parametrize("workload", observed.WORKLOADS, ids=lambda workload: workload.name)
def test_what_is_observed_gives_the_same(workload: Workload) -> None:
    assert {contender.run(200) for contender in workload.contenders} == {workload.expected(200)}


def operators_of(source: Source[object]) -> int:
    streams = getattr(source, "streams", ())
    return 1 + sum(operators_of(chain.source) + len(chain.steps) for chain in streams)


def test_the_chain_of_the_memory_run_has_twenty_operators() -> None:
    chain = memory.chain(100)._chain
    assert operators_of(chain.source) + len(chain.steps) >= 20


def test_a_short_run_of_the_memory_chain_grows_by_nothing() -> None:
    assert memory.grown(30_000) < memory.AT_MOST
    finding = memory.finding(1000)
    assert finding.passed
    assert finding.text.endswith(" MB over 1,000 elements")


def test_the_page_has_a_row_for_each_and_as_many_cells_in_each_row() -> None:
    groups = (
        [result_of(each) for each in synchronous.WORKLOADS[:3]],
        [result_of(each) for each in joints.WORKLOADS[2:4]],
        [result_of(each) for each in signals.WORKLOADS[-2:]],
        [result_of(observed.WORKLOADS[0])],
    )
    text = markdown(*groups, FLAT, MACHINE, 3)
    assert all(f"| `{result.measurement.workload.name}` |" in text for group in groups for result in group)
    assert "grew by 0.1 MB over 9 elements, reached." in text
    tables = [part.splitlines() for part in text.split("\n\n") if part.startswith("|")]
    assert len(tables) == 4
    assert all(len({row.count("|") for row in table}) == 1 for table in tables)


def test_a_line_says_what_an_operator_costs() -> None:
    words = line(result_of(synchronous.WORKLOADS[0])).split()
    assert words[0] in {"pass", "MISS"}
    assert words[1] == "all"
    assert words[3] == words[5] == "ns"


def test_the_page_in_the_docs_has_its_markers() -> None:
    text = (page.DOCS / "performance.md").read_text(encoding="utf-8")
    assert "new" in page.replaced(text, "new", page.OPERATORS)


def test_the_command_measures_one_operator_and_writes_its_samples(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "samples.json"
    command.main(["--quick", "--only", "take", "--rounds", "2", "--json", str(path)])
    (only,) = json.loads(path.read_text(encoding="utf-8"))["workloads"]
    assert (only["name"], sorted(only["samples"])) == ("take", [HAND, PENSTOCK])
    assert " take " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--write", "--quick"], "--write shows all operators at full size: leave out --only and --quick"),
        (["--rounds", "0"], "--rounds must be >= 1, got 0"),
    ],
)
def test_the_command_refuses_what_makes_no_sense(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match=r"^2$"):
        command.main(arguments)
    assert message in capsys.readouterr().err
