"""Run the benchmarks of the connectors, or those that are named: python -m benchmarks.connectors postgres nats."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

NAMES = sorted(file.stem for file in Path(__file__).parent.glob("[a-z]*.py"))


def main(names: list[str]) -> None:
    for name in names:
        if name not in NAMES:
            raise SystemExit(f"benchmarks.connectors: there is no {name}, only {', '.join(NAMES)}")
    for name in names or NAMES:
        print(f"== {name}")
        import_module(f"benchmarks.connectors.{name}").main()


if __name__ == "__main__":
    main(sys.argv[1:])
