"""links: links between the files of the repository, as a reader there follows them.

A link has to lead to a file of the repository, and what stands behind its `#` to a heading of that file. The site and
the repository make anchors of headings by different rules; a link has to work by both.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path

FENCE = re.compile(r"^( *)(```+|~~~+).*?^\1\2 *$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)
LINK = re.compile(
    r"\]\(<?([^()\s>]+)>?(?:\s+\"[^\"]*\")?\)|^\[[^\]]+\]:\s+(\S+)|\b(?:src|href)=\"([^\"]+)\"", re.MULTILINE
)
HEADING = re.compile(r"^#{1,6} +(.*?) *#*$", re.MULTILINE)
ANCHOR = re.compile(r"\bid=\"([^\"]+)\"")
OUTSIDE = re.compile(r"^(?:[a-z][a-z0-9+.-]*:|//)", re.IGNORECASE)


def repository_faults(root: Path) -> Iterator[str]:
    """Describe each link of a page that leads nowhere."""
    for page in pages(root):
        text = plain(page.read_text(encoding="utf-8"))
        for link in links(text):
            if fault := fault_of(link, page):
                yield f"{page.relative_to(root)}: {fault}"


def pages(root: Path) -> list[Path]:
    """Return the pages that a reader of the repository finds."""
    return sorted([*root.glob("*.md"), *(root / "docs").rglob("*.md")])


def plain(text: str) -> str:
    """Leave out code, in which brackets are no links."""
    return CODE.sub("", FENCE.sub("", text))


def links(text: str) -> Iterator[str]:
    """Give the links of a page to other pages, files and headings."""
    for found in LINK.finditer(text):
        link = next(part for part in found.groups() if part)
        if not OUTSIDE.match(link):
            yield link


def fault_of(link: str, page: Path) -> str | None:
    """Say what is wrong with a link, or nothing."""
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    if path.startswith("/"):
        return f"{link} must be relative to the page"
    if not target.exists():
        return f"{link} leads to no file"
    if anchor and target.suffix == ".md":
        text = FENCE.sub("", target.read_text(encoding="utf-8"))
        for place, known in (("the site", site_anchors(text)), ("the repository", repository_anchors(text))):
            if anchor not in known:
                return f"{link} leads to no heading in {place}"
    return None


def headings(text: str) -> list[str]:
    """Return the headings of a page as they are read, without what marks code, emphasis and links."""
    found = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in HEADING.findall(text))
    return [re.sub(r"[`*]|\{[^}]*\}$", "", heading).strip() for heading in found]


def site_anchors(text: str) -> set[str]:
    """Return the anchors that the site gives to a page."""
    made = []
    for heading in headings(text):
        ascii_only = unicodedata.normalize("NFKD", heading).encode("ascii", "ignore").decode()
        made.append(re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", ascii_only).strip().lower()))
    return numbered(made, "_") | set(ANCHOR.findall(text))


def repository_anchors(text: str) -> set[str]:
    """Return the anchors that a page has where the repository is read."""
    made = [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings(text)]
    return numbered(made, "-") | set(ANCHOR.findall(text))


def numbered(anchors: list[str], separator: str) -> set[str]:
    """Return the anchors, with numbers behind those that come again."""
    return {
        anchor if anchor not in anchors[:number] else f"{anchor}{separator}{anchors[:number].count(anchor)}"
        for number, anchor in enumerate(anchors)
    }


if __name__ == "__main__":
    faults = list(repository_faults(Path(__file__).parent.parent))
    print(*faults, sep="\n")
    sys.exit(1 if faults else 0)
