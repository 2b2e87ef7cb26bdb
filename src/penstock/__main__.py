"""__main__: `python -m penstock` is the `penstock` command."""

from __future__ import annotations

from penstock.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
