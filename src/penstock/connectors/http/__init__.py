"""http: paged interfaces, server-sent events and websockets, under demand; needs `penstock[http]`."""

from __future__ import annotations

try:
    import httpx  # noqa: F401  so that it is missed here, with the cure
    import websockets  # noqa: F401
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(
        "penstock.connectors.http needs httpx and websockets: pip install 'penstock[http]'", name=missing.name
    ) from missing

from penstock.connectors.http.api import events, pages, to_websocket, websocket
from penstock.connectors.http.asking import HttpError, Tries
from penstock.connectors.http.event_lines import EventError, ServerEvent
from penstock.connectors.http.next_page import ByCursor, ByLink, HttpPage

__all__ = [
    "ByCursor",
    "ByLink",
    "EventError",
    "HttpError",
    "HttpPage",
    "ServerEvent",
    "Tries",
    "events",
    "pages",
    "to_websocket",
    "websocket",
]
