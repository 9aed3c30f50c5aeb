"""How commands print: control characters are escaped, and an error has a few lines."""

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
    """Return a text for the terminal, without markup or control characters; ``lines`` keeps line breaks."""
    return Text(printable(text, lines=lines), style=style)


def say(text: str, *, console: Console, style: str = "", lines: bool = False) -> None:
    """Print a text without wrapping long lines; ``lines`` keeps line breaks."""
    console.print(plain(text, style=style, lines=lines), soft_wrap=True, highlight=False)


class Commands(TyperGroup):
    """A group of commands. A mistake of the user is printed in a few lines, a mistake of ours as a traceback."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command, and print the errors that users can cause."""
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

            # This is an error of Spark: print its message without the stacks.
            _fail(str(describe_error(error)), error)


def _fail(message: str, error: BaseException) -> None:
    say(message, console=Console(stderr=True), style="red", lines=True)
    raise typer.Exit(1) from error


def _os_error_text(error: OSError) -> str:
    """Return the message of a failed system call, with the name of the file."""
    what = error.strerror or str(error) or type(error).__name__
    names = [str(name) for name in (error.filename, error.filename2) if name is not None]
    return f"{what}: {' to '.join(names)}" if names else what
