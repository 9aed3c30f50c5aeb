"""How much of the processors other machines on the same host took: what is measured while they do says little."""

from __future__ import annotations

from pathlib import Path

__all__ = ["Processors", "processors"]

_STAT = Path("/proc/stat")


class Processors:
    """The time of all processors so far, in ticks of the system, and how much of it was stolen."""

    def __init__(self, text: str) -> None:
        first = text.splitlines()[0].split()[1:] if text else []
        ticks = [int(part) for part in first[:8]]
        self.all = sum(ticks)
        self.stolen = ticks[7] if len(ticks) > 7 else 0

    def since(self, before: Processors) -> float:
        """Return the share that was stolen since another reading.

        >>> Processors("cpu 30 0 0 50 0 0 0 20 0 0").since(Processors("cpu 10 0 0 30 0 0 0 0 0 0"))
        0.3333333333333333
        """
        passed = self.all - before.all
        return (self.stolen - before.stolen) / passed if passed > 0 else 0.0


def processors(stat: Path = _STAT) -> Processors:
    """Read the time of all processors; a system that does not say has none, and nothing is stolen there."""
    return Processors(stat.read_text(encoding="utf-8") if stat.exists() else "")
