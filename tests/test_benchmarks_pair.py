"""benchmarks.pair: rows have names, two trees are measured in turn, and what has become slower is flagged."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchmarks.measure import Ratio, Sample
from benchmarks.pair import __main__ as command
from benchmarks.pair.rows import SUITES, answers, every_row
from benchmarks.pair.trees import HERE, Bench, CannotRunError, bench, tree
from benchmarks.workload import Measure

ROW = "bench: sync_chain"


class Told:
    """Be a bench that takes as long as it is told, and keeps its turns."""

    def __init__(self, name: str, turns: list[str], costs: Callable[[str], float]) -> None:
        self.name = name
        self.turns = turns
        self.costs = costs

    def run(self, row: str, *, quick: bool) -> Sample:
        self.turns.append(self.name)
        cost = self.costs(row)
        return Sample(wall=cost, cpu=2 * cost)


def test_every_workload_has_a_row_and_the_names_differ() -> None:
    names = list(every_row())
    assert len(names) == len(set(names))
    for suite, workloads in SUITES.items():
        for workload in workloads:
            assert f"{suite}: {workload.name}" in names
    assert "bench: demand (unbounded)" in names
    assert not any("reactivex" in name or "hand" in name for name in names)


def test_a_request_is_answered_with_what_a_run_took() -> None:
    asked = answers([json.dumps({"row": ROW, "quick": True})])
    assert json.loads(next(asked))["penstock"].endswith("__init__.py")
    assert sorted(json.loads(next(asked))) == ["cpu", "wall"]


def test_what_a_tree_does_not_have_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.Stream.subject", None)
    _, answer = answers([json.dumps({"row": "signals: subject to 1", "quick": True})])
    assert json.loads(answer) == {"error": "TypeError: 'NoneType' object is not callable"}


def test_a_process_measures_the_tree_it_is_given() -> None:
    with tree(str(HERE)) as folder, bench(folder) as made:
        assert folder == HERE
        assert made.run(ROW, quick=True).wall > 0
    assert made.process.returncode is not None


def test_an_older_tree_needs_no_proofs() -> None:
    text = "import sys; sys.modules['tests.operators.proof'] = None; import benchmarks.pair.rows"
    subprocess.run([sys.executable, "-c", text], cwd=HERE, check=True)


def test_a_process_that_has_another_penstock_is_refused(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    with pytest.raises(SystemExit, match=r"^penstock must come from "), bench(tmp_path):
        pass


def test_a_process_that_ends_is_told_of() -> None:
    ending = subprocess.Popen(["true"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with ending, pytest.raises(SystemExit, match=r"^the process that measures has ended with 0$"):
        Bench(ending).ask()


def test_a_revision_is_unpacked_and_removed_again(tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        author = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.org")
        subprocess.run(["git", "-C", str(tmp_path), *author, *arguments], check=True, capture_output=True)

    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "words.txt").write_text("before", encoding="utf-8")
    git("init")
    git("add", "src")
    git("commit", "-m", "words: say something")
    (tmp_path / "src" / "words.txt").write_text("after", encoding="utf-8")
    with tree("HEAD", tmp_path) as folder:
        assert (folder / "src" / "words.txt").read_text(encoding="utf-8") == "before"
    assert not folder.exists()
    with (
        pytest.raises(SystemExit, match=r"^'later' is no folder with src and no revision: "),
        tree("later", tmp_path),
    ):
        pass


def test_trees_take_turns_forth_and_back() -> None:
    turns: list[str] = []
    here, base = Told("here", turns, lambda _: 3.0), Told("base", turns, lambda _: 2.0)
    found = command.compared(here, base, ROW, 2, Measure.CPU, quick=True)  # type: ignore[arg-type]
    assert found == (Ratio(1.5, 1.5, 1.5), 6.0)
    assert turns == ["base", "here", "here", "base"]


def compare(
    monkeypatch: pytest.MonkeyPatch, here: Callable[[str], float], base: Callable[[str], float]
) -> tuple[list[str], Callable[..., int]]:
    turns: list[str] = []

    @contextmanager
    def told(_: object) -> Iterator[list[Told]]:
        yield [Told("here", turns, here), Told("base", turns, base)]

    monkeypatch.setattr(command, "benches", told)
    return turns, lambda *arguments: command.main([str(HERE), "--rounds", "2", *arguments])


def test_a_row_that_stays_slower_is_measured_again_and_flagged(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    turns, run = compare(monkeypatch, lambda row: 1.1 if "map_async" in row else 0.9, lambda _: 1.0)
    assert run("--only", "bench: map_async", "--only", "bench: windows") == 1
    assert len(turns) == 2 * 2 * 2 + 2 * 2 * command.AGAIN
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines if line.startswith("bench")] == ["map_async", "windows"]
    assert [line.endswith("SLOWER") for line in lines if line.startswith("bench")] == [True, False]
    assert lines[-1] == "1 of 2 rows above 1.03x; the middle of all is 1.000x"


def test_a_row_that_was_slower_by_chance_is_not_flagged(monkeypatch: pytest.MonkeyPatch) -> None:
    costs = iter([1.2, 1.2, *[1.0] * 6])
    _, run = compare(monkeypatch, lambda _: next(costs), lambda _: 1.0)
    assert run("--only", "bench: windows") == 0


def test_a_row_that_a_tree_cannot_run_is_said_and_not_flagged(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(row: str) -> float:
        raise CannotRunError("AttributeError: no such thing")

    _, run = compare(monkeypatch, lambda _: 1.0, refuse)
    assert run("--only", "bench: windows") == 0
    assert "cannot be compared: bench: windows: AttributeError: no such thing\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["HEAD", "--rounds", "0"], "--rounds must be >= 1, got 0"),
        (["HEAD", "--only", "nowhere"], "--only must be part of a row's name, got ['nowhere']"),
        ([], "the following arguments are required: BASE"),
    ],
)
def test_the_command_refuses_what_makes_no_sense(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match=r"^2$"):
        command.main(arguments)
    assert message in capsys.readouterr().err
