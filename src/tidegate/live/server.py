"""The HTTP server of the page. By default, only this machine can reach it. It never writes."""

from __future__ import annotations

import errno
import json
import logging
import os
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from importlib.resources import files
from socketserver import TCPServer, ThreadingMixIn
from threading import Thread
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

from tidegate.flow.errors import BadArgument
from tidegate.live.access import Access, access_to
from tidegate.live.picture import picture_styles
from tidegate.live.watched import WatchedCheckpoint

__all__ = ["PORT", "Page"]

#: The first port to try if none is given, and how many ports to try.
PORT = 7070
_TRIED = 20
#: At most this many connections are open, because each uses up one of the files that the process may open.
_MOST = 64

_LOG = logging.getLogger("tidegate")

_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Page:
    """A page that shows runs. A thread serves it until the process ends."""

    def __init__(self, *, host: str = "127.0.0.1", port: int | None = None, token: str = "") -> None:
        self.watched: list[WatchedCheckpoint] = []
        self._server = _listen(host, port)
        self._server.page = self
        self.port = bound = int(self._server.server_address[1])
        try:
            self.access: Access = access_to(host, bound, token)
        except BadArgument:
            self._server.server_close()
            raise
        name = f"[{host}]" if ":" in host else host
        #: The address without the token.
        self.address = f"http://{name}:{bound}/"
        Thread(target=self._server.serve_forever, args=(0.1,), name="tidegate page", daemon=True).start()

    @property
    def link(self) -> str:
        """The address to open, with the token if there is one."""
        return f"{self.address}?token={self.access.token}" if self.access.token else self.address

    def add(self, checkpoint: str | os.PathLike[str]) -> str:
        """Show one more checkpoint. Return the address that shows it."""
        given = WatchedCheckpoint(checkpoint)
        places = [known.place for known in self.watched]
        if given.place not in places:
            self.watched.append(given)
            places.append(given.place)
        return f"{self.link}#run={places.index(given.place)}"

    def close(self) -> None:
        """Stop the server."""
        self._server.shutdown()
        self._server.server_close()
        self._server.close_connections()

    def close_socket(self) -> None:
        """Close the socket in a forked process. Its parent goes on serving the page."""
        self._server.server_close()


