"""link: where the brokers are, how they are spoken to, and in which words an error of theirs is told."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Event
from typing import Any, Protocol

from confluent_kafka import KafkaError, KafkaException

LOGGER = logging.getLogger("penstock.kafka")
LOGGER.addHandler(logging.NullHandler())  # what the client says is heard where the program listens

REACH_SECONDS = 15.0
"""How long the brokers may take to answer when a stream is opened."""

_REFUSED = {
    KafkaError._AUTHENTICATION,
    KafkaError._SSL,
    KafkaError.SASL_AUTHENTICATION_FAILED,
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
}
_UNREACHED = {KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._TIMED_OUT, KafkaError._RESOLVE}
_FENCED = {KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.PRODUCER_FENCED}
_UNKNOWN = {KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION}
_PASSING = _UNREACHED | {
    KafkaError._WAIT_COORD,
    KafkaError._MAX_POLL_EXCEEDED,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.REQUEST_TIMED_OUT,
    KafkaError.NETWORK_EXCEPTION,
}


@dataclass(frozen=True, slots=True)
class BrokerLink:
    """The brokers, and what else the client is told; a value that pickles."""

    servers: str
    options: tuple[tuple[str, Any], ...] = field(default=(), repr=False)
    """Other settings, passwords among them, so they are not shown."""

    @staticmethod
    def of(servers: str | Sequence[str], options: Mapping[str, Any] | None, own: Mapping[str, str]) -> BrokerLink:
        """Make a link of what a user says, and refuse options that another argument is for."""
        names = [servers] if isinstance(servers, str) else list(servers) if isinstance(servers, Iterable) else []
        if not names or not all(isinstance(name, str) and name for name in names):
            raise ValueError(f"kafka: servers must be 'host:port', or several of them, got {servers!r}")
        for name, cure in own.items():
            if options and name in options:
                raise ValueError(f"kafka: the option {name!r} is set by penstock; {cure}")
        return BrokerLink(",".join(names), tuple(sorted((options or {}).items())))

    def config(self, own: Mapping[str, Any], complaints: Complaints) -> dict[str, Any]:
        """Return the client's settings: penstock's, then the user's, who may change those that are not refused."""
        return {**own, **dict(self.options), "bootstrap.servers": self.servers, "error_cb": complaints}


class Complaints:
    """What the client has complained of; most of it passes, and a refusal does not."""

    def __init__(self) -> None:
        self.last: KafkaError | None = None
        self.refusal: KafkaError | None = None

    def __call__(self, error: KafkaError) -> None:
        """Take a complaint; called by the client, inside a call of ours."""
        LOGGER.info("%s", error)
        if error.code() != KafkaError._ALL_BROKERS_DOWN or self.last is None:
            self.last = error
        if error.code() in _REFUSED or error.fatal():
            self.refusal = error


class Client(Protocol):
    """What consumers and producers have in common."""

    def list_topics(self, topic: str | None = ..., timeout: float = ...) -> Any:
        """Return what the brokers say of their topics."""
        ...

    def poll(self, timeout: float = ...) -> Any:
        """Have callbacks called."""
        ...


def topics_there(client: Client, link: BrokerLink, complaints: Complaints, stop: Event) -> dict[str, list[int]]:
    """Return the topics that the brokers have, with their partitions; raise if they refuse us, or cannot be reached."""
    deadline = time.monotonic() + REACH_SECONDS
    while not stop.is_set():
        try:
            # All of them are asked for: to ask an old broker for one topic makes it.
            found = client.list_topics(timeout=0.5).topics
        except KafkaException as error:
            client.poll(0)
            if complaints.refusal is not None:
                raise told(complaints.refusal, link) from None
            if time.monotonic() > deadline:
                raise told(complaints.last or error.args[0], link) from None
        else:
            return {name: sorted(topic.partitions) for name, topic in found.items() if topic.error is None}
    raise ConnectionAbortedError("kafka: the run has ended before the brokers answered")


def missing(topic: str, link: BrokerLink) -> LookupError:
    """Return the error of a topic that is not there."""
    return LookupError(f"kafka: there is no topic {topic!r} on {link.servers}; create it first")


def passes(error: KafkaError) -> bool:
    """Tell whether the client gets over an error by itself."""
    return not error.fatal() and (error.retriable() or error.code() in _PASSING)


def told(error: KafkaError, link: BrokerLink, about: str = "") -> Exception:
    """Return an error of the client as an exception that says what is refused and where."""
    what = f"kafka: {about + ': ' if about else ''}{error.str()} ({error.name()}, {link.servers})"
    code = error.code()
    if code in _REFUSED:
        return PermissionError(f"{what}; check the security options and the rights on the brokers")
    if code in _UNREACHED:
        return ConnectionError(f"{what}; check that the brokers run and can be reached from here")
    if code in _UNKNOWN:
        return LookupError(f"{what}; the topic was deleted, or never was there")
    if code in _FENCED:
        return ConnectionAbortedError(
            f"{what}; another producer with this transactional_id has begun, or the transaction took longer than"
            " timeout; give each sink that runs a different name"
        )
    made = KafkaException(error)
    made.add_note(what)
    return made


__all__ = ["LOGGER", "BrokerLink", "Client", "Complaints", "missing", "passes", "told", "topics_there"]
