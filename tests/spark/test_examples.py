"""examples on Spark: what they promise is what they do, on a few days of the year."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest
from pyspark import cloudpickle

from tests.test_docs import ROOT, shown_blocks

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
NAMES = ("registry", "flights", "chart", "demo", "backfill", "websocket_feed", "exactly_once")


@pytest.fixture(scope="module")
def examples() -> Iterator[SimpleNamespace]:
    """Import the examples as a script beside them would; executors do not know them."""
    sys.path.insert(0, str(EXAMPLES))
    found = {name: import_module(name) for name in NAMES}
    sys.path.remove(str(EXAMPLES))
    for module in found.values():
        cloudpickle.register_pickle_by_value(module)
    yield SimpleNamespace(**found)
    for name, module in found.items():
        cloudpickle.unregister_pickle_by_value(module)
        del sys.modules[name]


def test_the_demo_has_the_figures_of_a_plain_loop(spark, examples, tmp_path, capsys):
    assert examples.demo.main(tmp_path, days=3, pause=0.0, spark=spark)
    out = capsys.readouterr().out
    assert "map_async(reported.report)" in out
    assert "Broken off after 81 reports, and started again." in out
    assert " departures went in, those that Spark had not committed at the restart twice. The feed may be " in out
    assert "A plain loop over the same data gives the same 162 reports: those shown, those written." in out
    assert "\nrain  " in out
    picture = (tmp_path / "delays.svg").read_text()
    assert picture.startswith("<svg")
    assert [">EWR<" in picture, ">demand<" in picture, ">lag<" in picture] == [True, True, True]
    assert list((tmp_path / "reports").glob("batch=*/*.parquet"))


def test_the_pipeline_that_the_guide_shows_is_that_of_the_demo(spark, few_partitions, examples, tmp_path):
    (block,) = shown_blocks(ROOT / "docs" / "guides" / "demo.md")
    table, board, late = examples.flights.departures(1), examples.demo.Board(0.0), set()
    with examples.registry.Registry(examples.flights.planes()) as registry:
        names = {
            **vars(examples.flights), **vars(examples.demo), "spark": spark, "table": table, "board": board,
            "late": late, "conditions": examples.flights.weather(1), "registry": registry.address,
            "files": tmp_path / "reports", "checkpoint": tmp_path / "checkpoint",
        }  # fmt: skip
        exec(block, names)
        names["run"].wait()
    expected = examples.flights.plain(table)
    assert set(board.reports.values()) == examples.demo.written(tmp_path / "reports") == expected
    assert late == {report for report in expected if (report.worst or 0) >= examples.flights.HOURS_LATE}


def test_the_demo_says_so_when_figures_differ(examples, tmp_path, capsys):
    table = examples.flights.departures(1)
    (tmp_path / "batch=0").mkdir()
    report = next(iter(examples.flights.plain(table)))
    examples.demo.parquet.write_table(
        pa.table({name: [value] for name, value in report._asdict().items()}), tmp_path / "batch=0" / "x"
    )
    board = examples.demo.Board(0.0)
    board.show(report)
    assert not examples.demo.agreement(examples.flights.plain(table), board, set(), tmp_path)
    assert capsys.readouterr().out.startswith("WRONG: a plain loop gives ")


def test_a_batch_gives_the_same_as_a_live_feed(spark, examples, capsys):
    reports = examples.backfill.main(days=2, spark=spark)
    assert sum(report.departed + report.cancelled for report in reports) == 1785
    assert capsys.readouterr().out.splitlines()[-1] == "The two have the same answer, and a plain loop gives it too."


@pytest.mark.slow
def test_orders_are_in_the_book_once_however_often_the_driver_is_killed(spark, examples, tmp_path, capsys):
    assert examples.exactly_once.main(tmp_path, kills=2, spark=spark)
    said = capsys.readouterr().out.splitlines()
    assert len(said) == 3
    assert said[-1] == "Right: 3,000 orders are in the book, 3,000 of them different."


def test_a_micro_batch_is_in_the_book_whole_and_once(examples, tmp_path):
    """What comes again with the same number is left out, and a transaction that was broken off leaves nothing."""
    once = examples.exactly_once
    book = once.Book(tmp_path / "book.sqlite")
    rows = [once.Numbered(0, n, n == 2, once.Entry(n, 1.0)) for n in range(3)]
    for one in rows[:2]:
        book.write(one)
    book.close()  # as a kill would
    for _ in range(2):
        book = once.Book(tmp_path / "book.sqlite")
        for one in rows:
            book.write(one)
        book.close()
    assert once.found(tmp_path) == (3, 3, 3, 1)


def test_demand_reaches_through_a_websocket(spark, examples, capsys):
    board = examples.websocket_feed.main(days=5, pause=0.0, spark=spark)
    total = len(board.server.messages)
    assert board.server.sent == total
    assert 0 < board.sent_before_the_first < total / 2
    assert capsys.readouterr().out.rstrip().endswith("a plain loop over the messages says the same.")


def test_look_ups_are_many_at_a_time_and_no_more_than_allowed(examples):
    flights, registry = examples.flights, examples.registry
    hours = [
        flights.Hour("JFK", flights.MIDNIGHT, 1, 0, 200, 200, f"N{n}", None, None) for n in range(4 * flights.AT_ONCE)
    ]
    known = {hour.tail: f"plane {hour.tail}" for hour in hours[1:]}
    with registry.Registry(known) as service:
        found = list(flights.Stream.from_iterable(hours) | flights.reported(service.address))
    assert [report.plane for report in found] == ["unknown", *known.values()]
    assert service.questions == len(hours)
    assert 1 < service.most_at_once <= flights.AT_ONCE


def test_bars_are_as_long_as_their_values(examples):
    flights, chart = examples.flights, examples.chart
    hour = flights.Hour("EWR", flights.MIDNIGHT, 2, 0, 20, 15, None, None, 0.0)
    reports = [flights.Report(*hour, None), flights.Report(*hour._replace(origin="JFK", delay=10, rain=0.1), None)]
    assert chart.bars(reports).splitlines()[2:] == [
        "            EWR                     JFK                     LGA",
        " 0 h   10.0 ██████████████      5.0 ███████",
        "",
        " dry   10.0 ██████████████",
        "rain                            5.0 ███████",
    ]
    assert chart.bar(-3.0, 10.0) == ""
