"""postgres: queries, changes and notifications of PostgreSQL as streams, and tables as the ends of pipelines.

It needs psycopg 3, the extra `penstock[postgres]`. What demand becomes, what is acknowledged when, and what happens
after a crash is in docs/connectors/postgres.md.
"""

try:
    import psycopg  # noqa: F401  so that it is missed here, with the cure
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(
        "penstock.connectors.postgres needs psycopg: pip install 'penstock[postgres]'", name=missing.name
    ) from missing

from penstock.connectors.postgres.bookmark import Bookmark
from penstock.connectors.postgres.change import Change, Gone, Marked
from penstock.connectors.postgres.copying import copy_into
from penstock.connectors.postgres.listening import Notified, notifications
from penstock.connectors.postgres.querying import query
from penstock.connectors.postgres.slots import changes, drop_slot
from penstock.connectors.postgres.upserting import upsert

__all__ = [
    "Bookmark",
    "Change",
    "Gone",
    "Marked",
    "Notified",
    "changes",
    "copy_into",
    "drop_slot",
    "notifications",
    "query",
    "upsert",
]
