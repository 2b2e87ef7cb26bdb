"""api_pages: which names stand on which page of the API reference.

A page of docs/api has a line `<!-- names: penstock.testing -->`, or `<!-- names: penstock: Flow, Sink -->` for some of
the names of a module. In the site it becomes one directive of mkdocstrings for each name, which shows the signature and
the docstring. A module without a list is shown whole: what its `__all__` says or, without one, what is defined in it.
Modules are read and not imported, since some need a library that the site does not.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src"
MARK = re.compile(r"^<!-- names: ([\w.]+)(?::\s+([\w,\s]+?))? -->$", re.MULTILINE)

EXAMPLE = re.compile(r"^( *)>>> .*(?:\n(?! *$).*)*", re.MULTILINE)


class NamesError(Exception):
    """The error that a page asks for a name that its module does not have."""


def body_of(module: str) -> list[ast.stmt]:
    """Read the statements of a module."""
    place = SOURCE.joinpath(*module.split("."))
    file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    return ast.parse(file.read_text(encoding="utf-8")).body


def public_names(module: str) -> list[str]:
    """Return the public names of a module, types first."""
    body = body_of(module)
    exported = [each.value for each in body if isinstance(each, ast.Assign) and ast.unparse(each.targets) == "__all__"]
    if exported:
        found = ast.literal_eval(exported[0])
    else:
        defined = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        found = {each.name for each in body if isinstance(each, defined) and not each.name.startswith("_")}
    return sorted(found, key=lambda name: (name[0].islower(), name.lower()))


def address_of(module: str, name: str) -> str:
    """Return where a name is found; one that a module of this package has, too, is looked up where it is defined."""
    place = SOURCE.joinpath(*module.split("."), name)
    if place.is_dir() or place.with_suffix(".py").exists():
        for each in body_of(module):
            if isinstance(each, ast.ImportFrom) and name in {alias.name for alias in each.names}:
                return f"{each.module}.{name}"
    return f"{module}.{name}"


def names_on(text: str) -> dict[str, list[str]]:
    """Return the names that a page asks for, by their modules."""
    found: dict[str, list[str]] = {}
    for module, listed in MARK.findall(text):
        known = public_names(module)
        names = re.split(r",\s*", listed) if listed else known
        for name in names:
            if name not in known:
                raise NamesError(f"there is no {name!r} in {module}, only {', '.join(known)}")
        found.setdefault(module, []).extend(names)
    return found


def with_names(text: str) -> str:
    """Put a directive for each name in place of the lines that ask for them."""
    return MARK.sub(lambda found: directives(found[0]), text)


def directives(mark: str) -> str:
    """Write the directives of one line."""
    return "\n\n".join(f"::: {address_of(module, name)}" for module, names in names_on(mark).items() for name in names)


def with_fences(text: str) -> str:
    """Put each example of a docstring into a block of code, as far in as it stands."""
    return EXAMPLE.sub(lambda found: f"{found[1]}```pycon\n{found[0]}\n{found[1]}```", text)
