"""layers: what may import what, and what `import penstock` must leave alone."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

LOADED = """
import json, sys
before = set(sys.modules)
import penstock
print(json.dumps(sorted(set(sys.modules) - before)))
"""


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=ROOT, check=False)


@pytest.fixture(scope="module")
def loaded() -> set[str]:
    result = run("-I", "-c", LOADED)
    assert result.returncode == 0, result.stderr
    return set(json.loads(result.stdout))


def test_contracts_of_import_linter_are_kept() -> None:
    result = run("-c", "from importlinter.cli import lint_imports_command; lint_imports_command(['--no-cache'])")
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("module", ["asyncio", "pyarrow", "pyspark", "pytest"])
def test_import_penstock_does_not_load(module: str, loaded: set[str]) -> None:
    assert "penstock" in loaded
    assert not {name for name in loaded if name.split(".")[0] == module}


def test_import_penstock_loads_no_neighbour(loaded: set[str]) -> None:
    assert not {name for name in loaded if name.split(".")[1:2] in (["pull"], ["spark"])}


def test_import_penstock_loads_only_itself_and_the_standard_library(loaded: set[str]) -> None:
    allowed = {"penstock", *sys.stdlib_module_names}
    assert {name for name in loaded if name.split(".")[0] not in allowed} == set()
