"""mkdocs_hooks: pages and navigation that are derived, so that nobody has to keep them up to date."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scripts.api_pages import with_names
from scripts.links import repository_faults
from scripts.made_parts import with_parts
from scripts.marbles import picture
from scripts.notebook_pages import notebooks, page_of, with_pages
from scripts.operator_notes import NAMES, marble_of, with_rows
from scripts.site_links import site_faults

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

LOG = logging.getLogger("mkdocs.hooks.penstock")


def expand(entry: Any, docs: Path) -> Any:
    """Put the pages of a folder, its index first, in place of `folder/*` anywhere in a navigation."""
    match entry:
        case list():
            return [expand(item, docs) for item in entry]
        case dict():
            return {title: expand(target, docs) for title, target in entry.items()}
        case str() if entry.endswith("/*"):
            pages = sorted((docs / entry[:-2]).glob("*.md"), key=lambda page: (page.stem != "index", page.stem))
            return [page.relative_to(docs).as_posix() for page in pages]
        case _:
            return entry


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Fill in the folders of the navigation."""
    config.nav = expand(config.nav, Path(config.docs_dir))
    return config


def on_pre_build(config: MkDocsConfig) -> None:
    """Warn of links that lead nowhere in the repository; a strict build fails then."""
    for fault in repository_faults(Path(config.docs_dir).parent):
        LOG.warning(fault)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the notebooks, and the pictures of the operators."""
    from mkdocs.structure.files import File  # noqa: PLC0415  the tests read this module where mkdocs is not installed

    for address, notebook in notebooks(Path(config.docs_dir)):
        files.append(File.generated(config, address, content=page_of(notebook)))
    for name in NAMES:
        drawn = picture(name, marble_of(name))
        files.append(File.generated(config, f"operators/marbles/{name}.svg", content=drawn))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Add to a page what the code says."""
    folder, _, name = page.file.src_uri.rpartition("/")
    text = with_pages(with_parts(markdown))
    if folder == "api":
        return with_names(text)
    return with_rows(name, text) if folder == "operators" else text


def on_post_build(config: MkDocsConfig) -> None:
    """Warn of links that lead nowhere in the site; a strict build fails then."""
    for fault in site_faults(Path(config.site_dir)):
        LOG.warning(fault)
