"""house_rooms: the rooms of penstock and which imports which, read from `.importlinter` and from the code.

A package has rooms if a contract of the type `layers` names it as a container. So a package that gets such a contract
gets its rooms drawn, and nothing has to be said here.
"""

from __future__ import annotations

import ast
import configparser
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parent.parent

Arrow = tuple[str, str]
"""The room that imports, and the room that is imported."""


@dataclass(frozen=True, slots=True)
class Layers:
    """A contract of `.importlinter`: the rooms of one package from the top down, and the imports it leaves out."""

    container: str
    layers: tuple[tuple[str, ...], ...]
    ignored: tuple[str, ...] = ()

    def leaves_out(self, importer: str, imported: str) -> bool:
        """Tell whether the contract does not count an import."""
        return any(fnmatchcase(f"{importer} -> {imported}", pattern) for pattern in self.ignored)


@dataclass(frozen=True, slots=True)
class Room:
    """A module or a package: its name, what it says of itself, how large it is, and the rooms in it, if it has any."""

    name: str
    sentence: str
    files: int
    lines: int
    inside: House | None = None


@dataclass(frozen=True, slots=True)
class House:
    """The rooms of one package from the top down, and how many imports each arrow stands for."""

    rooms: tuple[Room, ...]
    imports: Mapping[Arrow, int]

    def arrows(self) -> dict[Arrow, int]:
        """Return the arrows that no row of other arrows implies."""
        reach = {room.name: reached(room.name, self.imports) for room in self.rooms}
        return {
            (above, below): count
            for (above, below), count in self.imports.items()
            if not any(below in reach[step] for start, step in self.imports if start == above and step != below)
        }


def reached(start: str, arrows: Iterable[Arrow]) -> set[str]:
    """Return what can be reached from a room by one arrow or more."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        here = waiting.pop()
        further = {below for above, below in arrows if above == here} - found
        found |= further
        waiting.extend(further)
    return found


def contracts(text: str) -> dict[str, Layers]:
    """Read the contracts about layers, by the package they are about."""
    parser = configparser.ConfigParser()
    parser.read_string(text)
    found = {}
    for section in map(parser.__getitem__, parser.sections()):
        if section.get("type") != "layers":
            continue
        layers = tuple(tuple(re.findall(r"\w+", line)) for line in _lines(section["layers"]))
        for container in _lines(section["containers"]):
            found[container] = Layers(container, layers, tuple(_lines(section.get("ignore_imports", ""))))
    return found


def _lines(value: str) -> Iterator[str]:
    return (line.strip() for line in value.splitlines() if line.strip())


def read_house(root: Path = ROOT, package: str = "penstock") -> House:
    """Read the rooms of a package, and those of the rooms that have some, from the folder of a project."""
    graph = grimp.build_graph(package, cache_dir=None)
    agreed = contracts((root / ".importlinter").read_text(encoding="utf-8"))
    return _house(package, graph, agreed, root / "src")


def _house(container: str, graph: grimp.ImportGraph, agreed: Mapping[str, Layers], source: Path) -> House:
    contract = agreed[container]
    present = {module.rpartition(".")[2] for module in graph.find_children(container)}
    names = [name for layer in contract.layers for name in layer if name in present]
    if unknown := present - set(names):
        raise ValueError(f".importlinter: {container}: no layer for {', '.join(sorted(unknown))}")
    rooms = tuple(_room(f"{container}.{name}", graph, agreed, source) for name in names)
    return House(rooms, _imports(contract, graph))


def _imports(contract: Layers, graph: grimp.ImportGraph) -> dict[Arrow, int]:
    """Count the imports between the rooms of a package."""
    counts: Counter[Arrow] = Counter()
    for importer in sorted(graph.modules):
        for imported in sorted(graph.find_modules_directly_imported_by(importer)):
            above, below = _child(importer, contract.container), _child(imported, contract.container)
            if above and below and above != below and not contract.leaves_out(importer, imported):
                counts[above, below] += 1
    return dict(sorted(counts.items()))


def _child(module: str, container: str) -> str:
    """Return the room of a package that a module is in, or nothing if it is in none."""
    return module.removeprefix(f"{container}.").split(".")[0] if module.startswith(f"{container}.") else ""


def _room(module: str, graph: grimp.ImportGraph, agreed: Mapping[str, Layers], source: Path) -> Room:
    path = source.joinpath(*module.split("."))
    files = sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]
    lines = sum(1 for file in files for line in file.read_text(encoding="utf-8").splitlines() if line.strip())
    inside = _house(module, graph, agreed, source) if module in agreed else None
    return Room(module.rpartition(".")[2], _sentence(path), len(files), lines, inside)


def _sentence(path: Path) -> str:
    """Return what a module says of itself in the first sentence of its docstring, up to a semicolon."""
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    first = " ".join(text.split("\n\n", maxsplit=1)[0].split()).replace("`", "")
    return re.split(r"[.;](?:\s|$)", first.removeprefix(f"{path.name}: "), maxsplit=1)[0]
