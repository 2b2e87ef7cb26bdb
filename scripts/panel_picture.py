"""panel_picture: the panel that `penstock run` shows on a terminal, as a picture of a real run on Spark.

    python -m scripts.panel_picture [docs/images/panel.svg]

The feed could give its rows at once, and the subscriber takes a millisecond for each. After some micro-batches the
panel is drawn as it stands on the terminal then, and the run is cancelled.
"""

from __future__ import annotations

import io
import re
import sys
import time
from collections.abc import Iterable
from itertools import takewhile
from pathlib import Path

from rich.console import Console

from penstock import Sink, Stream
from penstock.run.display import Recent, panel
from penstock.run.progress import Progress

IMAGE = Path("docs/images/panel.svg")
BATCHES = 4
"""Micro-batches after which the panel is drawn."""
FONTS = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)


def drawn(reports: Iterable[Progress], command: str) -> str:
    """Draw a terminal with a command and the panel of the last of some reports."""
    console = Console(file=io.StringIO(), record=True, width=60, force_terminal=True)
    recent = Recent()
    for report in reports:
        recent.add(report)
    console.print(f"[bold]$[/] {command}")
    console.print(panel(report, recent))
    drawing = console.export_svg(title="penstock run", unique_id="panel")
    return FONTS.sub("", drawing)  # the reader's own fonts will do: no picture of ours fetches anything


def main(image: Path) -> None:
    """Run a pipeline on Spark for a while and draw its panel."""
    from penstock.spark import Spark, entry  # noqa: PLC0415  the tests draw without Spark

    rows = Stream.range(10_000_000) | entry("n long", capacity=5_000, latency=1.0)
    with Spark() as spark:
        run = (rows | Sink.for_each(lambda _row: time.sleep(0.001))).run(spark)
        try:
            reports = takewhile(lambda report: (report.batches or 0) < BATCHES, run.progress_every(0.5))
            image.write_text(drawn(reports, "penstock run feed.py"), encoding="utf-8")
        finally:
            run.cancel()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGE)
