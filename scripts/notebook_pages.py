"""notebook_pages: notebooks as pages of the site, with the outputs that are stored in them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

LINK = re.compile(r"(\]\([^)\s#]+)\.ipynb\b")
FORMS = ("text/html", "image/svg+xml", "text/plain")
"""How an output may be shown, the best first."""


def notebooks(docs: Path) -> Iterator[tuple[str, Path]]:
    """Find the notebooks of a folder, each with the address of its page."""
    for file in sorted(docs.rglob("*.ipynb")):
        if ".ipynb_checkpoints" not in file.parts:
            yield file.relative_to(docs).with_suffix(".md").as_posix(), file


def with_pages(text: str) -> str:
    """Let links to notebooks, which a repository shows by itself, lead to their pages."""
    return LINK.sub(r"\1.md", text)


def page_of(file: Path) -> str:
    """Return a notebook as Markdown."""
    cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
    return "\n\n".join(part for cell in cells for part in _parts(cell)) + "\n"


def _parts(cell: Mapping[str, Any]) -> Iterator[str]:
    source = "".join(cell["source"]).strip()
    if cell["cell_type"] == "markdown":
        yield source
        return
    yield f"```python\n{source}\n```"
    for output in cell["outputs"]:
        yield _shown(output)


def _shown(output: Mapping[str, Any]) -> str:
    if output["output_type"] == "stream":
        return _block("".join(output["text"]))
    if output["output_type"] == "error":
        return _block(f"{output['ename']}: {output['evalue']}")
    form = next(form for form in FORMS if form in output["data"])
    text = "".join(output["data"][form])
    if form == "text/plain":
        return _block(text)
    # HTML is left as it is; an empty line would end it for Markdown.
    whole = re.sub(r"\n\s*\n", "\n", text)
    return f'<div class="cell-output">\n{whole}\n</div>'


def _block(text: str) -> str:
    return f'<div class="cell-output" markdown>\n\n```text\n{text.rstrip()}\n```\n\n</div>'
