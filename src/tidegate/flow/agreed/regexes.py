r"""Translates Java's regular expressions to RE2's, which DuckDB has; what could match something else is refused.

>>> java_regex(r"a\s.").text == "a[" + chr(92) + "t" + r"\n\v\f\r ][^\n\r\x{85}\x{2028}\x{2029}]"
True
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum

__all__ = ["BEFORE_LAST_END", "Lines", "MeaningDiffers", "Regex", "java_regex", "java_replacement", "like_pattern"]

#: Line ends in Java: ``.`` does not match them, and ``$`` matches before the last one.
_ENDS = r"\n\r\x{85}\x{2028}\x{2029}"
_LAST_END = rf"\r\n|[{_ENDS}]"
#: A pattern whose group is a text without the line end at its end.
BEFORE_LAST_END = rf"(?s)\A(.*?)(?:{_LAST_END})?\z"
#: What ``\s`` matches in Java: in RE2, not the vertical tab.
_SPACES = r"\t\n\v\f\r "
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}
#: The most repetitions that RE2 allows.
_MOST = 1000


class MeaningDiffers(ValueError):
    """Something that may mean something else in DuckDB than in Spark, such as a pattern or the arguments of a call."""


class Lines(IntEnum):
    """Where a pattern may match line ends. It matters for ``$``, which also matches before the last line end of a text.

    A line end does not count if the pattern always matches another character after it.
    """

    NOWHERE = 0
    #: At the end of the pattern only: it takes as many characters as it can, both CR and LF or neither.
    AT_ITS_END = 1
    ANYWHERE = 2


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a pattern in RE2's syntax, whether it may match an empty text, and where it may match line ends."""

    text: str
    empty: bool
    lines: Lines


@dataclass(frozen=True, slots=True)
class Regex:
    """A pattern in RE2's syntax. If it had a ``$`` at its end, ``to_end`` is true and ``text`` is without it.

    ``groups`` is the number of its groups, and ``empty`` says whether it may match an empty text. ``repeated`` says
    whether a group is repeated: Java and RE2 differ in which of its matches is the last one.
    """

    text: str
    groups: int
    empty: bool
    repeated: bool
    to_end: bool
    lines: Lines

    @property
    def found(self) -> str | None:
        """A pattern that RE2 finds exactly where Java finds this one; its match may include a line end more.

        None for some patterns with ``$``: it does not match between CR and LF, and RE2 cannot look back.
        """
        if not self.to_end:
            return self.text
        return None if self.lines == Lines.ANYWHERE else rf"{self.text}(?:{_LAST_END})?\z"

    @property
    def grouped(self) -> str:
        """The pattern as one group, and as the last group the line end that ``$`` allows after it."""
        if self.to_end and self.lines == Lines.ANYWHERE:
            raise MeaningDiffers("the part of the pattern before $ can match a line end")
        return rf"({self.text})({_LAST_END}|)\z" if self.to_end else f"({self.text})()"

    @property
    def literal(self) -> str | None:
        r"""The text that the pattern matches, if it matches only one; otherwise None.

        >>> java_regex(r"a\.").literal, java_regex("a.").literal
        ('a.', None)
        """
        return _read(self.text) if not self.to_end and _LITERAL.fullmatch(self.text) else None

    @property
    def separators(self) -> tuple[str, bool] | None:
        r"""The characters that the pattern matches, and whether several in a row; None if it is no set of characters.

        >>> java_regex("[,;]").separators, java_regex(r"\s+").separators, java_regex("[a-z]").separators
        ((',;', False), ('\t\n\x0b\x0c\r ', True), None)
        """
        found = _SEPARATORS.fullmatch(self.text)
        if found is None or self.to_end:
            return None
        return _read(found["one"] or found["few"]), bool(found["many"])


