"""kafka: what goes wrong is said by name, and nothing is lost by it."""

from __future__ import annotations

import subprocess
import threading
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import trustme
from confluent_kafka import TopicPartition
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import pkcs12

from penstock import Sink, Stream
from penstock.connectors import kafka
from penstock.connectors.kafka import link
from penstock.connectors.kafka.intake import KafkaIntake
from penstock.connectors.kafka.topics import settled
from penstock.spark.session.java import find_java
from tests.connectors.kafka.server import OLD, OPTIONS, Broker, free_port, until


def threads() -> list[str]:
    return [one.name for one in threading.enumerate() if one.name.startswith("penstock-kafka")]


def gone() -> None:
    until(lambda: not threads(), "a thread stays")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: kafka.source([], servers="s"), "kafka: topics must be a name, or several, got []"),
        (lambda: kafka.source("t", servers=""), "kafka: servers must be 'host:port', or several of them, got ''"),
        (
            lambda: kafka.source("t", servers="s", group=""),
            "kafka: group must be a name, or None to read without a group, got ''",
        ),
        (
            lambda: kafka.source("t", servers="s", group=3),  # type: ignore[arg-type]
            "kafka: group must be a name, or None to read without a group, got 3",
        ),
        (lambda: kafka.source(3, servers="s"), "kafka: topics must be a name, or several, got 3"),  # type: ignore[arg-type]
        (lambda: kafka.sink(3, servers="s"), "kafka: topic must be a name, got 3"),  # type: ignore[arg-type]
        (lambda: kafka.sink("t", servers=3), "kafka: servers must be 'host:port', or several of them, got 3"),  # type: ignore[arg-type]
        (lambda: kafka.sink("t", servers="s", timeout="1"), "kafka: timeout must be > 0 seconds, got '1'"),  # type: ignore[arg-type]
        (lambda: kafka.source("^t.*", servers="s"), "kafka: a pattern of topics needs a group, got '^t.*'"),
        (lambda: kafka.source("t", servers="s", most=0), "kafka: most must be >= 1, got 0"),
        (lambda: kafka.source("t", servers="s", held=0), "kafka: held must be >= 1, got 0"),
        (lambda: kafka.partitions("t", servers="s", queue=0), "kafka: queue must be >= 1, got 0"),
        (lambda: kafka.partition("t", -1, servers="s"), "kafka: number must be >= 0, got -1"),
        (lambda: kafka.partition("t", 0, servers="s", after=-1), "kafka: after must be >= 0, got -1"),
        (
            lambda: kafka.source("t", servers="s", options={"group.id": "g"}),
            "kafka: the option 'group.id' is set by penstock; give group",
        ),
        (
            lambda: kafka.sink("t", servers="s", options={"acks": 1}),
            "kafka: the option 'acks' is set by penstock; every batch is confirmed by all replicas in sync",
        ),
        (
            lambda: kafka.sink("t", servers="s", options={"on_delivery": print}),
            "kafka: the option 'on_delivery' is set by penstock; a batch is done when no record of it has failed",
        ),
        (lambda: kafka.sink("t", servers="s", size=0), "kafka: size must be >= 1, got 0"),
        (lambda: kafka.sink("t", servers="s", timeout=0), "kafka: timeout must be > 0 seconds, got 0"),
        (
            lambda: kafka.sink("t", servers="s", transactional_id="x", idempotent=False),
            "kafka: transactions need idempotent=True",
        ),
        (lambda: kafka.parts("^t", servers="s", group="g"), "kafka: parts are of topics by name, got '^t'"),
    ],
)
def test_bad_arguments_are_refused_at_once(make: Any, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        make()
    assert str(caught.value) == message


def test_a_password_is_not_shown() -> None:
    stream = kafka.source("t", servers="s", options={"sasl.password": "hidden"})
    assert "hidden" not in repr(stream._chain)


def test_what_is_given_while_a_partition_goes_is_not_committed_for_its_next_holder() -> None:
    def revoked(places: list[tuple[str, int]]) -> None:
        intake.ledger.gave(places[0], 0, 10)  # as a stream of its records may, until it is told

    intake = KafkaIntake(settled("s", "g", "earliest", True, 1, 1, 1, None), revoked=revoked)
    intake._on_lost(intake._consumer, [TopicPartition("t", 0)])
    assert intake.ledger.done({("t", 0): 5}) == {}


def test_brokers_that_cannot_be_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "REACH_SECONDS", 0.5)
    servers = f"127.0.0.1:{free_port()}"
    words = r"Connection refused.* \(_TRANSPORT, .*\); check that the brokers run and can be reached from here$"
    with pytest.raises(ConnectionError, match=words):
        list(kafka.source("t", servers=servers))
    with pytest.raises(ConnectionError, match=words):
        (Stream.just(b"a") | kafka.sink("t", servers=servers)).run().wait()
    gone()


