"""made_parts: parts of pages that are written from the code when the site is built.

In the repository such a part stands between `<!-- every rule -->` and `<!-- end -->`, as a sentence that says where to
find it. In the site what is between the two is replaced, so that a page has one address in both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from penstock.spec import glossary_table, markdown_table, properties_table
from scripts.operator_reference import reference_page

PART = re.compile(r"^<!-- (every \w+) -->\n.*?^<!-- end -->\n", re.MULTILINE | re.DOTALL)
DECISIONS = Path(__file__).parent.parent / "docs" / "decisions"


def decisions_list() -> str:
    """List the decisions by their numbers, each with a link to its page."""
    pages = sorted(page for page in DECISIONS.glob("*.md") if page.stem != "index")
    titles = ((page, page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")) for page in pages)
    return "".join(f"- [{title}]({page.name})\n" for page, title in titles)


MAKERS: Mapping[str, Callable[[], str]] = {
    "every decision": decisions_list,
    "every operator": reference_page,
    "every property": properties_table,
    "every rule": markdown_table,
    "every term": glossary_table,
}


def with_parts(text: str) -> str:
    """Put what is made in place of what the repository says instead."""
    return PART.sub(lambda found: MAKERS[found[1]]() + "\n", text)
