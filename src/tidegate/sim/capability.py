"""Capabilities: the right to send at an output, at a time or later, and the duty to drop it in the end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tidegate.errors import BadValue
from tidegate.progress import Forbidden
from tidegate.sim.errors import NotEnabled

__all__ = ["Capability", "Ledger"]


class Ledger:
    """What an operator instance has done in a call. All of it takes effect together, or is undone."""

    __slots__ = ("_undo", "changes", "running", "sent")

    def __init__(self) -> None:
        #: Whether the operator is being called.
        self.running = False
        #: How many more capabilities there are, by location and time.
        self.changes: dict[tuple[str, Any], int] = {}
        #: What was sent, as location, time and datum.
        self.sent: list[tuple[str, Any, Any]] = []
        self._undo: list[Callable[[], None]] = []

    def open(self) -> None:
        """Begin a call."""
        self.running = True

    def change(self, location: str, t: Any, n: int) -> None:
        """Record ``n`` more capabilities."""
        self.changes[location, t] = self.changes.get((location, t), 0) + n

    def undo(self, action: Callable[[], None]) -> None:
        """Record how a change to a capability is undone."""
        self._undo.append(action)

    def close(self) -> None:
        """End a call whose effects were applied."""
        self.running = False
        self.changes, self.sent, self._undo = {}, [], []

    def abort(self) -> None:
        """End a call that failed, with every capability as it was."""
        for action in reversed(self._undo):
            action()
        self.close()


class Capability:
    """The right to send at an output, at a time or later.

    While it is held, no frontier downstream passes a time that could still be sent. To let frontiers pass, `drop` it,
    or `downgrade` it to a later time.
    """

    __slots__ = ("_le", "_ledger", "dropped", "location", "time")

    def __init__(self, ledger: Ledger, le: Callable[[Any, Any], bool], location: str, time: Any) -> None:
        self._ledger = ledger
        self._le = le
        self.location = location
        self.time = time
        self.dropped = False

    def send(self, data: Any, *, at: Any = None) -> None:
        """Send a datum, at the capability's time or at a later one, ``at``."""
        self._ledger.sent.append((self.location, self._usable("send", at), data))

    def copy(self, *, at: Any = None) -> Capability:
        """Return a second capability, for the same time or for a later one, ``at``."""
        t = self._usable("copy", at)
        self._ledger.change(self.location, t, 1)
        other = Capability(self._ledger, self._le, self.location, t)
        self._ledger.undo(other._forget)
        return other

    def downgrade(self, t: Any) -> None:
        """Keep only the times at or above ``t``."""
        before, after = self.time, self._usable("downgrade", t)
        self._ledger.change(self.location, before, -1)
        self._ledger.change(self.location, after, 1)
        self.time = after
        self._ledger.undo(lambda: setattr(self, "time", before))

    def drop(self) -> None:
        """Give it up."""
        self._ledger.change(self.location, self._usable("drop", None), -1)
        self.dropped = True
        self._ledger.undo(lambda: setattr(self, "dropped", False))

    def __repr__(self) -> str:
        return f"<{'dropped ' if self.dropped else ''}capability for {self.location} at {self.time!r}>"

    def _forget(self) -> None:
        self.dropped = True

    def _usable(self, what: str, at: Any) -> Any:
        place = f"{what} with the capability for {self.location} at {self.time!r}"
        if self.dropped:
            raise Forbidden(
                "a capability is used only while it is held",
                "expected a capability that is held, got one that was dropped",
                hint="keep a copy(), or drop it after its last use",
            ).at(place)
        if not self._ledger.running:
            raise NotEnabled(
                "expected a capability to be used while its operator is called, got a use in between",
                hint="use it in work, receive or proceed",
            ).at(place)
        if at is None:
            return self.time
        if not self._le(self.time, at):
            raise BadValue(
                f"expected a time at or above {self.time!r}, got {at!r}",
                hint="a capability can be used for its own time and for later ones, never for earlier ones",
            ).at(place)
        return at