def test_a_topic_or_partition_that_is_not_there(broker: Broker, topic: str) -> None:
    with pytest.raises(LookupError, match=r"^kafka: there is no topic 'no' on .*; create it first$"):
        list(kafka.source("no", servers=broker.servers, options=OPTIONS))
    with pytest.raises(LookupError, match=rf"^kafka: topic '{topic}' has partitions \[0, 1, 2, 3\], and not 4$"):
        list(kafka.partition(topic, 4, servers=broker.servers, options=OPTIONS))
    gone()


def test_a_position_that_is_none(broker: Broker, topic: str) -> None:
    stream = kafka.source(topic, servers=broker.servers, live=False, options=OPTIONS)
    source: Any = stream._chain.source
    for bad in ([1, 2], {"t": 3}, {"t": {"x": 3}}, {"t": {"0": -1}}, "t"):
        with pytest.raises(ValueError, match=r'^kafka: a position is \{"topic": \{"partition": offset\}\}, got '):
            list(Stream.from_publisher(source.open_from(bad).elements))


@pytest.mark.proves("kafka.source", "offsets that the brokers have deleted", "a clear error, no silent gap")
def test_an_offset_that_is_gone_is_an_error(broker: Broker, topic: str) -> None:
    broker.produce(topic, [b"a"], partition=0)
    stream = kafka.partition(topic, 0, servers=broker.servers, after=17, options=OPTIONS)
    with pytest.raises(LookupError, match=rf"^kafka: {topic}/0 no longer has the offset to go on from"):
        list(stream)
    gone()


@pytest.mark.proves("kafka.source", "a dropped topic", "a clear error")
def test_a_topic_that_is_deleted_under_a_run(broker: Broker, topic: str) -> None:
    broker.produce(topic, [b"a"] * 4)
    options = {**OPTIONS, "topic.metadata.refresh.interval.ms": 300, "topic.metadata.propagation.max.ms": 300}
    seen = threading.Event()
    stream = kafka.source(topic, servers=broker.servers, group=f"{topic}-g", options=options)
    run = (stream.tap(lambda _: seen.set()) | Sink.for_each(id)).run()
    assert seen.wait(60)
    broker.delete(topic)
    with pytest.raises(LookupError, match=r"; the topic was deleted, |; records were deleted "):
        run.wait()  # the second where a client has asked for the topic meanwhile, which makes it anew
    gone()


@pytest.mark.proves("kafka.source", "a poison message", "the run fails at it; what is before it is committed, no more")
def test_a_poison_message_stops_the_run_and_is_not_committed(broker: Broker, topic: str) -> None:
    broker.produce(topic, [b"1", b"2", b"poison", b"4"], partition=0)
    group = f"{topic}-g"
    stream = kafka.source(topic, servers=broker.servers, group=group, live=False, options=OPTIONS)
    seen: list[int] = []
    with pytest.raises(ValueError, match="poison"):
        (stream.map(lambda record: int(record.value or b"")) | Sink.for_each(seen.append)).run().wait()
    assert seen == [1, 2]
    assert broker.committed(topic, group)[0] <= 2
    assert [record.value for record in stream][-2:] == [b"poison", b"4"]


