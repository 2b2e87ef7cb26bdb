"""mkdocs_hooks: pages and navigation that are derived, so that nobody has to keep them up to date."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.spec import glossary_table, markdown_table, properties_table
from scripts.marbles import picture
from scripts.operator_notes import NAMES, marble_of, with_rows
from scripts.operator_reference import reference_page

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

RULES_INTRODUCTION = """---
hide: [toc]
---

# Rules

Every rule of the contract, in our own words, with its number in the three texts that penstock follows and the tests of
the [conformance kit](guides/conformance.md) that show it. This page is written from `penstock.spec.rules`, as are the
messages and the reports of the kit.

"""


GLOSSARY_INTRODUCTION = """
## Glossary

The terms of the texts, in our own words, and which text explains which. `penstock verify --explain demand` prints one
of them, as it does for a rule or a property.

"""


PROPERTIES_INTRODUCTION = """---
hide: [toc]
---

# Properties of pull-stream

Every property of the [pull-stream protocol](guides/pull-stream.md), in our own words, with the tests of the
[conformance kit](guides/conformance.md) that show it. Each layer adds to the one before it. This page is written from
`penstock.spec.properties`, as are the messages and the reports of the kit.

"""


def properties_page() -> str:
    """Return the page of the properties as Markdown."""
    return PROPERTIES_INTRODUCTION + properties_table()


def rules_page() -> str:
    """Return the page of the rules as Markdown."""
    return RULES_INTRODUCTION + markdown_table() + GLOSSARY_INTRODUCTION + glossary_table()


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


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the rules and of the properties, the reference of the operators and their pictures."""
    from mkdocs.structure.files import File  # noqa: PLC0415  the tests read this module where mkdocs is not installed

    files.append(File.generated(config, "rules.md", content=rules_page()))
    files.append(File.generated(config, "properties.md", content=properties_page()))
    files.append(File.generated(config, "operators/reference.md", content=reference_page()))
    for name in NAMES:
        drawn = picture(name, marble_of(name))
        files.append(File.generated(config, f"operators/marbles/{name}.svg", content=drawn))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Add to the pages of the operators what their modules say."""
    folder, _, name = page.file.src_uri.rpartition("/")
    return with_rows(name, markdown) if folder == "operators" else markdown
