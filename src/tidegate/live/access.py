"""Who may see the page: whoever is on this machine; from elsewhere, whoever knows its token."""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass
from ipaddress import ip_address

from tidegate.flow.errors import BadArgument

__all__ = ["Access", "access_to", "is_loopback"]

#: A shorter token could be guessed.
_SHORTEST = 16


@dataclass(frozen=True, slots=True)
class Access:
    """The token that a request must have, and the names that it may call this server by; empty: any."""

    token: str
    hosts: frozenset[str]
    cookie: str

    def knows_host(self, host: str) -> bool:
        """Whether a request means this server: a page from elsewhere can give a name of its own this address."""
        return not self.hosts or host.lower() in self.hosts

    def admits(self, authorization: str, cookies: str) -> bool:
        """Whether a request has the token, in the header ``Authorization`` or as a cookie."""
        if not self.token:
            return True
        return self.is_token(authorization.removeprefix("Bearer ")) or self.is_token(self._from_cookie(cookies))

    def is_token(self, given: str) -> bool:
        """Whether a text is the token; it takes as long if only its end differs."""
        return bool(self.token) and hmac.compare_digest(given.encode(), self.token.encode())

    def _from_cookie(self, cookies: str) -> str:
        # Not by http.cookies, which gives up at a cookie that it can't read: a browser sends those of all ports.
        pairs = (cookie.strip().partition("=") for cookie in cookies.split(";"))
        return next((value for name, _, value in pairs if name == self.cookie), "")


def access_to(host: str, port: int, token: str) -> Access:
    """Return who may see a page at an address; one that others can reach gets a token, if none is given."""
    if token and (len(token) < _SHORTEST or not token.isascii() or not token.isprintable() or " " in token):
        raise BadArgument(
            f"expected a token of at least {_SHORTEST} signs, letters and digits, got one of {len(token)}",
            hint="leave it out, and one is made",
        )
    if token and not all(sign.isalnum() or sign in "-_." for sign in token):
        raise BadArgument("expected a token of letters, digits, '-', '_' and '.'", hint="leave it out, and one is made")
    local = is_loopback(host)
    names = ("127.0.0.1", "localhost", "[::1]", f"[{host}]" if ":" in host else host)
    hosts = {f"{name}:{port}".lower() for name in names} | ({name.lower() for name in names} if port == 80 else set())
    # Who has the token was told it; a name that others have made up for this address has no cookie of it.
    return Access(
        token or ("" if local else secrets.token_urlsafe(24)),
        frozenset(hosts) if local else frozenset(),
        f"tidegate-{port}",
    )


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine alone.

    >>> [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "example.org")]
    [True, True, True, False, False]
    """
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
