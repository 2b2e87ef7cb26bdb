"""A connector whose client is not installed says so, with what to install."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("connector", "module", "named"),
    [
        ("postgres", "psycopg", "psycopg"),
        ("kafka", "confluent_kafka", "confluent-kafka"),
        ("nats", "nats", "nats-py"),
        ("http", "httpx", "httpx and websockets"),
        ("http", "websockets", "httpx and websockets"),
    ],
)
def test_a_missing_client_is_named_with_its_cure(connector: str, module: str, named: str) -> None:
    program = f"import sys; sys.modules[{module!r}] = None\nimport penstock.connectors.{connector}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    message = f"penstock.connectors.{connector} needs {named}: pip install 'penstock[{connector}]'"
    assert done.stderr.splitlines()[-1] == f"ModuleNotFoundError: {message}"
