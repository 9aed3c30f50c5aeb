"""The page of this process: one for all runs that it starts with ``ui=True``."""

from __future__ import annotations

from threading import Lock
from typing import Any

from tidegate.flow.errors import BadArgument
from tidegate.live.server import Page

__all__ = ["open_page"]

_PAGES: dict[int | None, Page] = {}
_MUTEX = Lock()


def open_page(ui: Any) -> Page:
    """Return the page of this process, and serve it if nobody has yet; ``ui`` is True, or the port to serve it at."""
    if not isinstance(ui, int) or (ui is not True and not 0 <= ui < 65536) or ui is False:
        raise BadArgument(f"expected ui=True, or the number of a port, got ui={ui!r}", hint="ui=True")
    port = None if ui is True else ui
    with _MUTEX:
        if port not in _PAGES:
            _PAGES[port] = Page(port=port)
        return _PAGES[port]
