"""An operator of a user's own, with a bug: it keeps the last datum back until the watermark has passed."""

from dataclasses import dataclass

from tidegate.spec import DT, WM, Operator


@dataclass(frozen=True)
class Late(Operator):
    held: tuple = ()

    def apply(self, event):
        if isinstance(event, WM):
            return Late(()), [event, *self.held]
        return Late((event,)), list(self.held)

    def exit(self):
        return self.held


late = Late()
NUMBER = 3


def builds_nothing():
    return None


def nothing_missing(events, outputs):
    return [e for e in events if isinstance(e, DT)] == [e for e in outputs if isinstance(e, DT)]
