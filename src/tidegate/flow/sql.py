"""Spark SQL as tokens: the one place that knows where parentheses, calls and conditions begin and end.

Plans hold SQL as text, not as trees: messages can point into it, and fingerprints do not depend on how a tree is
printed. A piece that is cut out of a text, to be bound or to be shown in a message, is a `Sql` that keeps its place in
the text. What goes into a plan is rendered with the same spacing everywhere.

>>> sql = Sql.of("a  = 1 AND f(b, (c)) AND d in ('x AND y')")
>>> sql.conjuncts()
['a = 1', 'f(b, (c))', "d in ('x AND y')"]
>>> [(call.name, call.arguments) for call in sql.calls()]
[('f', ['b', '(c)'])]
>>> sql.replace("f(b, (c))", "n")
"a  = 1 AND n AND d in ('x AND y')"
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tidegate.flow.functions import words
from tidegate.flow.parser import SqlToken, TokenType, tokenize

__all__ = ["Call", "Sql"]

#: A parenthesis after one of these words belongs to the word, and is not a call.
_KEYWORDS = words(
    """
    all and as between by case distinct div else end from group having ilike in is join like not on or over select then
    union using when where within xor
    """
)
_QUOTED = (TokenType.STRING, TokenType.IDENTIFIER)
_OPENING = (TokenType.L_PAREN, TokenType.L_BRACKET)
_CLOSING = {TokenType.R_PAREN: "(", TokenType.R_BRACKET: "["}
#: If one of these is in a condition, the condition is not split at its ANDs.
_WHOLE = (TokenType.OR, TokenType.XOR, TokenType.BETWEEN, TokenType.CASE, TokenType.ARROW)
#: If a condition has one of these besides an equals sign, it is more than an equation.
_NO_EQUATION = (
    *_WHOLE,
    TokenType.NOT, TokenType.AND, TokenType.IS, TokenType.IN, TokenType.LIKE, TokenType.ILIKE, TokenType.RLIKE,
    TokenType.SIMILAR_TO,
    TokenType.LT, TokenType.GT, TokenType.LTE, TokenType.GTE, TokenType.NEQ, TokenType.NULLSAFE_EQ,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Sql:
    """Tokens of a text: all of them, or those of a piece, which keeps its place in the text."""

    text: str
    tokens: tuple[SqlToken, ...]

    @classmethod
    def of(cls, text: str) -> Sql:
        """Return a whole text; raise the parser's ``TokenError`` if a quote or a comment is not closed."""
        return cls(text, tokenize(text))

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, which: slice) -> Sql:
        return Sql(self.text, self.tokens[which])

    def __str__(self) -> str:
        return self.render()

    @property
    def span(self) -> tuple[int, int]:
        """Where it begins and ends in the text."""
        return self.tokens[0].start, self.tokens[-1].end

    @property
    def alone(self) -> str:
        """The piece, with blanks in the place of everything before it: so places in it are also places in the text.

        >>> Sql.of("a + b*c")[2:].alone
        '    b*c'
        """
        start, end = self.span
        return " " * start + self.text[start:end]

    # To text.

    def render(self, spelled: Mapping[int, str] = MappingProxyType({})) -> str:
        """Return it as a text with regular spaces and without comments, which has the same tokens.

        ``spelled`` maps places in the text to other spellings of the tokens that begin there.

        >>> Sql.of("sum( x )/-  y").render({5: "z"})
        'sum(z) / -y'
        >>> Sql.of("x - - 1").render({0: "y"}), Sql.of("-x").render({1: "-y"})
        ('y - -1', '- -y')
        """
        out: list[str] = []
        before: SqlToken | None = None
        sign = False
        for token in self.tokens:
            word = spelled.get(token.start, self.text[token.start : token.end])
            if before is not None and not _touch(before, token) and not (sign and _stay_two(out[-1], word)):
                out.append(" ")
            out.append(word)
            # Some columns have the name of a keyword, and a minus after them is taken for a sign: it still stays apart
            # from another minus, with which it would begin a comment.
            sign = token.kind in _SIGNS and (before is None or before.kind not in _VALUES)
            before = token
        return "".join(out)

    def normal(self) -> str:
        """Return its text with all words in lower case, except for what is quoted; the case of words means nothing.

        >>> Sql.of("SUM(Bytes) FILTER (WHERE kind = 'WM') + `A b`").normal()
        "sum(bytes) filter (where kind = 'WM') + `A b`"
        """
        letters = list(self.text)
        for token in self.tokens:
            if token.kind != TokenType.IDENTIFIER and "STRING" not in token.kind.name:
                letters[token.start : token.end] = self.text[token.start : token.end].lower()
        return "".join(letters)

    def substitute(self, pieces: Iterable[tuple[Sql, str]]) -> str:
        """Return the piece as `alone` does, with some parts of it, in their order, replaced by texts.

        A blank is added where a text would become one word, or one sign, with what is beside it.

        >>> sql = Sql.of("a + f(b)*c")
        >>> sql.substitute((call.sql, "n") for call in sql.calls())
        'a + n*c'
        >>> sql = Sql.of("a -f(b)DIV c")
        >>> sql.substitute((call.sql, "-n") for call in sql.calls())
        'a - -n DIV c'
        """
        text, parts, end = self.alone, [], 0
        for piece, new in pieces:
            start, stop = piece.span
            parts += [text[end:start], new]
            end = stop
        together = ""
        for part in (*parts, text[end:]):
            together += part if _stay_two(together, part) else f" {part}"
        return together

    # Parentheses.

    def around(self) -> list[str]:
        """Return, for each token, the brackets that are open around it, the outermost first.

        A bracket is not inside of itself. After a closing bracket without an opening one, all tokens count as inside:
        such a text does not parse anyway.

        >>> Sql.of("f(a[1])").around()
        ['', '', '(', '(', '([', '(', '']
        """
        found: list[str] = []
        around = ""
        for token in self.tokens:
            if token.kind in _CLOSING:
                around = around[:-1] if around.endswith(_CLOSING[token.kind]) else around + token.text
            found.append(around)
            if token.kind in _OPENING:
                around += token.text
        return found

    def outside(self) -> list[tuple[int, SqlToken]]:
        """Return the tokens that are in no brackets, with their numbers.

        >>> [token.text for _, token in Sql.of("f(a) + b[0]").outside()]
        ['f', '(', ')', '+', 'b', '[', ']']
        """
        return [(i, self.tokens[i]) for i, around in enumerate(self.around()) if not around]

    def closing(self, opening: int) -> int:
        """Return the number of the token that closes the bracket that a token opens.

        >>> Sql.of("f(a, (b)) + c").closing(1)
        7
        """
        around = self.around()
        return next(i for i in range(opening + 1, len(around)) if around[i] == around[opening])

    def split(self, *kinds: TokenType) -> list[Sql]:
        """Return the pieces between tokens of some kinds that are in no brackets, without these tokens.

        >>> [str(piece) for piece in Sql.of("a, f(b, c), arr[d]").split(TokenType.COMMA)]
        ['a', 'f(b, c)', 'arr[d]']
        """
        return self.cut(i for i, token in self.outside() if token.kind in kinds)

    def cut(self, at: Iterable[int]) -> list[Sql]:
        """Return the pieces between tokens of given numbers, in their order, without these and without empty pieces."""
        pieces, begin = [], 0
        for i in (*at, len(self)):
            pieces.append(self[begin:i])
            begin = i + 1
        return [piece for piece in pieces if piece]

    # Calls.

    def is_call(self, i: int) -> bool:
        """Whether a token is the name of a function that is called there.

        >>> sql = Sql.of("count(*) FILTER (WHERE x IN (1) AND (y) AND z LIKE ANY ('a%', 'b%'))")
        >>> [token.text for i, token in enumerate(sql.tokens) if sql.is_call(i)]
        ['count']
        """
        token, after = self.tokens[i], [token.kind for token in self.tokens[i + 1 : i + 3]]
        if after[:1] != [TokenType.L_PAREN] or token.kind in _QUOTED:
            return False
        if not token.text.isidentifier() or token.word in _KEYWORDS:
            return False
        before = self.tokens[i - 1] if i else None
        if token.kind == TokenType.FILTER and before is not None:
            # After a call, FILTER is a clause; elsewhere it is the function on arrays.
            return before.kind != TokenType.R_PAREN and before.word != "nulls"
        if token.kind == TokenType.EXISTS:
            return after[1:] not in ([TokenType.SELECT], [TokenType.WITH])
        return before is None or before.kind not in (TokenType.LIKE, TokenType.ILIKE, TokenType.DOT)

    def calls(self) -> list[Call]:
        """Return all calls of functions, also those inside of others, in the order in which they begin.

        >>> [str(call.sql) for call in Sql.of("round(sum(x) FILTER (WHERE y), 2) + z").calls()]
        ['round(sum(x) FILTER (WHERE y), 2)', 'sum(x) FILTER (WHERE y)']
        """
        return [self._call(i) for i in range(len(self)) if self.is_call(i)]

    def call(self) -> Call | None:
        """Return the call, with its clauses, if it is one call and nothing else; else None."""
        found = self._call(0) if self and self.is_call(0) else None
        return found if found and len(found.sql) == len(self) else None

    def arguments(self, function: str) -> list[str] | None:
        """Return the arguments if it is one call of a function, without any clause; else None.

        >>> Sql.of("filter(xs, x -> x > 1)").arguments("filter")
        ['xs', 'x -> x > 1']
        """
        call = self.call()
        return call.arguments if call and call.name == function and not call.clauses else None

    def _call(self, i: int) -> Call:
        end = self.closing(i + 1) + 1
        inside = self[i + 2 : end - 1]
        clauses: list[Sql] = []
        while clause := self._clause(end):
            clauses.append(clause)
            end += len(clause)
        return Call(self[i:end], inside, tuple(clauses))

    def _clause(self, i: int) -> Sql:
        """Return the clause of a call that begins at a token, as ``IGNORE NULLS`` or ``FILTER (…)``; or nothing."""
        first = tuple("" if token.kind in _QUOTED else token.word for token in self.tokens[i : i + 3])
        for begins in (("filter", "("), ("over", "("), ("within", "group", "(")):
            if first[: len(begins)] == begins:
                return self[i : self.closing(i + len(begins) - 1) + 1]
        named = first[:2] in (("ignore", "nulls"), ("respect", "nulls")) or first[:1] == ("over",)
        return self[i : i + 2] if named else self[:0]

    # Conditions.

    def conjuncts(self) -> list[str]:
        """Return the parts of a condition that all have to hold.

        >>> Sql.of("a = 1 AND (b OR c) AND d").conjuncts()
        ['a = 1', '(b OR c)', 'd']
        >>> Sql.of("a BETWEEN 1 AND 2").conjuncts()
        ['a BETWEEN 1 AND 2']
        """
        if any(token.kind in _WHOLE for _, token in self.outside()):
            return [str(self)]
        return [str(part) for part in self.split(TokenType.AND)]

    def all_conjuncts(self) -> list[str]:
        """Return the parts of a condition that all have to hold, also those in parentheses; AND can connect them again.

        >>> Sql.of("(a = 1 AND (b OR c)) AND ((d)) AND (e BETWEEN 1 AND 2)").all_conjuncts()
        ['a = 1', '(b OR c)', 'd', '(e BETWEEN 1 AND 2)']
        """
        found: list[str] = []
        for part in map(Sql.of, self.conjuncts()):
            bracketed = len(part) > 2 and part.tokens[0].kind == TokenType.L_PAREN and part.closing(0) == len(part) - 1
            inside = part[1:-1]
            # What is weaker than AND needs its parentheses.
            if bracketed and not any(token.kind in _WHOLE for _, token in inside.outside()):
                found += Sql.of(str(inside)).all_conjuncts()
            else:
                found.append(str(part))
        return found

    def equated(self) -> tuple[str, str] | None:
        """Return the two sides of an equation; None if it is another condition.

        >>> [Sql.of(sql).equated() for sql in ("length(a) = b + 1", "a < b", "NOT a = b", "a = b RLIKE c")]
        [('length(a)', 'b + 1'), None, None, None]
        """
        sides = self.split(TokenType.EQ)
        if len(sides) != 2 or any(token.kind in _NO_EQUATION for _, token in self.outside()):
            return None
        return str(sides[0]), str(sides[1])

    # Replacing names and calls.

    def replace(self, old: str, new: str) -> str:
        """Return its text with a column, or a call, replaced by another wherever it occurs; nothing else changes.

        >>> Sql.of("length(x) > 2 AND char_length(x) < y").replace("length(x)", "n")
        'n > 2 AND char_length(x) < y'
        >>> Sql.of("2 * x + 1 < 6").replace("x + 1", "n"), Sql.of("y -(x) < 6").replace("-(x)", "n")
        ('2 * x + 1 < 6', 'y -(x) < 6')
        """
        wanted = Sql.of(old)
        # A parameter of a lambda may have the same name as a column.
        if any(token.kind == TokenType.ARROW for token in self.tokens) or not wanted._is_closed():
            return self.alone
        return self.substitute((piece, new) for piece in self._occurrences(wanted))

    def _occurrences(self, wanted: Sql) -> Iterable[Sql]:
        """Return the places where a name or a call occurs as a whole."""
        sought = [(token.text, token.kind == TokenType.STRING) for token in wanted.tokens]
        found = [(token.text, token.kind == TokenType.STRING) for token in self.tokens]
        for i in range(len(found) - len(sought) + 1):
            end = i + len(sought)
            follows = self.tokens[end].text if end < len(self) else ""
            inner = i > 0 and self.tokens[i - 1].kind == TokenType.DOT
            if found[i:end] == sought and not inner and follows not in (".", "(", "["):
                yield self[i:end]

    def _is_closed(self) -> bool:
        """Whether it is a name, with dots or not, or one call: then an operator beside it needs no parentheses."""
        named = 0
        while named < len(self) and (named % 2 == 1) == (self.tokens[named].kind == TokenType.DOT):
            named += 1
        first, rest = self.tokens[0], self.tokens[named:]
        word = first.kind == TokenType.IDENTIFIER or first.text.isidentifier()
        if named % 2 == 0 or not word or first.kind in (TokenType.STRING, TokenType.NOT):
            return False
        return not rest or (rest[0].text == "(" and self.closing(named) == len(self) - 1)


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a function: all of it, what is in its parentheses, and the clauses that follow these.

    >>> call = Sql.of("count(DISTINCT a, f(b)) FILTER (WHERE c) + 1").calls()[0]
    >>> call.name, str(call.sql), str(call.inside), list(map(str, call.clauses))
    ('count', 'count(DISTINCT a, f(b)) FILTER (WHERE c)', 'DISTINCT a, f(b)', ['FILTER (WHERE c)'])
    """

    sql: Sql
    inside: Sql
    clauses: tuple[Sql, ...]

    @property
    def function(self) -> SqlToken:
        """The name of the function, as it was written."""
        return self.sql.tokens[0]

    @property
    def name(self) -> str:
        """The name of the function, in small letters."""
        return self.function.word

    @property
    def arguments(self) -> list[str]:
        """What is between the commas in its parentheses."""
        return [str(argument) for argument in self.inside.split(TokenType.COMMA)]


_SIGNS = (TokenType.DASH, TokenType.PLUS, TokenType.TILDE)
#: What a value may end with: a sign after it is an operator between two values.
_VALUES = (
    TokenType.VAR, TokenType.IDENTIFIER, TokenType.NUMBER, TokenType.STRING, TokenType.R_PAREN, TokenType.R_BRACKET,
)  # fmt: skip
_TOUCHED_AFTER = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.DOT)
_TOUCHED_BEFORE = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.COMMA, TokenType.DOT, TokenType.L_BRACKET)
#: Two characters that can be inside of one token, or begin a comment.
_ONE = re.compile(r"[\w`'\"]{2}|[-+*/%<>=!~&|^:?@#$]{2}")


def _touch(before: SqlToken, token: SqlToken) -> bool:
    """Whether there is no blank between two tokens. In a call, the parenthesis touches the name as it did before."""
    if before.kind == TokenType.NUMBER and token.kind == TokenType.DOT:
        # With a dot after it, it would be another number.
        return False
    if before.kind in _TOUCHED_AFTER or token.kind in _TOUCHED_BEFORE:
        return True
    return token.kind == TokenType.L_PAREN and token.start == before.end and before.text.isidentifier()


def _stay_two(before: str, after: str) -> bool:
    """Whether two texts have the same tokens if no blank is between them."""
    return _ONE.fullmatch(before[-1:] + after[:1]) is None
