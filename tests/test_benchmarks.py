"""benchmarks: contenders that compute the same, ratios that are paired, pages and pictures that are well formed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from benchmarks import __main__ as command
from benchmarks import page
from benchmarks.machine import Machine
from benchmarks.measure import Measurement, Ratio, Sample, WrongResultError, measure, paired
from benchmarks.picture import ratios_picture, scale_of, targets_picture
from benchmarks.report import Result, as_data, markdown, summary, terminal_table
from benchmarks.verdict import Verdict, times, verdicts
from benchmarks.workload import (
    AIOSTREAM,
    HAND,
    PEERS,
    PENSTOCK,
    REACTIVEX,
    STREAMABLE,
    Bound,
    Check,
    Contender,
    Finding,
    Measure,
    Missing,
    Target,
    Workload,
)
from benchmarks.workloads import WORKLOADS
from benchmarks.workloads.thread_boundary import BOUND, most_held, penstock_passes

KEPT = Bound(kept=True, why="it is told to")
LOST = Bound(kept=False, why="it was never told")
MACHINE = Machine(cores=2, architecture="x86_64", system="Linux", python="CPython 3.11", versions=((PENSTOCK, "1.0"),))
EVERY = [(workload, contender) for workload in WORKLOADS for contender in workload.contenders]


def workload_of(**changes: object) -> Workload:
    parts: dict[str, object] = {
        "name": "toy",
        "title": "toys & bricks",
        "size": 7,
        "quick_size": 3,
        "expected": lambda size: size,
        "contenders": (
            Contender(HAND, lambda size: size, KEPT),
            Contender(PENSTOCK, lambda size: size, KEPT),
            Contender(REACTIVEX, lambda size: size, LOST),
            Contender(STREAMABLE, lambda size: size, KEPT),
        ),
        "missing": (Missing(AIOSTREAM, "it cannot play"),),
        "targets": (Target(at_most=1.25), Target(at_most=1.5, measure=Measure.CPU)),
    }
    return Workload(**(parts | changes))  # type: ignore[arg-type]


def measurement_of(workload: Workload) -> Measurement:
    walls = {
        HAND: (1.0, 2.0, 4.0),
        PENSTOCK: (1.2, 2.2, 8.0),
        REACTIVEX: (500.0, 9.0, 9.0),
        STREAMABLE: (1.0, 4.0, 9.0),
    }
    return Measurement(workload, 7, {name: tuple(Sample(wall, 2 * wall) for wall in of) for name, of in walls.items()})


def result_of(workload: Workload) -> Result:
    measurement = measurement_of(workload)
    return Result(measurement, verdicts(measurement))


@pytest.mark.parametrize(("workload", "contender"), EVERY, ids=[f"{w.name}-{c.name}" for w, c in EVERY])
@pytest.mark.parametrize("size", [1, 130])
def test_every_contender_of_every_workload_gives_what_is_expected(
    workload: Workload, contender: Contender, size: int
) -> None:
    assert contender.run(size) == workload.expected(size)


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_every_workload_names_its_baseline_penstock_and_every_peer(workload: Workload) -> None:
    present = [contender.name for contender in workload.contenders]
    absent = [missing.name for missing in workload.missing]
    assert {workload.baseline, PENSTOCK} <= set(present)
    assert sorted([*(name for name in present if name in PEERS), *absent]) == sorted(PEERS)
    assert {target.contender for target in workload.targets} <= set(present)
    assert {target.against for target in workload.targets if target.ideal is None} <= set(present)


def test_workload_names_differ() -> None:
    assert len({workload.name for workload in WORKLOADS}) == len(WORKLOADS)


@pytest.mark.parametrize("check", [c for w in WORKLOADS for c in w.checks], ids=lambda check: check.name)
def test_what_is_looked_at_beside_the_times_holds(check: Check) -> None:
    finding = check.run()
    assert finding.passed, finding.text


def test_the_probe_of_the_thread_boundary_sees_what_is_held() -> None:
    def hoards(source: Iterator[int], consume: object) -> None:
        for x in list(source):
            consume(x)  # type: ignore[operator]

    assert most_held(hoards, 300) == 300  # type: ignore[arg-type]
    assert most_held(penstock_passes, 300) <= BOUND


def test_a_ratio_is_the_median_of_pairs_not_the_ratio_of_medians() -> None:
    assert paired([2.0, 30.0, 3.0], [1.0, 10.0, 3.0]) == Ratio(median=2.0, low=1.5, high=2.5)


def test_one_round_is_its_own_quartiles() -> None:
    assert paired([3.0], [2.0]) == Ratio(1.5, 1.5, 1.5)


def test_rounds_pair_only_with_rounds() -> None:
    with pytest.raises(ValueError, match="shorter"):
        paired([1.0, 2.0], [1.0])


def test_contenders_take_turns_forth_and_back() -> None:
    ran: list[str] = []

    def run(_workload: Workload, contender: Contender, size: int, expected: object) -> Sample:
        assert (size, expected) == (5, 5)
        ran.append(contender.name)
        return Sample(len(ran), 0.0)

    taken = measure(workload_of(), 5, 2, run)
    names = [HAND, PENSTOCK, REACTIVEX, STREAMABLE]
    assert ran == [*names, *names, *reversed(names)]
    assert [sample.wall for sample in taken.samples[PENSTOCK]] == [6.0, 11.0]


def test_a_wrong_result_stops_the_measurement() -> None:
    wrong = workload_of(contenders=(Contender(HAND, lambda size: size, KEPT), Contender(PENSTOCK, lambda _: 6, KEPT)))
    with pytest.raises(WrongResultError, match=r"^toy: penstock must give 5, got 6$"):
        measure(wrong, 5, 1)


def test_refuses_to_measure_no_rounds() -> None:
    with pytest.raises(ValueError, match=r"^measure: rounds must be >= 1, got 0$"):
        measure(workload_of(), 5, 0)


def test_samples_are_taken_of_both_clocks() -> None:
    taken = measure(workload_of(), 5, 3)
    assert all(len(samples) == 3 for samples in taken.samples.values())
    assert all(sample.wall > 0 and sample.cpu >= 0 for samples in taken.samples.values() for sample in samples)


def test_verdicts_judge_targets_bounded_peers_and_checks() -> None:
    looked = Check("tidy", lambda: Finding(passed=False, text="3 left over"))
    judged = verdicts(measurement_of(workload_of(checks=(looked,))))
    assert judged == (
        Verdict("toy", "at most 1.25x hand-written", "1.20x", passed=True, ratio=1.2, limit=1.25),
        Verdict("toy", "CPU time at most 1.5x hand-written", "1.20x", passed=True, ratio=1.2, limit=1.5),
        Verdict("toy", "faster than streamable", "0.89x", passed=True, ratio=8 / 9, limit=1.0),
        Verdict("toy", "tidy", "3 left over", passed=False),
    )


def test_a_target_above_its_limit_is_missed() -> None:
    (judged, *_) = verdicts(measurement_of(workload_of(targets=(Target(at_most=1.19),))))
    assert not judged.passed


def test_a_target_may_be_an_ideal_time() -> None:
    ideal = Target(at_most=0.3, against="the ideal", ideal=lambda size: float(size))
    (judged, *_) = verdicts(measurement_of(workload_of(targets=(ideal,))))
    assert (judged.asked, judged.seen, judged.passed) == ("at most 0.3x the ideal", "0.31x", False)


@pytest.mark.parametrize(
    ("ratio", "words"), [(0.0021, "0.002x"), (0.2, "0.20x"), (1.184, "1.18x"), (37.44, "37.4x"), (411.6, "412x")]
)
def test_ratios_are_written_with_about_three_figures(ratio: float, words: str) -> None:
    assert times(ratio) == words


def test_the_terminal_shows_every_contender_and_every_verdict() -> None:
    lines = terminal_table(result_of(workload_of())).splitlines()
    assert lines == [
        "toy: toys & bricks (size 7)",
        "                 median       CPU  / hand-written       quartiles  bound",
        "  hand-written  2000 ms   4000 ms           1.00x  1.00x .. 1.00x  kept",
        "  penstock      2200 ms   4400 ms           1.20x  1.15x .. 1.60x  kept",
        "  reactivex     9000 ms  18000 ms           4.50x   3.38x .. 252x  not kept",
        "  streamable    4000 ms   8000 ms           2.00x  1.50x .. 2.12x  kept",
        "  aiostream: not offered, it cannot play",
        "  pass  at most 1.25x hand-written: 1.20x",
        "  pass  CPU time at most 1.5x hand-written: 1.20x",
        "  pass  faster than streamable: 0.89x",
    ]


def test_the_summary_names_what_is_missed() -> None:
    missed = result_of(workload_of(targets=(Target(at_most=1.0),)))
    assert summary([missed]) == "1 of 2 reached\n  MISS  toy: at most 1x hand-written: 1.20x"


def test_markdown_tables_have_as_many_cells_in_each_row() -> None:
    text = markdown([result_of(workload_of())], MACHINE, 3)
    assert (
        "| `toy` | toys & bricks | 2000 ms | 1.20x (1.15x .. 1.60x) | *4.50x (3.38x .. 252x)* | not offered |" in text
    )
    assert "| `toy` | reactivex | **not kept** | it was never told |" in text
    tables = [part.splitlines() for part in text.split("\n\n") if part.startswith("|")]
    assert len(tables) == 3
    assert all(len({row.count("|") for row in table}) == 1 for table in tables)


def test_data_survives_json() -> None:
    data = json.loads(json.dumps(as_data([result_of(workload_of())], MACHINE, 3)))
    assert data["machine"]["cores"] == 2
    assert data["workloads"][0]["ratios"]["penstock"]["median"] == 1.2
    assert data["workloads"][0]["samples"]["penstock"][2] == {"wall": 8.0, "cpu": 16.0}


def test_the_scale_spans_whole_decades_around_one() -> None:
    scale = scale_of([0.4, 250.0])
    assert (scale.low, scale.high) == (0.1, 1000.0)
    assert scale.ticks() == [0.1, 1.0, 10.0, 100.0, 1000.0]
    assert scale.at(0.1) < scale.at(0.4) < scale.at(1.0) < scale.at(250.0) < scale.at(1000.0)


def test_the_ratios_picture_is_well_formed_and_shows_every_contender() -> None:
    image = ET.fromstring(ratios_picture([result_of(workload_of())]))
    space = {"s": "http://www.w3.org/2000/svg"}
    words = [each.text for each in image.findall("s:text", space) if "fill" in each.attrib]
    assert {"toys & bricks", "penstock", "reactivex", "streamable", "1.20x", "4.50x", "2.00x"} <= set(words)
    bars = image.findall("s:rect", space)[1:]
    assert [each.get("fill") for each in bars].count("#ffffff") == 1  # the hollow one
    assert all(0 < float(each.get("x", -1)) < 900 and float(each.get("width", 0)) > 0 for each in bars)


def test_the_targets_picture_marks_what_is_missed() -> None:
    judged = [
        Verdict("toy", "at most 1.25x hand-written", "1.20x", passed=True, ratio=1.2, limit=1.25),
        Verdict("toy", "faster than <slow>", "9.00x", passed=False, ratio=9.0, limit=1.0),
        Verdict("toy", "tidy", "3 left over", passed=False),
    ]
    image = ET.fromstring(targets_picture(judged))
    words = [each.text for each in image.iter("{http://www.w3.org/2000/svg}text")]
    assert "toy: faster than <slow>" in words
    assert "9.00x missed" in words
    assert not any("tidy" in (word or "") for word in words)  # not a ratio


def test_the_page_keeps_what_stands_around_the_measured_part(tmp_path: Path) -> None:
    path = tmp_path / "performance.md"
    path.write_text(f"before\n\n{page.BEGIN}\nold\n{page.END}\n\nafter\n", encoding="utf-8")
    page.write("new", "<svg>1</svg>", "<svg>2</svg>", tmp_path)
    assert path.read_text(encoding="utf-8") == f"before\n\n{page.BEGIN}\n\nnew\n\n{page.END}\n\nafter\n"
    assert (tmp_path / "images" / "performance.svg").read_text(encoding="utf-8") == "<svg>1</svg>"
    assert (tmp_path / "images" / "performance-targets.svg").read_text(encoding="utf-8") == "<svg>2</svg>"


def test_a_page_without_markers_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^page: text must have the lines '<!-- .*' and '<!-- .* -->', got 'bare'$"):
        page.replaced("bare", "new")


def test_the_page_in_the_docs_has_its_markers() -> None:
    text = (page.DOCS / "performance.md").read_text(encoding="utf-8")
    assert "new" in page.replaced(text, "new")


def test_the_command_measures_one_workload_and_writes_its_samples(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "WORKLOADS", (workload_of(), workload_of(name="other")))
    path = tmp_path / "samples.json"
    command.main(["--quick", "--only", "toy", "--rounds", "2", "--json", str(path)])
    (only,) = json.loads(path.read_text(encoding="utf-8"))["workloads"]
    assert (only["name"], only["size"], len(only["samples"][PENSTOCK])) == ("toy", 3, 2)
    assert "toy: toys & bricks (size 3)" in capsys.readouterr().out


@pytest.mark.parametrize("limit", [1e9, 1e-9])
def test_the_command_fails_when_a_target_is_missed(limit: float, monkeypatch: pytest.MonkeyPatch) -> None:
    both = (Contender(HAND, lambda size: size, KEPT), Contender(PENSTOCK, lambda size: size, KEPT))
    easy_or_not = workload_of(contenders=both, targets=(Target(at_most=limit),))
    monkeypatch.setattr(command, "WORKLOADS", (easy_or_not,))
    assert command.main(["--rounds", "1"]) == (0 if limit > 1 else 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--write", "--quick"], "--write shows all workloads at full size: leave out --only and --quick"),
        (["--rounds", "0"], "--rounds must be >= 1, got 0"),
        (["--only", "nothing"], "argument --only: invalid choice: 'nothing'"),
    ],
)
def test_the_command_refuses_what_makes_no_sense(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match=r"^2$"):
        command.main(arguments)
    assert message in capsys.readouterr().err
