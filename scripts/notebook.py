"""notebook: run the notebooks of the documentation and keep what they show.

    python -m scripts.notebook [FILE ...]

Each is run in a fresh kernel, and its outputs are stored in it, without times and numbers of the run, so that a second
run changes nothing. A cell with the tag `varies` may show something else each time.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from traitlets.config import Config

ROOT = Path(__file__).parent.parent


def executed(file: Path) -> Any:
    """Run a notebook in a fresh kernel and return it with its outputs; a cell that raises is an error."""
    notebook = nbformat.read(file, as_version=4)  # type: ignore[no-untyped-call]
    with tempfile.TemporaryDirectory() as room:
        sockets = Config({"KernelManager": {"transport": "ipc", "ip": f"{room}/kernel"}})  # no port is opened
        where = {"metadata": {"path": str(file.parent)}}
        NotebookClient(notebook, config=sockets, timeout=120, resources=where).execute()
    return tidied(notebook)


def tidied(notebook: Any) -> Any:
    """Leave out what differs from one run to the next."""
    notebook.metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    for cell in notebook.cells:
        cell.metadata = {"tags": cell.metadata["tags"]} if "tags" in cell.metadata else {}
        if cell.cell_type == "code":
            cell.execution_count = None
            for output in cell.outputs:
                if output.output_type == "execute_result":
                    output.execution_count = None
    return notebook


def said(notebook: Any) -> list[str]:
    """Return what each cell says as text, but for cells that may say something else each time."""
    found = []
    for cell in notebook.cells:
        if cell.cell_type == "code" and "varies" not in cell.metadata.get("tags", ()):
            found += [output.get("text") or output["data"]["text/plain"] for output in cell.outputs]
    return found


def main(files: list[Path]) -> None:
    """Run notebooks and write them."""
    for file in files:
        nbformat.write(executed(file), file)  # type: ignore[no-untyped-call]
        print(f"{file} was run")


if __name__ == "__main__":
    main([Path(each) for each in sys.argv[1:]] or sorted((ROOT / "docs").rglob("*.ipynb")))
