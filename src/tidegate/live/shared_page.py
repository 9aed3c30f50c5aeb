"""The page that all runs of this process share: those that are started with ``ui=True``."""

from __future__ import annotations

import os
from threading import Lock
from typing import Any

from tidegate.flow.errors import BadArgument
from tidegate.live.server import Page

__all__ = ["open_page"]

_PAGES: dict[int | None, Page] = {}
_MUTEX = Lock()


def _close_after_fork() -> None:
    """Close all pages in a forked process. The threads that serve them are in its parent."""
    global _MUTEX
    for page in _PAGES.values():
        page.close_socket()
    _PAGES.clear()
    _MUTEX = Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_after_fork)


def open_page(ui: Any) -> Page:
    """Return the page of this process. Start to serve it if that was not done yet. ``ui`` is True or the port.

    If the environment variable ``TIDEGATE_UI_TOKEN`` is set, a browser needs this token, as with ``tidegate ui``.
    """
    if not isinstance(ui, int) or (ui is not True and not 0 <= ui < 65536) or ui is False:
        raise BadArgument(f"expected ui=True, or the number of a port, got ui={ui!r}", hint="ui=True")
    port = None if ui is True else ui
    with _MUTEX:
        if port not in _PAGES:
            # A page that has chosen its port itself is also found by the number of that port.
            taken = (page for page in _PAGES.values() if port and page.port == port)
            _PAGES[port] = next(taken, None) or Page(port=port, token=os.environ.get("TIDEGATE_UI_TOKEN", ""))
        return _PAGES[port]
