"""How demos are presented: numbered headings, short paragraphs, pictures, and a mark for what surprises."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tidegate.spec.canvas import Canvas
from tidegate.ui import INK, paint

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Story"]

#: Text is kept to a width that reads well, pictures may be wider.
TEXT, PICTURE = 92, 120


class Story:
    """A console with the few ways in which a demo uses it."""

    def __init__(self, console: Console) -> None:
        self.console = console
        #: How wide a picture may be.
        self.width = min(console.width, PICTURE) - 4
        self._chapters = 0

    def title(self, name: str, about: str) -> None:
        """Begin."""
        self.console.print()
        gate = [("≈≈≈", INK["data"]), ("┃", INK["watermark"]), ("···", INK["open"])]
        self.console.print(Text.assemble("   ", *gate, "  ", (name, "bold"), "  ", (about, INK["caption"])))

    def chapter(self, name: str, about: str) -> None:
        """Begin a new picture: its name, and one sentence."""
        self._chapters += 1
        self.console.print()
        self.console.print(Text(f"{self._chapters}  {name}", style="bold"))
        self.say(about)
        self.console.print()

    def say(self, text: str) -> None:
        """Say something below the last picture; `backticks` are names."""
        self._paragraph(_marked(text))

    def surprise(self, text: str) -> None:
        """Say something that a reader would not expect."""
        self.console.print()
        self._paragraph(_marked(text), Text("→ ", style=INK["surprise"]))

    def picture(self, canvas: Canvas) -> None:
        """Show a drawing."""
        self.console.print(paint(canvas, indent=3), soft_wrap=True)

    def table(self, headings: Sequence[str], rows: Iterable[Iterable[Any]], *, numbers: Sequence[str] = ()) -> None:
        """Show rows; columns of ``numbers`` are set flush right. Texts may have markup."""
        table = Table(box=None, padding=(0, 2, 0, 0), header_style=INK["caption"])
        for heading in headings:
            table.add_column(heading, justify="right" if heading in numbers else "left", no_wrap=True)
        for row in rows:
            table.add_row(*map(str, row))
        for line in self.console.render_lines(table, pad=False):
            text = Text.assemble("   ", *((part.text, part.style or "") for part in line))
            text.rstrip()
            self.console.print(text, soft_wrap=True)
        self.console.print()

    @contextmanager
    def spark(self) -> Iterator[SparkSession]:
        """Start Spark for a demo, say so, and stop it at the end."""
        from tidegate.spark.session import local_session

        with self.console.status("   starting Spark (about ten seconds)"):
            session = local_session("tidegate demo")
        try:
            yield session
        finally:
            session.stop()

    def _paragraph(self, text: Text, mark: Text | None = None) -> None:
        mark = mark or Text()
        for n, line in enumerate(text.wrap(self.console, min(self.console.width, TEXT) - 5)):
            line.rstrip()
            self.console.print(Text("   ") + (mark if n == 0 else Text(" " * len(mark))) + line, soft_wrap=True)


def _marked(text: str) -> Text:
    marked = Text()
    for n, piece in enumerate(text.split("`")):
        marked.append(piece, style="bold" if n % 2 else "")
    return marked