class _Server(ThreadingMixIn, TCPServer):
    # This is not an HTTPServer, because that looks up the name of the host, which may take long.
    daemon_threads = True
    allow_reuse_address = True
    #: How many connections may wait to be accepted. A browser opens several at once.
    request_queue_size = _MOST
    # If it were True, two servers could share a port, and each would get some of the requests.
    allow_reuse_port = False
    page: Page

    def __init__(self, address: tuple[str, int]) -> None:
        #: The open connections. Browsers keep theirs for the next request.
        self._open: set[socket.socket] = set()
        super().__init__(address, _Handler)

    def verify_request(self, request: Any, client_address: Any) -> bool:  # noqa: ARG002
        """Whether there is room for one more connection."""
        return len(self._open) < _MOST

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002
        """Log the error of a connection. Nothing is printed, because the terminal belongs to the run."""
        _LOG.debug("the live page: a connection went wrong", exc_info=True)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Handle a connection in a thread of its own."""
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Close a connection."""
        self._open.discard(request)
        super().shutdown_request(request)

    def close_connections(self) -> None:
        """Close all connections."""
        for connection in list(self._open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


class _Server6(_Server):
    address_family = socket.AF_INET6


def _listen(host: str, port: int | None) -> _Server:
    """Return a server that listens on a port; if none is given, on the first free one."""
    tried = [*range(PORT, PORT + _TRIED), 0] if port is None else [port]
    for number in tried:
        try:
            return _server(host, number)
        except (OSError, OverflowError) as error:
            known = getattr(error, "errno", None)
            if known == errno.EADDRINUSE and number != tried[-1]:
                continue
            raise _cannot_listen(host, number, error) from None
    raise AssertionError("one port at least is tried")


def _server(host: str, port: int) -> _Server:
    return (_Server6 if ":" in host else _Server)((host, port))


def _cannot_listen(host: str, port: int, error: Exception) -> BadArgument:
    if getattr(error, "errno", None) == errno.EADDRINUSE:
        return BadArgument(
            f"expected a free port for the page, got {port} on {host}, which is in use", hint="port 0 takes a free one"
        )
    reason = getattr(error, "strerror", None) or str(error)
    return BadArgument(
        f"expected an address that the page can be served at, got {host} and port {port}: {reason}",
        hint="127.0.0.1 and a port above 1023",
    )


class _Handler(BaseHTTPRequestHandler):
    """Handles the requests of a connection: for files of the page, and for data about runs, as JSON."""

    server: _Server
    protocol_version = "HTTP/1.1"
    server_version = "Tidegate"
    sys_version = ""
    #: A connection without a request for this many seconds is closed.
    timeout: ClassVar[int] = 30

    def do_GET(self) -> None:
        """Check the host and the token of a request, and send what it asks for."""
        page = self.server.page
        if not page.access.knows_host(self.headers.get("Host") or ""):
            return self._send_text(
                HTTPStatus.MISDIRECTED_REQUEST, f"this page is at {page.address}, and has no other name"
            )
        try:
            target = urlsplit(self.path)
        except ValueError:
            return self._send_text(HTTPStatus.BAD_REQUEST, "this is not an address")
        asked = parse_qs(target.query, keep_blank_values=True)
        if target.path == "/" and page.access.is_token(asked.get("token", [""])[0]):
            cookie = f"{page.access.cookie}={page.access.token}; Path=/; HttpOnly; SameSite=Strict"
            return self._send(HTTPStatus.SEE_OTHER, "text/plain", b"", {"Set-Cookie": cookie, "Location": "/"})
        if not page.access.admits(self.headers.get("Authorization") or "", self.headers.get("Cookie") or ""):
            return self._send_text(
                HTTPStatus.UNAUTHORIZED, "this page needs its token: open the address that was printed"
            )
        if target.path.startswith("/api/"):
            return self._answer(target.path.removeprefix("/api/").split("/"), asked)
        found = _page_files().get("index.html" if target.path == "/" else target.path.removeprefix("/static/"))
        if found is None or not (target.path == "/" or target.path.startswith("/static/")):
            return self._send_text(HTTPStatus.NOT_FOUND, "there is nothing here")
        return self._send(HTTPStatus.OK, *found)

    do_HEAD = do_GET  # noqa: N815

    def _refuse(self) -> None:
        self.close_connection = True
        self._send_text(HTTPStatus.METHOD_NOT_ALLOWED, "this page can only be read", {"Allow": "GET, HEAD"})

    do_POST = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = _refuse  # noqa: N815

    def _answer(self, names: list[str], asked: Mapping[str, list[str]]) -> None:
        """Send data about runs: ``runs``, ``run/N``, ``run/N/why``, ``run/N/aside`` or ``run/N/pictures``."""
        watched = self.server.page.watched
        if names == ["runs"]:
            return self._json([one.summary() for one in watched])
        number = names[1] if len(names) in (2, 3) and names[0] == "run" else ""
        what = names[2] if len(names) == 3 else ""
        if not (number.isascii() and number.isdecimal() and len(number) < 6 and int(number) < len(watched)):
            return self._send_text(HTTPStatus.NOT_FOUND, "there is no such run")
        one = watched[int(number)]
        answers: dict[str, Callable[[], Any]] = {
            "": lambda: one.snapshot(after=_number(asked.get("after", [""])[0])),
            "why": lambda: one.why(asked.get("sink", [""])[0], asked.get("time", [""])),
            "aside": lambda: one.aside(asked.get("name", [""])[0]),
            "pictures": one.pictures,
        }
        if what not in answers:
            return self._send_text(HTTPStatus.NOT_FOUND, "there is nothing here")
        return self._json(answers[what]())

    def _json(self, content: Any) -> None:
        self._send(HTTPStatus.OK, "application/json", json.dumps(content, default=str).encode())

    def _send_text(self, status: HTTPStatus, text: str, more: Mapping[str, str] | None = None) -> None:
        self._send(status, "text/plain", f"{text}\n".encode(), more)

    def _send(self, status: HTTPStatus, type_: str, content: bytes, more: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", f"{type_}; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        for name, value in {**_HEADERS, **(more or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def handle_one_request(self) -> None:
        """Handle a request. If the browser closes the connection meanwhile, that is no error."""
        try:
            super().handle_one_request()
        except (ConnectionError, TimeoutError):
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Do nothing: the terminal belongs to the run."""


def _number(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        return 0.0
    return found if found == found else 0.0


@cache
def _page_files() -> dict[str, tuple[str, bytes]]:
    """Return the type and the content of each file of the page, by name."""
    found = {
        file.name: (_TYPES[suffix], file.read_bytes())
        for file in files("tidegate.live").joinpath("page").iterdir()
        if (suffix := os.path.splitext(file.name)[1]) in _TYPES
    }
    return found | {"picture.css": (_TYPES[".css"], picture_styles().encode())}
