"""glossary: the terms of the texts in our own words, and which text explains which."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

TEXTS: Final = ("JVM 1.0.1", "JVM 1.0.3", ".NET", "C++")


@dataclass(frozen=True, slots=True)
class Term:
    """A term that the texts use: what it means, which of them explain it, and in what one of them differs."""

    name: str
    meaning: str
    texts: tuple[str, ...] = TEXTS
    differs: str = ""
    also: tuple[str, ...] = ()


GLOSSARY: Final = (
    Term(
        "signal",
        "One call from one party to another: on_subscribe, on_next, on_complete, on_error, request or cancel; as a "
        "verb, to make such a call.",
        differs="C++ has no on_subscribe, and counts dropping the subscription, which cancels. .NET uses emit, signal "
        "and send for the same.",
        also=("emit", "send"),
    ),
    Term(
        "demand",
        "How many elements a subscriber has asked for and not yet been given; as a verb, to ask for more.",
        ("JVM 1.0.1", "JVM 1.0.3", "C++"),
    ),
    Term(
        "synchronous",
        "Done on the thread of the caller, before the call returns.",
        ("JVM 1.0.1", "JVM 1.0.3", ".NET"),
        also=("synchronously",),
    ),
    Term(
        "return normally",
        "To return without raising; a failure goes to on_error and nowhere else.",
        differs=".NET says: raises only what the rule allows by name.",
    ),
    Term(
        "responsivity",
        "Being able to answer soon; no party may take that from another.",
        ("JVM 1.0.1", "JVM 1.0.3", "C++"),
    ),
    Term(
        "non-obstructing",
        "Of a method: as quick as can be on the calling thread, without long work and without waiting.",
        ("JVM 1.0.1", "JVM 1.0.3", "C++"),
    ),
    Term(
        "terminal state",
        "For a publisher, having signalled on_complete or on_error; for a subscriber, having received one of them.",
        ("JVM 1.0.1", "JVM 1.0.3", "C++"),
        also=("the end",),
    ),
    Term(
        "NOP",
        "A call that has no effect that its caller could notice, so that it can be repeated at will.",
        ("JVM 1.0.1", "JVM 1.0.3", "C++"),
    ),
    Term(
        "external synchronization",
        "Keeping calls apart by means that the contract does not name, such as locks.",
        ("JVM 1.0.1",),
        differs="C++ uses the term and does not explain it. JVM 1.0.3 speaks of serial calls instead.",
    ),
    Term(
        "serial",
        "Of signals: one after another, none beginning before the one before it has returned, on whatever threads.",
        ("JVM 1.0.3",),
        differs="JVM 1.0.1 and C++ ask for external synchronization, and .NET says sequentially.",
        also=("serially", "sequentially"),
    ),
    Term(
        "thread-safe",
        "Safe to call from any thread at any time, without help from the caller.",
        ("JVM 1.0.3",),
    ),
    Term(
        "stop-and-wait",
        "Asking for one element after each one received, so that a request is an acknowledgement.",
    ),
    Term(
        "unbounded",
        "A demand of 2^63-1 or more, which a publisher need not count down.",
    ),
)


def term(name: str, /) -> Term:
    """Return the term of that name, or of one that means the same.

    >>> term("serially").name
    'serial'
    """
    for each in GLOSSARY:
        if name.lower() in {each.name.lower(), *each.also}:
            return each
    raise LookupError(f"term: name must be one of {', '.join(each.name for each in GLOSSARY)}, got {name!r}")


def glossary_table() -> str:
    """Return the terms as a Markdown table: what they mean, and which text explains them."""
    rows = [("Term", "Meaning", *TEXTS), ("---",) * (2 + len(TEXTS))]
    for each in GLOSSARY:
        also = f" ({', '.join(each.also)})" if each.also else ""
        meaning = f"{each.meaning}{f'<br>{each.differs}' if each.differs else ''}"
        rows.append((f"{each.name}{also}", meaning, *("yes" if text in each.texts else "-" for text in TEXTS)))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"
