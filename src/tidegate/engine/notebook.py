"""Live output in a notebook: something is shown in a cell, and updated there whenever it has changed.

IPython can replace what was displayed under an id. A thread does that as long as there may be changes. So no extension
has to be installed, and the last state stays in the notebook when its kernel is gone.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from threading import Lock, Thread
from typing import Any, TypeAlias
from uuid import uuid4

__all__ = ["Cell", "Forms", "follow", "notebook_display"]

_LOG = logging.getLogger("tidegate")

#: The content to show, by MIME type.
Forms: TypeAlias = Mapping[str, str]

#: How often changes are looked for, in seconds.
EVERY = 1.0


def follow(
    render: Callable[[], Forms], publish: Callable[[Forms], None], over: Callable[[float], bool], shown: Forms
) -> None:
    """Publish what ``render`` returns whenever it has changed, until nothing can change any more; then once more.

    ``over`` waits for at most the given number of seconds, and returns whether nothing can change any more. ``shown``
    is what is shown at the beginning.
    """
    ended = False
    while not ended:
        ended = over(EVERY)
        found = render()
        if found != shown:
            publish(found)
            shown = found


def notebook_display() -> Any | None:
    """Return IPython's module for displaying things, if this process is the kernel of a notebook; else None."""
    if "IPython" not in sys.modules:
        return None
    shell = import_module("IPython").get_ipython()
    return import_module("IPython.display") if getattr(shell, "kernel", None) is not None else None


class Cell:
    """Something that is shown in one or more cells, and updated there."""

    def __init__(self, name: str, render: Callable[[], Forms], over: Callable[[float], bool]) -> None:
        self._name = name
        self._render = render
        self._over = over
        #: The id by which IPython finds all places where this is shown.
        self._id = uuid4().hex
        self._lock = Lock()
        self._thread: Thread | None = None

    def show(self, display: Any | None = None) -> None:
        """Show it here, too.

        Raise NotImplementedError outside of a notebook, so that IPython shows the text instead.

        ``display`` has IPython's functions for that; by default, those of the notebook that this process serves.
        """
        display = notebook_display() if display is None else display
        if display is None:
            raise NotImplementedError
        first = self._render()
        display.display(dict(first), raw=True, display_id=self._id)
        with self._lock:
            if self._thread is None and not self._over(0):
                self._thread = Thread(
                    target=self._follow, args=(display, first), name=f"tidegate {self._name} in a notebook", daemon=True
                )
                self._thread.start()

    def _follow(self, display: Any, first: Forms) -> None:
        def publish(found: Forms) -> None:
            display.update_display(dict(found), raw=True, display_id=self._id)

        try:
            follow(self._render, publish, self._over, first)
        except Exception:
            # Nothing waits for this thread, and the run continues without it.
            _LOG.warning("flow %r: what the notebook shows is not updated any more", self._name, exc_info=True)
