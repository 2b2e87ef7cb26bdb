"""tls: what the gate proves itself with where rows leave this machine."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Tls:
    """What the gate proves itself with, as PEM: its certificate, the key, and what callers trust.

    The certificate must be made out to the address by which executors reach the driver. Callers trust the certificate
    itself unless `roots` says whom; the key never leaves this process.
    """

    certificate: str | bytes
    key: str | bytes = field(repr=False)
    roots: str | bytes | None = None

    def __post_init__(self) -> None:
        for name in ("certificate", "key"):
            if "-----BEGIN " not in _text(getattr(self, name)):
                raise ValueError(f"tls: {name} must be PEM, -----BEGIN ..., and not the name of a file")

    @property
    def trusted(self) -> str:
        """Return what callers trust."""
        return _text(self.certificate if self.roots is None else self.roots)


def _text(given: str | bytes) -> str:
    return given.decode() if isinstance(given, bytes) else given


def is_loopback(host: str) -> bool:
    """Tell whether what is sent to a host stays on this machine."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


__all__ = ["Tls", "is_loopback"]