@pytest.mark.proves(
    "kafka.source", "a poison message, dead letters", "it is kept in another topic, and the run goes on"
)
def test_dead_letters_go_to_another_topic(broker: Broker, topic: str) -> None:
    broker.produce(topic, [b"1", b"poison", b"3"], partition=0)
    broker.create(f"{topic}-dead")

    def good(record: kafka.Record) -> bool:
        return (record.value or b"").isdigit()

    stream = kafka.source(topic, servers=broker.servers, group=f"{topic}-g", live=False, options=OPTIONS)
    routed = stream.map(
        lambda record: kafka.Record.of(record.value, record.key, topic=topic + ("-good" if good(record) else "-dead"))
    )
    broker.create(f"{topic}-good")
    sink = kafka.sink(servers=broker.servers, idempotent=False, options=OLD)
    assert (routed | sink).run().wait() == 3
    assert list(chain.from_iterable(broker.values(f"{topic}-dead"))) == [b"poison"]
    assert sorted(chain.from_iterable(broker.values(f"{topic}-good"))) == [b"1", b"3"]
    assert broker.committed(topic, f"{topic}-g")[0] == 3


@pytest.mark.proves("kafka.source", "bad credentials", "a clear error")
@pytest.mark.proves("kafka.sink", "bad credentials", "a clear error")
def test_credentials_that_the_broker_does_not_take(tmp_path: Path) -> None:
    ours, strangers = trustme.CA(), trustme.CA()
    folder = tmp_path / "keys"
    folder.mkdir()
    ours.cert_pem.write_to_path(folder / "ca.pem")
    for name, ca in (("server", ours), ("good", ours), ("bad", strangers)):
        one = ca.issue_cert("127.0.0.1")
        one.private_key_and_cert_chain_pem.write_to_path(folder / f"{name}.pem")
    keys = folder / "server.p12"
    given = (folder / "server.pem").read_bytes()
    key: Any = serialization.load_pem_private_key(given, None)
    chained = x509.load_pem_x509_certificates(given)
    closed = serialization.BestAvailableEncryption(b"secret")
    keys.write_bytes(pkcs12.serialize_key_and_certificates(b"server", key, chained[0], chained[1:], closed))
    trusted = folder / "trusted.p12"
    run = [find_java().home / "bin" / "keytool", "-importcert", "-noprompt", "-alias", "ca", "-file", folder / "ca.pem"]
    run += ["-keystore", trusted, "-storetype", "PKCS12", "-storepass", "secret"]
    subprocess.run(run, check=True, capture_output=True)
    port = free_port()
    broker = Broker(tmp_path, **_listening(keys, trusted), secured_port=port)
    try:
        broker.start()
        broker.create("t")
        broker.produce("t", [b"a"])
        good = {**OPTIONS, **_presenting(folder, "good")}
        servers = f"127.0.0.1:{port}"
        assert [record.value for record in kafka.source("t", servers=servers, live=False, options=good)] == [b"a"]
        bad = {**OPTIONS, **_presenting(folder, "bad")}
        words = r"; check the security options and the rights on the brokers$"
        with pytest.raises(PermissionError, match=words):
            list(kafka.source("t", servers=servers, options=bad))
        with pytest.raises(PermissionError, match=words):
            (Stream.just(b"b") | kafka.sink("t", servers=servers, idempotent=False, options=bad)).run().wait()
        gone()
    finally:
        broker.stop()


def _listening(keys: Path, trusted: Path) -> dict[str, object]:
    stores: dict[str, object] = {}
    for kind, path in (("keystore", keys), ("truststore", trusted)):
        stores |= {f"ssl.{kind}.location": path, f"ssl.{kind}.password": "secret", f"ssl.{kind}.type": "PKCS12"}
    own = {"ssl.key.password": "secret", "ssl.client.auth": "required", "ssl.enabled.protocols": "TLSv1.2"}
    return {**stores, **own}


def _presenting(folder: Path, name: str) -> dict[str, object]:
    return {
        "security.protocol": "ssl",
        "ssl.ca.location": str(folder / "ca.pem"),
        "ssl.certificate.location": str(folder / f"{name}.pem"),
        "ssl.key.location": str(folder / f"{name}.pem"),
    }


def test_a_text_is_no_value_of_a_record() -> None:
    with pytest.raises(
        TypeError, match=r"^kafka: value must be bytes or None, got 'a'; encode\(\) makes bytes of a text$"
    ):
        kafka.Record.of("a")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^kafka: key must be bytes or None, got 3$"):
        kafka.Record.of(b"a", key=3)  # type: ignore[arg-type]
