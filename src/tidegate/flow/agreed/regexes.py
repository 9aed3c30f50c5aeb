r"""Java's regular expressions as RE2's: only what matches the same, written so that it does.

>>> java_regex(r"a\s.").text == "a[" + chr(92) + "t" + r"\n\v\f\r ][^\n\r\x{85}\x{2028}\x{2029}]"
True
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Regex", "Unlike", "java_regex", "java_replacement", "like_pattern"]

#: What ends a line in Java: ``.`` does not match it, and ``$`` matches before the last one.
_ENDS = r"\n\r\x{85}\x{2028}\x{2029}"
_LAST_END = rf"\r\n|[{_ENDS}]"
#: Java counts the vertical tab as a space; RE2 does not.
_SPACES = r"\t\n\v\f\r "
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}
#: RE2 refuses to repeat more often.
_MOST = 1000


class Unlike(ValueError):
    """A pattern that is not known to mean the same in both."""


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

    @property
    def found(self) -> str:
        """The pattern that is found wherever the Java one is found; what it matches may be longer by an end of line."""
        return rf"{self.text}(?:{_LAST_END})?\z" if self.to_end else self.text

    @property
    def grouped(self) -> str:
        """The pattern as a group, and the end of line that ``$`` looks past as the last group."""
        return rf"({self.text})({_LAST_END}|)\z" if self.to_end else f"({self.text})()"


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

    def alternatives(self, *, top: bool) -> tuple[str, bool]:
        found = [self.sequence(top=top)]
        while self.peek() == "|":
            self.at += 1
            if self.to_end:
                raise Unlike("$ stands in one of several alternatives")
            found.append(self.sequence(top=False))
        text = "|".join(text for text, _ in found)
        if top and self.to_end and len(found) > 1:
            raise Unlike("$ stands in one of several alternatives")
        return text, any(empty for _, empty in found)

    def sequence(self, *, top: bool) -> tuple[str, bool]:
        parts: list[str] = []
        empty = True
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
            atom, atom_empty = self.atom()
            quantifier, optional = self.quantifier()
            if quantifier[:1] not in ("", "?") and self.groups > groups:
                self.repeated = True
            parts.append(atom + quantifier)
            empty = empty and (atom_empty or optional)
        return "".join(parts), empty

    def atom(self) -> tuple[str, bool]:
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
            inner, empty = self.alternatives(top=False)
            if self.take() != ")":
                raise Unlike("a parenthesis is not closed")
            return f"{opening}{inner})", empty
        if c == "[":
            return self.choice(), False
        if c == ".":
            return f"[^{_ENDS}]", False
        if c == "\\":
            return self.escape(), False
        if c in "*+?{}]":
            raise Unlike(f"{c} stands alone")
        return _plain(c), False

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
    text, empty = parser.alternatives(top=True)
    if parser.at < len(pattern):
        raise Unlike("a parenthesis is closed twice")
    return Regex(f"(?:{text})" if "|" in text else text, parser.groups, empty, parser.repeated, parser.to_end)


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
