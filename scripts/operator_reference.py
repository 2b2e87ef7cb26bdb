"""operator_reference: the reference of the operators, written from their own docstrings and signatures."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
import re
import textwrap
import typing
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import penstock.operators
from penstock.stage import Joint, Source, Stage
from penstock.stream import Stream

WIDE = 96  # characters of a line of code that fit the page
QUESTIONS = ("Emits", "Backpressures", "Completes", "Cancels")


@dataclass(frozen=True)
class Form:
    """Hold what one class of an operator says of itself."""

    kind: str
    sight: str
    sentence: str
    answers: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Entry:
    """Hold the reference of one operator."""

    name: str
    signature: str
    summary: str
    example: str
    forms: tuple[Form, ...]


def answers_of(text: str) -> Iterator[tuple[str, str]]:
    """Split the answers of a docstring at the words that begin them."""
    parts = re.split(r"\b(Emits|Backpressures|Completes|Cancels)\b", " ".join(text.split()))
    for word, answer in zip(parts[1::2], parts[2::2], strict=True):
        yield word, answer.strip(" .,").removesuffix(" and") + "."


def form_of(step: type) -> Form:
    """Read what a class says of itself."""
    kind = next(
        name for base, name in ((Stage, "stage"), (Joint, "joint"), (Source, "source")) if issubclass(step, base)
    )
    sentence, _, rest = inspect.cleandoc(step.__doc__ or "").partition("\n\n")
    sight = step.sight.value if issubclass(step, Stage | Joint) else ""
    return Form(kind, sight, " ".join(sentence.split()), tuple(answers_of(rest)))


def entries() -> Iterator[Entry]:
    """Read every operator, in the order of their names."""
    for module in sorted(pkgutil.iter_modules(penstock.operators.__path__), key=lambda found: found.name):
        loaded = importlib.import_module(f"penstock.operators.{module.name}")
        steps = [
            member
            for name, member in vars(loaded).items()
            if isinstance(member, type)
            and issubclass(member, Stage | Joint | Source)
            and dataclasses.is_dataclass(member)
            and member.__module__ == loaded.__name__
            and not name.startswith("_")
        ]
        method = getattr(Stream, module.name)
        summary, example = summary_and_example(inspect.cleandoc(method.__doc__ or ""))
        static = "Stream." if isinstance(inspect.getattr_static(Stream, module.name), staticmethod) else "stream."
        typed = typing.get_overloads(method) or [method]  # what a caller sees, and not what serves all of them
        signatures = "\n".join(wrapped(f"{static}{module.name}{signature_of(each)}") for each in typed)
        yield Entry(module.name, signatures, summary, example, tuple(map(form_of, steps)))


def summary_and_example(docstring: str) -> tuple[str, str]:
    """Take what a docstring says in sentences, and its examples; its class and the API reference have the rest."""
    paragraphs = re.split(r"\n(?:[ ]*\n)+", docstring)
    rest = re.compile(rf"[A-Z]\w+:\n| |>>> |(?:{'|'.join(QUESTIONS)}) ")
    sentences = [each for each in paragraphs if not rest.match(each)]
    found = (re.search(r"^ *>>> .*", each, re.MULTILINE | re.DOTALL) for each in paragraphs)
    examples = [textwrap.dedent(each[0]) for each in found if each is not None]
    return "\n\n".join(sentences), "\n\n".join(examples)


def signature_of(method: Callable[..., object]) -> str:
    """Write a signature as its reader knows it."""
    text = re.sub(r"\bself(: [^,)]*)?(, )?", "", str(inspect.signature(method)))
    text = re.sub(r"<([\w.]+) object at 0x\w+>", lambda found: f"{found[1].rpartition('.')[2]}()", text)
    text = re.sub(r"<(\w+\.\w+): [^>]*>", r"\1", text)
    return text.replace("T_co", "T").replace("builtins.", "").replace("typing.", "").replace("'", "")


def wrapped(signature: str) -> str:
    """Put the parameters of a long signature on a line each."""
    if len(signature) <= WIDE:
        return signature
    start = signature.index("(") + 1
    depth, parts, begun = 0, [], start
    for place in range(start, len(signature)):
        depth += (signature[place] in "([") - (signature[place] in ")]")
        if (signature[place] == "," and depth == 0) or depth < 0:
            parts.append(f"    {signature[begun:place].strip()},")
            begun = place + 1
        if depth < 0:
            return "\n".join([signature[:start], *parts, f"){signature[place + 1 :]}"])
    return signature


def reference_page() -> str:
    """Return the entries as Markdown."""
    parts = [""]
    for entry in entries():
        parts.append(f"## {entry.name}\n\n{entry.summary}\n\n```py\n{entry.signature}\n```\n")
        parts.append(f"![{entry.name} over time](marbles/{entry.name}.svg)\n")
        for form in entry.forms:
            parts.append(f"*{form.kind}{f', {form.sight}' if form.sight else ''}.* {form.sentence}\n")
            parts.extend(f"- **{word}** {answer}" for word, answer in form.answers)
            parts.append("")
        parts.append(f"```pycon\n{entry.example.strip()}\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    print(reference_page())
