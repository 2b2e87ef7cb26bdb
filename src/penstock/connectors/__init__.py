"""connectors: sources and sinks of databases, logs, queues and files, under demand and acknowledged.

Each module is for one neighbour and needs the extra of its name, `penstock[postgres]` for one. A source is asked for as
many elements as downstream asks for, in the words of that neighbour, and is told how far everything behind it is done.
"""

from penstock.connectors.reading import Feed, Positioned, Reader, feeding, reading
from penstock.connectors.writing import HoldingWriter, TellingWriter, Writer, telling, writing

__all__ = [
    "Feed",
    "HoldingWriter",
    "Positioned",
    "Reader",
    "TellingWriter",
    "Writer",
    "feeding",
    "reading",
    "telling",
    "writing",
]
