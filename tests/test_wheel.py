"""The wheel: what is installed is the whole package, with what is not Python in it."""

from __future__ import annotations

from pathlib import Path

from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parent.parent


def test_the_wheel_has_every_file_of_the_package() -> None:
    builder = WheelBuilder(str(ROOT))
    included = {Path(file.distribution_path) for file in builder.recurse_included_files()}
    home = ROOT / "src"
    here = {
        file.relative_to(home)
        for file in (home / "penstock").rglob("*")
        if file.is_file() and not any(part[0] == "." or part == "__pycache__" for part in file.relative_to(home).parts)
    }
    assert included == here
    assert {Path("penstock/py.typed"), Path("penstock/spark/session/log4j2.properties")} <= included
