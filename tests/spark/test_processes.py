"""processes: a query is run again where Spark did not wait for its Python, and for no other reason."""

from __future__ import annotations

import pytest

from tests.spark.processes import waited_for


def test_what_spark_did_not_wait_for_is_run_again() -> None:
    errors = [RuntimeError("Python worker failed to connect back.")] * 3

    def query() -> int:
        if errors:
            raise errors.pop()
        return 5

    assert waited_for(query) == 5


def test_another_error_is_raised_at_once() -> None:
    errors = [RuntimeError("worker failed"), RuntimeError("disk full")]

    def query() -> int:
        raise errors.pop()

    with pytest.raises(RuntimeError, match=r"^disk full$"):
        waited_for(query)
    assert len(errors) == 1
