"""The guide to the command line shows what the commands print."""

from __future__ import annotations

import re
from pathlib import Path

from penstock.cli import main

DOCS = Path(__file__).parents[2] / "docs"
GUIDE = (DOCS / "guides" / "command-line.md").read_text(encoding="utf-8")


def test_the_guide_shows_the_plan_of_its_example(tmp_path, capsys):
    found = re.search(r"^```python\n(.*?)^```$", GUIDE, re.DOTALL | re.MULTILINE)
    assert found
    file = tmp_path / "orders.py"
    file.write_text(found[1])
    assert main(["explain", str(file)]) == 0
    assert f"$ penstock explain orders.py\n{capsys.readouterr().out}```" in GUIDE
    assert main(["explain", str(file), "--format", "svg"]) == 0
    assert (DOCS / "images" / "plan-orders.svg").read_text(encoding="utf-8") == capsys.readouterr().out
    assert main(["run", str(file), "--quiet"]) == 0
    assert capsys.readouterr().out in GUIDE
