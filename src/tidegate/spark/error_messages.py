"""Error messages of Spark, each in one line, and what they point to: an expression, a function or an operator."""

from __future__ import annotations

import re
from typing import Any

from tidegate.engine.error_messages import ErrorMessage, first_line
from tidegate.spark.jvm import cause_of
from tidegate.spark.refusals import message_of

__all__ = ["describe_error"]


def describe_error(error: BaseException) -> ErrorMessage:
    """Return the message of an error. For an error that is not Spark's, it is the type and the first line."""
    try:
        return _describe(error)
    except Exception:  # this calls the JVM, which may be gone
        return ErrorMessage(first_line(error))


def _describe(error: Any) -> ErrorMessage:
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException, PythonException
    from pyspark.errors.exceptions.captured import convert_exception

    if isinstance(error, PythonException):
        return _describe_python(str(error))
    if isinstance(error, PySparkException):
        condition = error.getCondition()
        fragments = [context.fragment() for context in error.getQueryContext() or ()]
        fragment = next(filter(None, fragments), "")
        text = f"[{condition}] {message_of(error)}" if condition else message_of(error)
        hint = "let the expression take such values, as try_divide and try_cast do, or leave the rows out before it"
        return ErrorMessage(f"Spark failed: {text}", hint if fragment else "", fragment)
    if isinstance(error, Py4JJavaError):
        # An error of a query that ran in another thread, such as a broadcast, is wrapped.
        known: Any = convert_exception(error.java_exception)
        while known is not None and not known.getCondition():
            known = cause_of(known)
        if known is not None:
            return _describe(known)
        return ErrorMessage(f"Spark failed: {_java_text(error.java_exception)}")
    return ErrorMessage(first_line(error))


def _java_text(error: Any) -> str:
    """Return the first line of a JVM error, and of its root cause."""
    first, last = error, error
    while last.getCause() is not None:
        last = last.getCause()
    lines = [str(e.toString()).split("\n")[0] for e in (first, last)]
    return lines[0] if lines[1] in lines[0] else f"{lines[0]} ({lines[1]})"


#: The line of a traceback that names a place in the user's code. Our own frames are left out.
_FRAME = re.compile(r'^  File "(?P<file>.+)", line (?P<line>\d+), in (?P<function>.+)$')
_OURS = ("/tidegate/spark/", "/tidegate/engine/", "/tidegate/flow/", "/pyspark/")
#: The line that `running` adds to an error of a user's function.
_PLACE = re.compile(r"^  at: \w+\(…\), (\S+)$")


def _describe_python(text: str) -> ErrorMessage:
    """Return the message of an error in a Python worker.

    ``text`` is a traceback, the error, the line that `running` has added, and perhaps a hint.
    """
    lines = text.rstrip().split("\n")
    begin = max((i for i, line in enumerate(lines) if line.startswith("Traceback ")), default=0)
    starts = [i for i, line in enumerate(lines) if i > begin and re.match(r"[\w.]+(:|$)", line)]
    own = lines[min(starts, default=begin) :]
    frames = [found for line in lines[begin:] if (found := _FRAME.match(line)) and not _is_ours(found["file"])]
    operators = [found[1] for line in own if (found := _PLACE.match(line))]
    hints = [line.removeprefix("  hint: ") for line in own if line.startswith("  hint: ")]
    message = [line.strip() for line in own if not line.startswith(("  at: ", "  hint: "))]
    name, _, rest = " ".join(message).partition(":")
    return ErrorMessage(
        f"a Python function failed: {name.rpartition('.')[2]}:{rest}",
        hints[-1] if hints else "",
        operator=operators[-1] if operators else "",
        place=f"{frames[-1]['file']}, line {frames[-1]['line']}, in {frames[-1]['function']}" if frames else "",
    )


def _is_ours(file: str) -> bool:
    return any(part in file for part in _OURS)
