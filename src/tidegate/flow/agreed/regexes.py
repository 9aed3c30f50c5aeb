r"""Java's regular expressions as RE2's: only what matches the same, written so that it does.

>>> java_regex(r"a\s.").text == "a[" + chr(92) + "t" + r"\n\v\f\r ][^\n\r\x{85}\x{2028}\x{2029}]"
True
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum

__all__ = ["BEFORE_LAST_END", "Lines", "Regex", "Unlike", "java_regex", "java_replacement", "like_pattern"]

#: What ends a line in Java: ``.`` does not match it, and ``$`` matches before the last one.
_ENDS = r"\n\r\x{85}\x{2028}\x{2029}"
_LAST_END = rf"\r\n|[{_ENDS}]"
#: What is before the end of line at the end of a text, if there is one: all of it in a group.
BEFORE_LAST_END = rf"(?s)\A(.*?)(?:{_LAST_END})?\z"
#: Java counts the vertical tab as a space; RE2 does not.
_SPACES = r"\t\n\v\f\r "
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}
#: RE2 refuses to repeat more often.
_MOST = 1000


class Unlike(ValueError):
    """A pattern that is not known to mean the same in both."""


class Lines(IntEnum):
    """Where a pattern may match ends of lines: ``$`` looks past one that may also be matched before it.

    Those do not count after which it always matches another character.
    """

    NOWHERE = 0
    #: In what it ends with: as many of some characters as there are, among them both of CR and LF or none.
    AT_ITS_END = 1
    ANYWHERE = 2


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a pattern in RE2's form, whether it may match nothing at all, and where it may match ends of lines."""

    text: str
    empty: bool
    lines: Lines


@dataclass(frozen=True, slots=True)
class Regex:
    """A pattern of RE2, without the ``$`` at its end if it had one (`to_end`).

    ``groups`` is the number of its groups; ``empty`` says whether it may match nothing at all, and ``repeated`` whether
    a group is repeated: then which of its matches is the last one is not the same in both.
    """

    text: str
    groups: int
    empty: bool
    repeated: bool
    to_end: bool
    lines: Lines

    @property
    def found(self) -> str | None:
        """The pattern that is found wherever the Java one is found; what it matches may be longer by an end of line.

        There is none for some: ``$`` does not match between CR and LF, and RE2 cannot look back.
        """
        if not self.to_end:
            return self.text
        return None if self.lines == Lines.ANYWHERE else rf"{self.text}(?:{_LAST_END})?\z"

    @property
    def grouped(self) -> str:
        """The pattern as a group, and the end of line that ``$`` looks past as the last group."""
        if self.to_end and self.lines == Lines.ANYWHERE:
            raise Unlike("$ comes after what matches ends of lines")
        return rf"({self.text})({_LAST_END}|)\z" if self.to_end else f"({self.text})()"

    @property
    def literal(self) -> str | None:
        r"""The text that the pattern matches, if it matches just one.

        >>> java_regex(r"a\.").literal, java_regex("a.").literal
        ('a.', None)
        """
        return _read(self.text) if not self.to_end and _LITERAL.fullmatch(self.text) else None

    @property
    def separators(self) -> tuple[str, bool] | None:
        r"""The characters of which the pattern matches one, and whether it matches as many as there are; if it does.

        >>> java_regex("[,;]").separators, java_regex(r"\s+").separators, java_regex("[a-z]").separators
        ((',;', False), ('\t\n\x0b\x0c\r ', True), None)
        """
        found = _SEPARATORS.fullmatch(self.text)
        if found is None or self.to_end:
            return None
        return _read(found["one"] or found["few"]), bool(found["many"])


