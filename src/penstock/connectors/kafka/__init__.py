"""kafka: topics as sources and sinks, under demand and with offsets that are committed when records are done.

The client is confluent-kafka, and not aiokafka: librdkafka fetches, compresses and batches beside the interpreter's
lock, `consume(n)` gives as many messages as are asked for in one call, it speaks every protocol of the brokers up to
transactions and the newest group protocol, and Confluent keeps it. Its calls block, so each client has a
separate thread here. Its extra is `penstock[kafka]`.
"""

try:
    import confluent_kafka  # noqa: F401  so that it is missed here, with the cure
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(
        "penstock.connectors.kafka needs confluent-kafka: pip install 'penstock[kafka]'", name=missing.name
    ) from missing

from penstock.connectors.kafka.delivery import sink
from penstock.connectors.kafka.for_spark import Parts, parts
from penstock.connectors.kafka.record import Record
from penstock.connectors.kafka.substreams import KafkaPartition, partitions
from penstock.connectors.kafka.topics import partition, source

__all__ = ["KafkaPartition", "Parts", "Record", "partition", "partitions", "parts", "sink", "source"]
