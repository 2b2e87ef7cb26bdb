"""site_links: links of the site as it was built, the theme's and the generated ones included."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LINKS = {"a": "href", "img": "src", "link": "href", "script": "src", "source": "src"}


@dataclass
class Contents:
    """What a page links to, and where in it links may lead."""

    links: set[str] = field(default_factory=set)
    anchors: set[str] = field(default_factory=set)


class Reader(HTMLParser):
    """The parser that finds the links and anchors of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.contents = Contents()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note where an element leads to, and its name."""
        found = dict(attrs)
        if link := found.get(LINKS.get(tag, "")):
            self.contents.links.add(link)
        self.contents.anchors |= {value for name in ("id", "name") if (value := found.get(name))}


def contents_of(page: Path) -> Contents:
    """Read a page."""
    reader = Reader()
    reader.feed(page.read_text(encoding="utf-8"))
    reader.close()
    return reader.contents


def site_faults(site: Path) -> Iterator[str]:
    """Describe each link of a page that leads nowhere; links to other sites are not followed."""
    # The page for what is not found is served at any address, so its links begin at the root.
    read = {page: contents_of(page) for page in sorted(site.rglob("*.html")) if page.name != "404.html"}
    for page, contents in read.items():
        for link in sorted(contents.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file():
                yield f"{page.relative_to(site)}: {link} leads to no file of the site"
            elif parts.fragment and target in read and unquote(parts.fragment) not in read[target].anchors | {"__top"}:
                yield f"{page.relative_to(site)}: {link} leads to no heading"


if __name__ == "__main__":
    faults = list(site_faults(Path(sys.argv[1]).resolve()))
    print(*faults, sep="\n")
    sys.exit(1 if faults else 0)
