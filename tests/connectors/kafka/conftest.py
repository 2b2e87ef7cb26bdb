"""conftest: a broker, a mock cluster and a model for the tests of this folder, begun when a test asks for them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from tests.connectors.kafka.model import ModelBroker
from tests.connectors.kafka.server import Broker, MockCluster

_numbers = itertools.count()


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """Run a broker."""
    one = Broker(tmp_path_factory.mktemp("kafka"))
    try:
        one.start()
        yield one
    finally:
        one.stop()


@pytest.fixture(scope="session")
def mock() -> Iterator[MockCluster]:
    """Run a mock cluster."""
    one = MockCluster()
    yield one
    one.stop()


@pytest.fixture
def topic(broker: Broker) -> str:
    """Make a topic of the test's own."""
    name = f"topic-{next(_numbers)}"
    broker.create(name)
    return name


@pytest.fixture(scope="session")
def model() -> Iterator[ModelBroker]:
    """Run a broker of the tests' own that keeps the rules of transactions."""
    one = ModelBroker()
    yield one
    one.stop()


@pytest.fixture
def topic_of_model(model: ModelBroker) -> str:
    """Make a topic of the test's own at the model."""
    name = f"topic-{next(_numbers)}"
    model.create(name)
    return name
