"""glossary: the terms of the pull-stream text, with its synonyms, and what each one is called here, as data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PullTerm:
    """A term of the text: what it means, what others call it, and what it is here."""

    name: str
    meaning: str
    here: str
    synonyms: tuple[str, ...] = ()


TERMS: tuple[PullTerm, ...] = (
    PullTerm(
        "Answer",
        "what comes back for a request, to the module that made it",
        "a call of `answer(end, value)`",
        ("callback",),
    ),
    PullTerm(
        "Downstream", "the modules that come next on the way of the values", "what stands to the right in `pull(...)`"
    ),
    PullTerm(
        "Completed stream", "a stream that has come to its end, and stays so", "`answer(True)`, then and ever after"
    ),
    PullTerm(
        "Failed stream", "a stream that ended with an error, and stays so", "`answer(error)`, then and ever after"
    ),
    PullTerm(
        "Indication",
        "an event for the module upstream that expects no answer",
        "`read(True)`, `read(error)`",
        ("read with no callback",),
    ),
    PullTerm("Lazy generation", "values are made only when they are asked for", "property B5"),
    PullTerm("Module", "a part of a pipeline", "`PullSource`, `PullThrough`, `PullSink`, or a plain function"),
    PullTerm("Partial stream", "a stream that may get more values", "no end has been answered yet"),
    PullTerm("Pipeline", "one source, any number of transformers, one sink", "`pull(source, ..., sink)`, which runs"),
    PullTerm(
        "Primitive sink", "a sink that is not put together from others", "`drain`, `collect`, `reader` and their like"
    ),
    PullTerm(
        "Primitive source",
        "a source that is not put together from others",
        "`values`, `count`, `pushable` and their like",
    ),
    PullTerm(
        "Request",
        "an event for the module upstream that expects an answer",
        "`read(None, answer)`, `read(True, answer)`",
        ("read",),
    ),
    PullTerm("Sink", "a module that takes values", "`PullSink`", ("consumer", "reader")),
    PullTerm(
        "Source",
        "a module that gives values",
        "`PullSource`, or a function `read(abort, answer)`",
        ("producer", "readable"),
    ),
    PullTerm(
        "Stream", "the values that a module gives: partial, completed or failed", "what the answers of one `read` are"
    ),
    PullTerm("Transformer", "a module that takes values and gives values", "`PullThrough`", ("through",)),
    PullTerm(
        "Upstream", "the modules that come before on the way of the values", "what stands to the left in `pull(...)`"
    ),
)


@dataclass(frozen=True, slots=True)
class Prefix:
    """The party that does something, in a sequence of events."""

    name: str
    meaning: str


PREFIXES: tuple[Prefix, ...] = (
    Prefix("D", "the module downstream makes a request or an indication"),
    Prefix("U", "the module upstream answers"),
    Prefix("TI", "a transformer makes a request at its input"),
    Prefix("TO", "a transformer answers at its output"),
)


def terms_table() -> str:
    """Return the glossary as a Markdown table."""
    rows = [f"| {term.name} | {term.meaning} | {', '.join(term.synonyms)} | {term.here} |" for term in TERMS]
    return "\n".join(["| term | meaning | also called | here |", "|---|---|---|---|", *rows])


def prefixes_table() -> str:
    """Return the prefixes as a Markdown table."""
    return "\n".join(
        ["| prefix | who does what |", "|---|---|", *(f"| `{each.name}:` | {each.meaning} |" for each in PREFIXES)]
    )