class _Parser:
    """Reads a pattern of Java and writes it for RE2, or raises `MeaningDiffers` if that could match something else."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.groups = 0
        self.repeated = False
        self.to_end = False

    def peek(self) -> str:
        return self.pattern[self.at : self.at + 1]

    def next_character(self) -> str:
        if self.at >= len(self.pattern):
            raise MeaningDiffers("the pattern ends inside of (…) or […], or after a backslash")
        self.at += 1
        return self.pattern[self.at - 1]

    def alternatives(self, *, top: bool) -> _Part:
        found = [self.sequence(top=top)]
        while self.peek() == "|":
            self.at += 1
            if self.to_end:
                raise MeaningDiffers("$ is supported only at the end of the pattern, outside of groups and of |")
            found.append(self.sequence(top=False))
        if top and self.to_end and len(found) > 1:
            raise MeaningDiffers("$ is supported only at the end of the pattern, outside of groups and of |")
        if len(found) == 1:
            return found[0]
        lines = Lines.ANYWHERE if any(part.lines for part in found) else Lines.NOWHERE
        return _Part("|".join(part.text for part in found), any(part.empty for part in found), lines)

    def sequence(self, *, top: bool) -> _Part:
        parts: list[str] = []
        empty, lines = True, Lines.NOWHERE
        while (c := self.peek()) and c not in "|)":
            if c == "^":
                if parts:
                    raise MeaningDiffers("^ is in the middle of the pattern")
                self.at += 1
                parts.append(r"\A")
                continue
            if c == "$":
                self.at += 1
                if not top or self.peek():
                    raise MeaningDiffers("$ is supported only at the end of the pattern, outside of groups and of |")
                self.to_end = True
                break
            groups = self.groups
            single = c not in "("
            atom = self.atom()
            quantifier, optional = self.quantifier()
            if quantifier[:1] not in ("", "?") and self.groups > groups:
                self.repeated = True
            parts.append(atom.text + quantifier)
            empty = empty and (atom.empty or optional)
            own = _lines(atom, quantifier, single=single)
            always = not own and not atom.empty and not optional
            lines = Lines.NOWHERE if always else Lines.ANYWHERE if lines else own
        return _Part("".join(parts), empty, lines)

    def atom(self) -> _Part:
        c = self.next_character()
        if c == "(":
            opening = "("
            if self.peek() == "?":
                if self.pattern[self.at : self.at + 2] != "?:":
                    raise MeaningDiffers("of groups that begin with (?, only (?:…) is supported")
                self.at += 2
                opening = "(?:"
            else:
                self.groups += 1
            inner = self.alternatives(top=False)
            if self.next_character() != ")":
                raise MeaningDiffers("a parenthesis of the pattern is not closed")
            return _Part(f"{opening}{inner.text})", inner.empty, inner.lines)
        if c in "*+?{}]":
            raise MeaningDiffers(
                f"{c} stands alone in the pattern; for the character itself, put a backslash before it"
            )
        text = _plain(c)
        if c in ".[\\":
            text = f"[^{_ENDS}]" if c == "." else self.choice() if c == "[" else self.escape()
        return _Part(text, empty=False, lines=Lines.ANYWHERE if _matched(text) else Lines.NOWHERE)

    def escape(self, *, inside: bool = False) -> str:
        c = self.next_character()
        if c in "dwDW":
            return f"\\{c}"
        if c == "s":
            return _SPACES if inside else f"[{_SPACES}]"
        if c == "S" and not inside:
            return f"[^{_SPACES}]"
        if c in _CONTROLS:
            return _plain(_CONTROLS[c])
        if c.isalnum() or not c.isascii():
            raise MeaningDiffers(f"\\{c} in the pattern is not supported")
        return _plain(c)

    def choice(self) -> str:
        negated = self.peek() == "^"
        self.at += negated
        items: list[str] = []
        while True:
            c = self.next_character()
            if c == "]":
                if not items:
                    raise MeaningDiffers("[…] in the pattern begins with ]")
                break
            if c == "[" or (c == "&" and self.peek() == "&") or (c == "^" and not items):
                raise MeaningDiffers(f"{c} is inside of […]; for the character itself, put a backslash before it")
            whole = c == "\\" and self.peek() in "dwDWsS"
            low = self.escape(inside=True) if c == "\\" else _plain(c)
            if self.peek() == "-" and self.pattern[self.at + 1 : self.at + 2] not in ("]", ""):
                self.at += 1
                end = self.next_character()
                if whole or end in "[&" or (end == "\\" and self.peek() in "dwDWsS"):
                    raise MeaningDiffers("a range in […] does not go from one character to another")
                high = self.escape(inside=True) if end == "\\" else _plain(end)
                items.append(f"{low}-{high}")
            else:
                items.append(low)
        return f"[{'^' if negated else ''}{''.join(items)}]"

    def quantifier(self) -> tuple[str, bool]:
        c = self.peek()
        if not c or c not in "*+?{":
            return "", False
        self.at += 1
        text, optional = c, c in "*?"
        if c == "{":
            end = self.pattern.find("}", self.at)
            low, comma, high = self.pattern[self.at : end].partition(",")
            if end < 0 or not low.isdecimal() or not (high.isdecimal() or not high) or not low.isascii():
                raise MeaningDiffers("{ in the pattern is not followed by numbers, as in {2} or {2,5}")
            if max(int(low), int(high or 0)) > _MOST:
                raise MeaningDiffers(f"the pattern repeats something more than {_MOST} times")
            text, optional = f"{{{low}{comma}{high}}}", int(low) == 0
            self.at = end + 1
        if self.peek() == "+":
            raise MeaningDiffers(
                "the pattern has a possessive quantifier, such as *+ or ++, which DuckDB does not have"
            )
        if self.peek() == "?":
            self.at += 1
            text += "?"
        if self.peek() and self.peek() in "*+?{":
            raise MeaningDiffers("the pattern has two quantifiers in a row")
        return text, optional


#: Patterns of RE2 as they are written here: of one character, of several in a row, of one of several.
_CHARACTER = r"(?:[A-Za-z0-9 ]|\\[^A-Za-z0-9]|\\[tnvfr]|\\x\{[0-9a-f]+\})"
_LITERAL = re.compile(f"{_CHARACTER}+")
_SEPARATORS = re.compile(rf"(?:(?P<one>{_CHARACTER})|\[(?P<few>{_CHARACTER}+)\])(?P<many>\+?)")
_WRITTEN = {"t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r"}


def _read(text: str) -> str:
    """Return the characters that a pattern of single characters stands for."""
    return re.sub(
        r"\\(?:x\{([0-9a-f]+)\}|(.))",
        lambda found: chr(int(found[1], 16)) if found[1] else _WRITTEN.get(found[2], found[2]),
        text,
    )


def _matched(text: str) -> str:
    """Return the line ends that a pattern of one character matches."""
    here = re.sub(r"\\x\{([0-9a-f]+)\}", lambda found: re.escape(chr(int(found[1], 16))), text)
    return "".join(re.findall(here, "\n\r\x85\u2028\u2029", re.ASCII))


def _lines(atom: _Part, quantifier: str, *, single: bool) -> Lines:
    """Return where a part with a quantifier may match line ends, if no part before it does."""
    if not atom.lines or not quantifier:
        # Matched once, it may stop before a line end that it could have matched too.
        return atom.lines
    most = quantifier in ("*", "+") or quantifier.endswith(",}")
    if not single:
        # The end of a group takes as many characters as it can, however often the group is repeated.
        return atom.lines if most or quantifier == "?" else Lines.ANYWHERE
    ends = _matched(atom.text)
    return Lines.AT_ITS_END if most and ("\r" in ends) == ("\n" in ends) else Lines.ANYWHERE


def _plain(c: str) -> str:
    """Return a pattern that matches one given character."""
    if c.isascii() and (c.isalnum() or c == " "):
        return c
    if c.isascii() and c.isprintable():
        return f"\\{c}"
    return f"\\x{{{ord(c):x}}}"


def java_regex(pattern: str) -> Regex:
    """Return a pattern of Java in RE2's syntax, or raise `MeaningDiffers`."""
    parser = _Parser(pattern)
    part = parser.alternatives(top=True)
    if parser.at < len(pattern):
        raise MeaningDiffers("the pattern has a closing parenthesis without an opening one")
    text = f"(?:{part.text})" if "|" in part.text else part.text
    return Regex(text, parser.groups, part.empty, parser.repeated, parser.to_end, part.lines)


