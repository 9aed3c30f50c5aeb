"""What commands print: texts with control characters escaped, and errors in a few lines."""

from __future__ import annotations

from typing import Any

import typer
from rich.console import Console
from rich.text import Text
from typer.core import TyperGroup

from tidegate.errors import TidegateError
from tidegate.printable import printable

__all__ = ["Commands", "plain", "say"]


def plain(text: str, *, style: str = "", lines: bool = False) -> Text:
    """Return a text without markup and without what a terminal would act on, in one line or several."""
    return Text(printable(text, lines=lines), style=style)


def say(text: str, *, console: Console, style: str = "", lines: bool = False) -> None:
    """Print a text of one line or several; lines are not broken."""
    console.print(plain(text, style=style, lines=lines), soft_wrap=True, highlight=False)


class Commands(TyperGroup):
    """Commands that end with a few lines if the user made a mistake, and with a traceback if we did."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except TidegateError as error:
            _fail(str(error), error)
        except OSError as error:
            _fail(_os_error_text(error), error)
        except Exception as error:
            if not type(error).__module__.startswith(("pyspark", "py4j")):
                raise
            from tidegate.spark.error_messages import describe_error

            # An error inside of Spark: print its message, without stacks.
            _fail(str(describe_error(error)), error)


def _fail(message: str, error: BaseException) -> None:
    say(message, console=Console(stderr=True), style="red", lines=True)
    raise typer.Exit(1) from error


def _os_error_text(error: OSError) -> str:
    """Return the message of a failed system call, and the file."""
    what = error.strerror or str(error) or type(error).__name__
    names = [str(name) for name in (error.filename, error.filename2) if name is not None]
    return f"{what}: {' to '.join(names)}" if names else what
