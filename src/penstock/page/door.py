"""door: who may come in: only browsers on this machine that have the page's token.

The token is in the address that is printed. The first request carries it as `?token=`, and the answer puts it into a
cookie that scripts cannot read and other sites do not send. What changes a run has to carry it in a header as well,
which a form or a link of another site cannot (CSRF). A request whose Host is not this machine is refused, so that a
name of another site that leads here is of no use (DNS rebinding).
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

LOOPBACK = frozenset(("127.0.0.1", "localhost", "::1"))
HEADER = "x-penstock-token"


@dataclass(frozen=True, slots=True)
class PageRequest:
    """What a request says of itself."""

    method: str
    path: str
    query: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    """The headers by their names in lower case."""


@dataclass(frozen=True, slots=True)
class PageDoor:
    """The keeper of the token of one page, which listens on a port."""

    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)

    @property
    def cookie(self) -> str:
        """Return the name of the cookie: cookies are shared by all ports of a machine."""
        return f"penstock_{self.port}"

    @property
    def address(self) -> str:
        """Return where the page is, with the token."""
        return f"http://127.0.0.1:{self.port}/?token={self.token}"

    def set_cookie(self) -> str:
        """Return what gives a browser the token."""
        return f"{self.cookie}={self.token}; Path=/; HttpOnly; SameSite=Strict"

    def refusal(self, asked: PageRequest) -> str | None:
        """Return why a request is refused, None if it may come in."""
        if not _is_here(asked.headers.get("host", "")):
            return "the page is for browsers on this machine"
        if asked.method not in {"GET", "POST"}:
            return "only GET and POST are answered"
        if asked.method == "POST":
            origin = asked.headers.get("origin")
            if origin is not None and not _is_here(origin.partition("://")[2]):
                return "the page is for browsers on this machine"
            return None if self._is_token(asked.headers.get(HEADER, "")) else "the token is missing or wrong"
        given = [self._in_cookie(asked.headers.get("cookie", "")), *parse_qs(asked.query).get("token", [])[:1]]
        return None if any(self._is_token(each) for each in given) else "the token is missing or wrong"

    def _is_token(self, given: str) -> bool:
        return secrets.compare_digest(given.encode(), self.token.encode())

    def _in_cookie(self, text: str) -> str:
        """Return the token among cookies; others are of any program that serves from this machine, and of any form."""
        pairs = (each.strip().partition("=") for each in text.split(";"))
        return next((value for name, _, value in pairs if name == self.cookie), "")


def _is_here(host: str) -> bool:
    """Tell whether a host, with or without a port, is this machine."""
    try:
        return urlsplit(f"//{host}").hostname in LOOPBACK
    except ValueError:
        return False
