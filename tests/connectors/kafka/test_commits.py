"""intake: commits are sent with the calls for messages, and made again, and waited for, where that is not enough."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from penstock.connectors.kafka.intake import ConsumerSettings, KafkaIntake
from penstock.connectors.kafka.link import BrokerLink

PLACE = ("t", 0)


class Consumer:
    """A client that writes down the commits, and answers those that it was not waited for when it is told to."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.refuses: KafkaError | None = None

    def consume(self, most: int, wait: float) -> list[Any]:
        return []

    def consumer_group_metadata(self) -> None:
        return None

    def commit(self, offsets: list[TopicPartition], asynchronous: bool) -> None:
        (one,) = offsets
        self.words.append(f"{'send' if asynchronous else 'commit'} {one.offset}")
        if self.refuses is not None and not asynchronous:
            raise KafkaException(self.refuses)


def intake_of() -> tuple[KafkaIntake, Consumer]:
    intake = KafkaIntake(ConsumerSettings(BrokerLink("none:1"), "g", "earliest", True, 1, 1))
    consumer = intake._consumer = Consumer()
    intake.ledger.gave(PLACE, 0, 100)
    return intake, consumer


def answer(offset: int) -> list[TopicPartition]:
    return [TopicPartition("t", 0, offset)]


def test_a_commit_is_sent_with_a_call_for_messages_and_answered_in_a_later_one() -> None:
    intake, consumer = intake_of()
    told = intake.ask_commit({PLACE: 10})
    intake.take(1)
    assert consumer.words == ["send 10"]
    assert not told.done()
    intake._answered(None, answer(10))
    assert told.result(0) is None
    assert intake.ledger.reached == {PLACE: 10}


def test_those_that_wait_are_sent_as_one() -> None:
    intake, consumer = intake_of()
    asked = [intake.ask_commit({PLACE: offset}) for offset in (10, 20, 30)]
    intake.take(1)
    intake._answered(None, answer(30))
    assert consumer.words == ["send 30"]
    assert all(told.done() for told in asked)


def test_one_is_under_way_at_a_time() -> None:
    intake, consumer = intake_of()
    intake.ask_commit({PLACE: 10})
    intake.take(1)
    second = intake.ask_commit({PLACE: 20})
    intake.take(1)
    assert consumer.words == ["send 10"]
    intake._answered(None, answer(10))
    intake.take(1)
    assert consumer.words == ["send 10", "send 20"]
    intake._answered(None, answer(20))
    assert second.done()


def test_where_no_call_for_messages_follows_it_is_made_again_and_waited_for() -> None:
    intake, consumer = intake_of()
    told = intake.ask_commit({PLACE: 10})
    intake.take(1)
    behind = intake.ask_commit({PLACE: 20})
    intake.commit_asked()
    assert consumer.words == ["send 10", "commit 10", "commit 20"]
    assert told.done()
    assert behind.done()
    intake._answered(None, answer(10))  # what was sent first is answered at last
    assert intake.ledger.reached == {PLACE: 20}


def test_one_that_fails_is_made_again_and_its_error_is_told() -> None:
    intake, consumer = intake_of()
    told = intake.ask_commit({PLACE: 10})
    intake.take(1)
    consumer.refuses = KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED)
    intake._answered(consumer.refuses, answer(10))
    assert not told.done()
    intake.take(1)
    assert consumer.words == ["send 10", "commit 10"]
    with pytest.raises(PermissionError, match="commit of"):
        told.result(0)
    assert intake.ledger.reached == {}


def test_one_that_fails_in_passing_is_made_again() -> None:
    intake, consumer = intake_of()
    told = intake.ask_commit({PLACE: 10})
    intake.take(1)
    intake._answered(KafkaError(KafkaError.NOT_COORDINATOR), answer(10))
    intake.take(1)
    assert consumer.words == ["send 10", "commit 10"]
    assert told.result(0) is None
    assert intake.ledger.reached == {PLACE: 10}


def test_what_is_not_ours_to_commit_is_not_sent() -> None:
    intake, consumer = intake_of()
    told = intake.ask_commit({("other", 1): 10})
    intake.take(1)
    assert consumer.words == []
    assert told.done()
