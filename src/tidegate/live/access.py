"""Who may see the page: everyone on this machine, and from other machines everyone who knows its token."""

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
    """The token that a request must have, and the values that its header ``Host`` may have; if empty, any is right."""

    token: str
    hosts: frozenset[str]
    cookie: str

    def knows_host(self, host: str) -> bool:
        """Whether a request names this server in its header ``Host``.

        Any web site can give one of its own names our address (DNS rebinding). Browsers then send us that name.
        """
        return not self.hosts or host.lower() in self.hosts

    def admits(self, authorization: str, cookies: str) -> bool:
        """Whether a request has the token, in the header ``Authorization`` or as a cookie."""
        if not self.token:
            return True
        return self.is_token(authorization.removeprefix("Bearer ")) or self.is_token(self._from_cookie(cookies))

    def is_token(self, given: str) -> bool:
        """Whether a text is the token. The comparison takes the same time wherever they differ."""
        return bool(self.token) and hmac.compare_digest(given.encode(), self.token.encode())

    def _from_cookie(self, cookies: str) -> str:
        # http.cookies stops at a cookie that it can't read, and a browser also sends cookies of servers on other ports.
        pairs = (cookie.strip().partition("=") for cookie in cookies.split(";"))
        return next((value for name, _, value in pairs if name == self.cookie), "")


def access_to(host: str, port: int, token: str) -> Access:
    """Return who may see a page at an address. If other machines can reach it and no token is given, make one."""
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
    # If other machines can reach the page, any Host is right: a token is needed, and a browser does not send its
    # cookie to a name that somebody else has given this address.
    return Access(
        token or ("" if local else secrets.token_urlsafe(24)),
        frozenset(hosts) if local else frozenset(),
        f"tidegate-{port}",
    )


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address.

    >>> [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "example.org")]
    [True, True, True, False, False]
    """
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
