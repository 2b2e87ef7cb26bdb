"""In a session that penstock starts, its exceptions come without a log of the JVM beside them; others are logged."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_our_exceptions_are_not_logged_as_well_and_those_of_others_are() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "tests.spark.session.failing_programs"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])},
        capture_output=True,
        text=True,
        check=True,
        timeout=1000,
    )
    found = re.search(r"OURS\n(.*)THEIRS\n(.*)", ran.stderr, re.DOTALL)
    assert found, ran.stderr
    assert [line for line in found[1].splitlines() if "\tat " in line or "Traceback" in line] == []
    assert "ERROR Executor: Exception in task" in found[2]
