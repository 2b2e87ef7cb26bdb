"""trust: the certificates that clients trust, read once for all runs."""

from __future__ import annotations

import os
import ssl
from functools import lru_cache
from pathlib import Path

import certifi
import httpx

_NAMES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "SSLKEYLOGFILE")


def trusted() -> ssl.SSLContext:
    """Return whom to trust, which takes longer to read than many a page; read again when it has changed."""
    named = tuple(map(os.environ.get, _NAMES))
    try:
        changed = Path(named[0] or named[1] or certifi.where()).stat().st_mtime_ns
    except OSError:
        changed = 0  # httpx knows what to say to that
    return _read(named, changed)


@lru_cache(1)
def _read(named: tuple[str | None, ...], changed: int) -> ssl.SSLContext:
    return httpx.create_ssl_context()


__all__ = ["trusted"]
