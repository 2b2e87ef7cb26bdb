"""house: draw the picture of `docs/house.md` from the imports, and see that the walks there are still true."""

from __future__ import annotations

import sys

from scripts.house_picture import picture
from scripts.house_rooms import ROOT, read_house
from scripts.house_walks import complaints

PICTURE = ROOT / "docs" / "images" / "house.svg"
PAGE = ROOT / "docs" / "house.md"


def main() -> int:
    """Write the picture, and return 1 if a walk on the page is not the one of today."""
    PICTURE.write_text(picture(read_house()), encoding="utf-8")
    print(f"wrote {PICTURE.relative_to(ROOT)}")
    found = complaints(PAGE.read_text(encoding="utf-8"))
    print("\n".join(found) or f"the walks in {PAGE.relative_to(ROOT)} are those of today")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
