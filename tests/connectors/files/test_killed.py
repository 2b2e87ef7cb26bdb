"""killed: a consumer that is killed again and again loses nothing, and writes nothing twice if it is told how."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from penstock import Stream
from penstock.connectors import files
from tests.connectors.files.test_tail import copied, renamed

COUNT = 60_000
ROOT = Path(__file__).parents[3]


class Logging(threading.Thread):
    """A program that writes as much of a log as it is allowed to, and rotates it both ways in turn."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.allowed = threading.Semaphore(0)

    def run(self) -> None:
        for part in range(COUNT // 2000):
            self.allowed.acquire()
            lines = (json.dumps({"n": n, "text": "x" * (n % 60)}) + "\n" for n in range(part * 2000, (part + 1) * 2000))
            with self.path.open("a") as file:
                file.writelines(lines)
            if part % 3 == 2:
                (renamed if part % 2 else copied)(self.path)


@contextmanager
def consumer(*arguments: object) -> Iterator[subprocess.Popen[bytes]]:
    code = [sys.executable, "-m", "tests.connectors.files.consumer", *map(str, arguments)]
    process = subprocess.Popen(code, cwd=ROOT)
    try:
        yield process
    finally:
        process.kill()  # -9
        process.wait()


@pytest.mark.proves("files.tail", "kill -9 of the consumer, ten times", "nothing lost; with `once`, nothing twice")
@pytest.mark.proves("files.roll", "kill -9 of the consumer, ten times", "nothing lost; with `once`, nothing twice")
def test_ten_kills_lose_nothing(tmp_path: Path) -> None:
    log, out, checkpoint = tmp_path / "log", tmp_path / "out", tmp_path / "checkpoint"
    out.mkdir()
    log.touch()
    writer = Logging(log)
    writer.start()

    def finished() -> int:
        return len([*out.glob("0*")])

    for kill in range(10):
        for _ in range(3):
            writer.allowed.release()
        with consumer(log, out, checkpoint) as process:
            before = finished()
            while finished() < before + 1 + kill % 3:
                assert process.poll() is None, "the consumer ended"
                threading.Event().wait(0.001)
    writer.join()
    seen: dict[int, int] = {}
    read: set[str] = set()
    with consumer(log, out, checkpoint) as process:
        while len(seen) < COUNT:
            assert process.poll() is None, "the consumer ended"
            for path in sorted(out.glob("0*")):
                if path.name not in read:
                    read.add(path.name)
                    for row in files.read(path, files.JsonLines()):
                        seen[row["n"]] = seen.get(row["n"], 0) + 1
            threading.Event().wait(0.01)
    assert sorted(seen) == list(range(COUNT))
    assert {n: count for n, count in seen.items() if count > 1} == {}
    numbers = sorted(int(name.partition(".")[0]) for name in read)
    assert numbers == list(range(1, len(numbers) + 1))


FLAT = """
    import json, resource, sys
    from penstock.connectors import files

    def most() -> int:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

    count = total = early = 0
    for row in files.folder(sys.argv[1], files.JsonLines(), follow=False):
        count += 1
        total += row["n"]
        if count == 50_000:
            early = most()
    print(json.dumps([count, total, early, most()]))
"""


@pytest.mark.parametrize(("ending", "number"), [("", 1_000_000), (".gz", 200_000), (".zst", 200_000)])
@pytest.mark.proves("files.folder", "a million lines, a slow consumer", "flat memory: 64 KiB are read ahead")
@pytest.mark.proves("files.roll", "a million lines", "every line, in whole files")
def test_a_million_lines_in_flat_memory(tmp_path: Path, ending: str, number: int) -> None:
    rows = Stream.range(number).map(lambda n: f'{{"n": {n}}}')
    path = f"{tmp_path}/{{number:03}}.jsonl{ending}"
    sink = files.roll(path, files.Lines(), size=1 << 30, seconds=600.0, batch=10_000)
    assert (rows | sink).run().wait() == number
    code = [sys.executable, "-c", textwrap.dedent(FLAT), str(tmp_path)]
    told = subprocess.run(code, check=True, capture_output=True, text=True, timeout=200).stdout
    count, total, early, late = json.loads(told)
    assert (count, total) == (number, sum(range(number)))
    assert late - early <= 4, f"{early} MiB behind 50,000 lines, {late} MiB at the end"