def java_replacement(text: str, groups: int) -> str:
    r"""Return a replacement of Java in RE2's syntax, for a pattern that is wrapped into one more group.

    >>> print(java_replacement(r"[$1]\$", 1))
    [\2]$
    """
    found, at = [], 0
    while at < len(text):
        c = text[at]
        at += 1
        if c == "\\":
            if at == len(text):
                raise MeaningDiffers("the replacement ends with a backslash")
            c = text[at]
            at += 1
        elif c == "$":
            number = text[at : at + 1]
            if not (number.isascii() and number.isdecimal()) or int(number) > groups:
                raise MeaningDiffers("$ in the replacement is not followed by the number of a group of the pattern")
            at += 1
            # Java reads more digits as long as a group has that number.
            if text[at : at + 1].isdecimal() and groups >= 10:
                raise MeaningDiffers(
                    "the replacement may refer to a group by a number of two digits, which DuckDB cannot do"
                )
            if int(number) + 1 > 9:
                raise MeaningDiffers("the replacement uses $9; on DuckDB, $8 is the last")
            found.append(f"\\{int(number) + 1}")
            continue
        found.append("\\\\" if c == "\\" else c)
    return "".join(found)


def like_pattern(pattern: str, escape: str = "\\") -> str:
    r"""Return a pattern of LIKE with a backslash as its escape, or raise `MeaningDiffers` if Spark would refuse it.

    >>> print(like_pattern("a!%", "!"), like_pattern("b%"))
    a\% b%
    """
    found, at = [], 0
    while at < len(pattern):
        c = pattern[at]
        at += 1
        if c == escape:
            following = pattern[at : at + 1]
            if following not in ("%", "_", escape) or not following:
                raise MeaningDiffers("the escape character is not followed by %, by _ or by itself")
            at += 1
            c = following
            found.append(f"\\{c}" if c in "%_\\" else c)
        else:
            found.append("\\\\" if c == "\\" else c)
    return "".join(found)
