"""light: packages of penstock that Spark's Python processes import without all that their `__init__` brings in.

Every live stream has three such processes, one after the other before its first row, each of which needs a reader and
the wire to the gate; `import penstock` would load every operator first. Here a package is only a folder, until the
first of its names is asked for: `from penstock import Stream` runs its `__init__` as ever.

It is loaded by its path, before anything of penstock is imported.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

PACKAGES = ("penstock", "penstock.spark")


def lighten(home: Path, packages: tuple[str, ...] = PACKAGES) -> None:
    """Make light packages of these, the first of which is the folder `home`."""
    for name in packages:
        if name not in sys.modules:
            folder = home.joinpath(*name.split(".")[1:])
            sys.modules[name] = _light(name, folder)
            parent, _, own = name.rpartition(".")
            if parent:
                setattr(sys.modules[parent], own, sys.modules[name])


def _light(name: str, folder: Path) -> ModuleType:
    file = str(folder / "__init__.py")
    spec = ModuleSpec(name, SourceFileLoader(name, file), origin=file, is_package=True)
    spec.submodule_search_locations = [str(folder)]
    module = ModuleType(name)
    vars(module).update(__file__=file, __path__=[str(folder)], __package__=name, __spec__=spec, __loader__=spec.loader)

    def __getattr__(wanted: str) -> Any:  # noqa: N807  Python's name
        if wanted.startswith("__"):
            raise AttributeError(f"module {name!r} has no attribute {wanted!r}")
        if vars(module).pop("__getattr__", None) is None:
            raise AttributeError(f"module {name!r} has no attribute {wanted!r}")
        assert spec.loader is not None
        spec.loader.exec_module(module)
        return getattr(module, wanted)

    vars(module)["__getattr__"] = __getattr__
    return module