class _Parser:
    """A reader of patterns; it stops at what is not known to mean the same."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.groups = 0
        self.repeated = False
        self.to_end = False

    def peek(self) -> str:
        return self.pattern[self.at : self.at + 1]

    def take(self) -> str:
        if self.at >= len(self.pattern):
            raise Unlike("it ends too early")
        self.at += 1
        return self.pattern[self.at - 1]

    def alternatives(self, *, top: bool) -> _Part:
        found = [self.sequence(top=top)]
        while self.peek() == "|":
            self.at += 1
            if self.to_end:
                raise Unlike("$ stands in one of several alternatives")
            found.append(self.sequence(top=False))
        if top and self.to_end and len(found) > 1:
            raise Unlike("$ stands in one of several alternatives")
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
                    raise Unlike("^ stands in the middle")
                self.at += 1
                parts.append(r"\A")
                continue
            if c == "$":
                self.at += 1
                if not top or self.peek():
                    raise Unlike("$ stands elsewhere than at the end")
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
        c = self.take()
        if c == "(":
            opening = "("
            if self.peek() == "?":
                if self.pattern[self.at : self.at + 2] != "?:":
                    raise Unlike("a group with ? is known as (?:…) only")
                self.at += 2
                opening = "(?:"
            else:
                self.groups += 1
            inner = self.alternatives(top=False)
            if self.take() != ")":
                raise Unlike("a parenthesis is not closed")
            return _Part(f"{opening}{inner.text})", inner.empty, inner.lines)
        if c in "*+?{}]":
            raise Unlike(f"{c} stands alone")
        text = _plain(c)
        if c in ".[\\":
            text = f"[^{_ENDS}]" if c == "." else self.choice() if c == "[" else self.escape()
        return _Part(text, empty=False, lines=Lines.ANYWHERE if _matched(text) else Lines.NOWHERE)

    def escape(self, *, inside: bool = False) -> str:
        c = self.take()
        if c in "dwDW":
            return f"\\{c}"
        if c == "s":
            return _SPACES if inside else f"[{_SPACES}]"
        if c == "S" and not inside:
            return f"[^{_SPACES}]"
        if c in _CONTROLS:
            return _plain(_CONTROLS[c])
        if c.isalnum() or not c.isascii():
            raise Unlike(f"\\{c} is not known")
        return _plain(c)

    def choice(self) -> str:
        negated = self.peek() == "^"
        self.at += negated
        items: list[str] = []
        while True:
            c = self.take()
            if c == "]":
                if not items:
                    raise Unlike("a choice of characters begins with ]")
                break
            if c == "[" or (c == "&" and self.peek() == "&") or (c == "^" and not items):
                raise Unlike(f"{c} stands in a choice of characters")
            whole = c == "\\" and self.peek() in "dwDWsS"
            low = self.escape(inside=True) if c == "\\" else _plain(c)
            if self.peek() == "-" and self.pattern[self.at + 1 : self.at + 2] not in ("]", ""):
                self.at += 1
                end = self.take()
                if whole or end in "[&" or (end == "\\" and self.peek() in "dwDWsS"):
                    raise Unlike("a range of characters has no end")
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
                raise Unlike("{ begins no number of times")
            if max(int(low), int(high or 0)) > _MOST:
                raise Unlike(f"it repeats more than {_MOST} times")
            text, optional = f"{{{low}{comma}{high}}}", int(low) == 0
            self.at = end + 1
        if self.peek() == "+":
            raise Unlike("it is possessive")
        if self.peek() == "?":
            self.at += 1
            text += "?"
        if self.peek() and self.peek() in "*+?{":
            raise Unlike("it is repeated twice")
        return text, optional


#: A character in a pattern of RE2, as it is written here; several; and one of several, or as many of them as there are.
_CHARACTER = r"(?:[A-Za-z0-9 ]|\\[^A-Za-z0-9]|\\[tnvfr]|\\x\{[0-9a-f]+\})"
_LITERAL = re.compile(f"{_CHARACTER}+")
_SEPARATORS = re.compile(rf"(?:(?P<one>{_CHARACTER})|\[(?P<few>{_CHARACTER}+)\])(?P<many>\+?)")
_WRITTEN = {"t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r"}


def _read(text: str) -> str:
    """Return the characters of a pattern that has nothing else."""
    return re.sub(
        r"\\(?:x\{([0-9a-f]+)\}|(.))",
        lambda found: chr(int(found[1], 16)) if found[1] else _WRITTEN.get(found[2], found[2]),
        text,
    )


def _matched(text: str) -> str:
    """Return the ends of lines that a pattern of one character matches."""
    here = re.sub(r"\\x\{([0-9a-f]+)\}", lambda found: re.escape(chr(int(found[1], 16))), text)
    return "".join(re.findall(here, "\n\r\x85\u2028\u2029", re.ASCII))


def _lines(atom: _Part, quantifier: str, *, single: bool) -> Lines:
    """Return where a part that is repeated may match ends of lines, if none before it does."""
    if not atom.lines or not quantifier:
        # A character that is matched once leaves an end of line behind it that could be matched again.
        return atom.lines
    most = quantifier in ("*", "+") or quantifier.endswith(",}")
    if not single:
        # What a group ends with is as long as it can be, however often the group comes.
        return atom.lines if most or quantifier == "?" else Lines.ANYWHERE
    ends = _matched(atom.text)
    return Lines.AT_ITS_END if most and ("\r" in ends) == ("\n" in ends) else Lines.ANYWHERE


def _plain(c: str) -> str:
    """Return a pattern that matches one character."""
    if c.isascii() and (c.isalnum() or c == " "):
        return c
    if c.isascii() and c.isprintable():
        return f"\\{c}"
    return f"\\x{{{ord(c):x}}}"


def java_regex(pattern: str) -> Regex:
    """Return RE2's form of a pattern of Java, or raise `Unlike`."""
    parser = _Parser(pattern)
    part = parser.alternatives(top=True)
    if parser.at < len(pattern):
        raise Unlike("a parenthesis is closed twice")
    text = f"(?:{part.text})" if "|" in part.text else part.text
    return Regex(text, parser.groups, part.empty, parser.repeated, parser.to_end, part.lines)


def java_replacement(text: str, groups: int) -> str:
    r"""Return RE2's form of what Java replaces a match by, for a pattern that is in a group of its own.

    >>> print(java_replacement(r"[$1]\$", 1))
    [\2]$
    """
    found, at = [], 0
    while at < len(text):
        c = text[at]
        at += 1
        if c == "\\":
            if at == len(text):
                raise Unlike("the replacement ends with a backslash")
            c = text[at]
            at += 1
        elif c == "$":
            number = text[at : at + 1]
            if not (number.isascii() and number.isdecimal()) or int(number) > groups:
                raise Unlike("$ is not followed by the number of a group")
            at += 1
            # Java takes more digits as long as there is such a group.
            if text[at : at + 1].isdecimal() and groups >= 10:
                raise Unlike("the number of a group has two digits")
            if int(number) + 1 > 9:
                raise Unlike("RE2 has nine groups in a replacement")
            found.append(f"\\{int(number) + 1}")
            continue
        found.append("\\\\" if c == "\\" else c)
    return "".join(found)


def like_pattern(pattern: str, escape: str = "\\") -> str:
    r"""Return a pattern of LIKE with a backslash as the escape, or raise if Spark would not take it.

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
                raise Unlike("the escape is followed by neither %, _ nor itself")
            at += 1
            c = following
            found.append(f"\\{c}" if c in "%_\\" else c)
        else:
            found.append("\\\\" if c == "\\" else c)
    return "".join(found)
