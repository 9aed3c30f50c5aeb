"""`Sql`: texts are taken apart where they fall apart, and nowhere else."""

from __future__ import annotations

import pytest
from hypothesis import Phase, example, find, given, settings
from hypothesis import strategies as st
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, TokenError

from tidegate.flow import sql as module
from tidegate.flow.parser import TokenType, exp, parse
from tidegate.flow.sql import Sql

#: Texts whose quotes, comments, names or brackets would mislead whoever looks at characters only.
TRICKY = {
    "nested parentheses": "f(a, (b + (c)), g(h(d))) + (e)",
    "brackets": "m[f(a, b)][0] + arr[(c)]",
    "strings": "a = 'it) AND (is' AND b = \"f(x\\\", (\" AND c = 'it\\'s'",
    "names in backquotes": "`a AND (b`.`c``d` + f(`x, y`)",
    "comments": "a /* AND (b, */ + f(c -- , d)\n, e)",
    "unicode": "größe(é, 'Σ AND') + `日本 (語`",
    "numbers with a type": "1L + 2.5BD - f(3Y)",
    "a lambda": "filter(xs, x -> x > 1 AND x < f(y, 2))",
    "lambdas of two": "aggregate(xs, 0, (a, x) -> a + x, a -> a * 2)",
    "a case": "CASE WHEN a AND b THEN f(c) ELSE (d) END",
    "clauses of calls": "sum(DISTINCT x) FILTER (WHERE y AND z) OVER (PARTITION BY k ORDER BY t, u) + 1",
}


#: All words that the parser knows. Most of them can be the name of a column without quotes.
WORDS = sorted(word.lower() for word in Spark.tokenizer_class.KEYWORDS if word.isidentifier())
#: What a text is made of. Some of these are other tokens if nothing is between them.
PIECES = (
    *"+-*/%<>=!~&|^:?@#$.,()[]{}", "->", "=>", "<=", "<>", "::", "||", "1", "1.", "2e3", "1L", "x", "e5", "r", "L", "_",
    "END", "time", "int", "AND", "`q`", "'s'", '"s"',
)  # fmt: skip


def texts(pieces: list[Sql]) -> list[str]:
    return [str(piece) for piece in pieces]


def said(text: str) -> list[tuple[str, TokenType]]:
    return [(token.text, token.kind) for token in Sql.of(text).tokens]


@pytest.mark.parametrize("text", TRICKY.values(), ids=TRICKY)
def test_rendering_keeps_the_tokens(text: str) -> None:
    """Written in one spelling, a text has the tokens that it had, and rendering it again changes nothing."""
    rendered = str(Sql.of(text))
    assert said(rendered) == said(text)
    assert str(Sql.of(rendered)) == rendered


@pytest.mark.parametrize("signs", ["- -", "- - -", "- +", "~ ~", "+ ~ -", "- /* -- */ -"])
def test_signs_after_any_word_stay_signs(signs: str) -> None:
    """Two minuses, with nothing between them, would begin a comment, and the rest of the condition would be lost."""
    conditions = [f"x > {word} {signs}3 AND k = 'p'" for word in WORDS]
    assert len(conditions) > 200
    assert [text for text in conditions if said(str(Sql.of(text))) != said(text)] == []


def changes_when_rendered(text: str) -> bool:
    """Whether a text has other tokens after it was rendered; False if it has none."""
    try:
        tokens = said(text)
    except TokenError:
        return False
    try:
        return said(str(Sql.of(text))) != tokens
    except TokenError:
        return True


PIECED = st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from(["", " ", " ", "\n", "/* c */", " -- c\n"]))).map(
    lambda pieces: "".join(part for piece in pieces for part in piece)
)


@given(PIECED)
@example("x > time - -3")
@example("array(x, - -y, 3)")
@example("- > x")
@example("1 .5")
@example("1. .e5")
def test_rendering_keeps_the_tokens_of_any_text(text: str) -> None:
    """Whatever tokens are beside each other, no two of them become one, or begin a comment."""
    assert not changes_when_rendered(text)


def test_tokens_that_run_together_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mutant that lets a sign touch whatever follows it changes the tokens of a text."""
    monkeypatch.setattr(module, "_stay_two", lambda before, after: True)
    find(PIECED, changes_when_rendered, settings=settings(max_examples=3_000, database=None, phases=[Phase.generate]))


@pytest.mark.parametrize(
    ("text", "new", "replaced"),
    [
        ("a -f(b)", "-1", "a - -1"),
        ("f(a)DIV f(b)", "n", "n DIV n"),
        ("f(a)-f(b)", "n", "n-n"),
        ("f(a)-f(b)", "-n", "-n- -n"),
        ("f(a).b + (f(c))", "n", "n.b + (n)"),
    ],
)
def test_what_replaces_a_call_stays_apart(text: str, new: str, replaced: str) -> None:
    """A blank is added only where a text would be read together with what is beside it."""
    sql = Sql.of(text)
    assert sql.substitute((call.sql, new) for call in sql.calls()) == replaced


@pytest.mark.parametrize("text", TRICKY.values(), ids=TRICKY)
def test_every_bracket_has_the_one_that_closes_it(text: str) -> None:
    """From an opening bracket to its closing one, as many are opened as are closed, and no fewer in between."""
    sql = Sql.of(text)
    opening = [i for i, token in enumerate(sql.tokens) if token.kind in (TokenType.L_PAREN, TokenType.L_BRACKET)]
    for i in opening:
        kinds = [token.kind for token in sql[i : sql.closing(i) + 1].tokens]
        for a, b in ((TokenType.L_PAREN, TokenType.R_PAREN), (TokenType.L_BRACKET, TokenType.R_BRACKET)):
            assert kinds.count(a) == kinds.count(b)
        assert len(sql[i + 1 : sql.closing(i)]) == len(kinds) - 2
    assert len({sql.closing(i) for i in opening}) == len(opening)


def test_what_closes_nothing_leaves_nothing_outside() -> None:
    """Behind a parenthesis that was not open, a text makes no sense, and is not split."""
    assert texts(Sql.of("a), b").split(TokenType.COMMA)) == ["a), b"]
    assert Sql.of("a] + (b").around() == ["", "]", "]", "]", "]("]


@pytest.mark.parametrize(
    ("text", "conjuncts"),
    [
        ("a", ["a"]),
        ("a AND b", ["a", "b"]),
        ("a AND(b AND c)AND d", ["a", "(b AND c)", "d"]),
        ("NOT a AND f(b AND c)", ["NOT a", "f(b AND c)"]),
        ("a = 'x AND y' AND b = \"AND\"", ["a = 'x AND y'", 'b = "AND"']),
        ("`a AND b` AND c", ["`a AND b`", "c"]),
        ("a /* AND x */ AND b -- AND y", ["a", "b"]),
        ("m[a AND b] AND c", ["m[a AND b]", "c"]),
        ("x IN (1, 2) and y LIKE 'a' And z IS NOT NULL", ["x IN (1, 2)", "y LIKE 'a'", "z IS NOT NULL"]),
        ("(CASE WHEN a AND b THEN c END) AND d", ["(CASE WHEN a AND b THEN c END)", "d"]),
        ("exists(xs, x -> x AND y) AND b", ["exists(xs, x -> x AND y)", "b"]),
        ("größe > 1 AND `ä` = 'ö AND ü'", ["größe > 1", "`ä` = 'ö AND ü'"]),
        # These are not split at all.
        ("a BETWEEN 1 AND 2", ["a BETWEEN 1 AND 2"]),
        ("a NOT BETWEEN 1 AND 2 AND b", ["a NOT BETWEEN 1 AND 2 AND b"]),
        ("CASE WHEN a AND b THEN c END = d AND e", ["CASE WHEN a AND b THEN c END = d AND e"]),
        ("a AND b OR c", ["a AND b OR c"]),
        ("a AND b XOR c", ["a AND b XOR c"]),
        ("x -> x AND y", ["x -> x AND y"]),
        ("", []),
    ],
)
def test_a_condition_falls_apart_into_what_has_to_hold(text: str, conjuncts: list[str]) -> None:
    """It is split at each AND that joins conditions, and nowhere if another word may have an AND of its own."""
    assert Sql.of(text).conjuncts() == conjuncts


@pytest.mark.parametrize(
    ("text", "sides"),
    [
        ("a = b", ("a", "b")),
        ("f(a, b = c)=m['=']", ("f(a, b = c)", "m['=']")),
        ("a = '=' ", ("a", "'='")),
        ("a = b = c", None),
        ("a <=> b", None),
        ("(a = b)", None),
        ("a = b AND c", None),
        ("x -> x = 1", None),
        ("CASE WHEN a = b THEN 1 END", None),
    ],
)
def test_an_equation_has_two_sides(text: str, sides: tuple[str, str] | None) -> None:
    """One equals sign outside of brackets, and no word beside it that asks for more."""
    assert Sql.of(text).equated() == sides


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("f(a, g(b), 'x, (')", [("f", ["a", "g(b)", "'x, ('"], []), ("g", ["b"], [])]),
        ("f() + F( )", [("f", [], []), ("f", [], [])]),
        ("f(m[1, 2], (a, b))", [("f", ["m[1, 2]", "(a, b)"], [])]),
        ("a IN (1) AND (b) OR NOT (c) + (d) DIV (e)", []),
        ("page LIKE ANY ('a%', 'b%')", []),
        ("`f` (x) + 'f' || (y) + t.f(z)", []),
        ("CASE WHEN (a) THEN (b) ELSE (c) END", []),
        ("filter(xs, x -> x > 1)", [("filter", ["xs", "x -> x > 1"], [])]),
        ("exists(xs, x -> x)", [("exists", ["xs", "x -> x"], [])]),
        ("EXISTS (SELECT 1 FROM b)", []),
        ("sum(x) FILTER (WHERE y = ')')", [("sum", ["x"], ["FILTER (WHERE y = ')')"])]),
        ("sum(x) OVER (ORDER BY y, z) + 1", [("sum", ["x"], ["OVER (ORDER BY y, z)"])]),
        ("sum(x) over w", [("sum", ["x"], ["over w"])]),
        ("sum(x) `over`", [("sum", ["x"], [])]),
        (
            "first(x) ignore nulls filter (where f(y)) OVER (ORDER BY z)",
            [("first", ["x"], ["ignore nulls", "filter (where f(y))", "OVER (ORDER BY z)"]), ("f", ["y"], [])],
        ),
        (
            "percentile_cont(0.5) WITHIN GROUP (ORDER BY arr[size(filter(arr, x -> x))])",
            [
                ("percentile_cont", ["0.5"], ["WITHIN GROUP (ORDER BY arr[size(filter(arr, x -> x))])"]),
                ("size", ["filter(arr, x -> x)"], []),
                ("filter", ["arr", "x -> x"], []),
            ],
        ),
    ],
)
def test_calls_are_found_with_what_belongs_to_them(text: str, calls: list[tuple[str, list[str], list[str]]]) -> None:
    """A call has arguments and clauses; a keyword, an operator or a quoted name before a parenthesis is no call."""
    assert [(call.name, call.arguments, texts(list(call.clauses))) for call in Sql.of(text).calls()] == calls


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("struct(a, b.c)", ["a", "b.c"]),
        ("STRUCT()", []),
        ("struct(a) + 1", None),
        ("struct(a).b", None),
        ("(struct(a))", None),
        ("other(a)", None),
        ("struct(a) FILTER (WHERE b)", None),
        ("'struct(a)'", None),
        ("struct", None),
        ("", None),
    ],
)
def test_a_text_that_is_one_call_has_its_arguments(text: str, arguments: list[str] | None) -> None:
    """The arguments are those of a call that is all of the text."""
    assert Sql.of(text).arguments("struct") == arguments


@pytest.mark.parametrize(
    ("text", "old", "replaced"),
    [
        ("x + x.y + f(x) + x(1) + y.x + 'x'", "x", "NEW + x.y + f(NEW) + x(1) + y.x + 'x'"),
        ("`x y` = 1 /* `x y` */", "`x y`", "NEW = 1"),
        ("f(a, 'b')  +  f(a, b)", "f(a, 'b')", "NEW  +  f(a, b)"),
        ("left.k = right.k", "left.k", "NEW = right.k"),
        ("f(x)[0] + f(x).a + f(x)", "f(x)", "f(x)[0] + f(x).a + NEW"),
        ("x + 1 < 2", "x + 1", "x + 1 < 2"),
        ("exists(xs, x -> x > 1) AND x", "x", "exists(xs, x -> x > 1) AND x"),
        ("1 + 1L", "1", "1 + 1L"),
        ("größe > Größe", "größe", "NEW > Größe"),
    ],
)
def test_a_name_or_a_call_is_replaced(text: str, old: str, replaced: str) -> None:
    """Wherever it stands as a whole, and nothing else: no string, no part of a longer name, nothing beside a lambda."""
    assert Sql.of(text).replace(old, "NEW") == replaced


def test_a_piece_keeps_its_place() -> None:
    """Pieces point into the text that they were cut from, also when they are parsed alone."""
    text = "f(a), 'ü, ('  AS b,   c[0, 1]"
    pieces = Sql.of(text).split(TokenType.COMMA)
    assert texts(pieces) == ["f(a)", "'ü, (' AS b", "c[0, 1]"]
    for piece in pieces:
        start, end = piece.span
        assert piece.alone == " " * start + text[start:end]
        assert Sql.of(piece.alone).tokens == piece.tokens


# Drawn expressions: what was split says the same as before.

ATOMS = st.sampled_from(
    ["a", "t.b", "`c AND (d`", "1L", "-2", "'x AND y'", "'it) (s'", '"AND"', "é", "arr[a]", "NULL", "TRUE /* AND b */"]
)


def wider(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Draw what is made of smaller expressions, as far as it parses whatever they are."""
    two = st.tuples(inner, inner)
    three = st.tuples(inner, inner, inner)
    return st.one_of(
        inner.map("({})".format),
        inner.map("NOT ({})".format),
        two.map(lambda x: "({}) = ({})".format(*x)),
        two.map(lambda x: "{} AND {}".format(*x)),
        two.map(lambda x: "{} and {}".format(*x)),
        two.map(lambda x: "({}) OR {}".format(*x)),
        two.map(lambda x: "f({}, {})".format(*x)),
        two.map(lambda x: "exists(xs, x -> x = ({}) AND {})".format(*x)),
        two.map(lambda x: "max({}) FILTER (WHERE {})".format(*x)),
        three.map(lambda x: "({}) BETWEEN ({}) AND ({})".format(*x)),
        three.map(lambda x: "CASE WHEN {} AND {} THEN {} END".format(*x)),
        three.map(lambda x: "({}) IN ({}, {}) -- AND\n".format(*x)),
    )


EXPRESSIONS = st.recursive(ATOMS, wider, max_leaves=12)


def joined_means_the_same(text: str) -> bool:
    """Whether the conjuncts of a condition are conditions, and joined by AND are the condition."""
    conjuncts = Sql.of(text).conjuncts()
    try:
        trees = [parse(conjunct) for conjunct in conjuncts]
    except ParseError:
        return False
    whole = parse(text)
    parts = list(whole.flatten(unnest=False)) if isinstance(whole, exp.And) and len(trees) > 1 else [whole]
    return trees == parts and parse(" AND ".join(conjuncts)) == whole


@given(EXPRESSIONS)
def test_what_was_split_says_the_same_when_it_is_joined(text: str) -> None:
    """Conjuncts, joined by AND, and arguments, joined by commas, have the meaning and the tokens that were split."""
    assert joined_means_the_same(text)
    sql = Sql.of(text)
    for call in sql.calls():
        again = Sql.of(f"{call.function.text}({', '.join(call.arguments)})")
        end = len(call.sql) - sum(map(len, call.clauses))
        assert [t.text for t in again.tokens] == [t.text for t in call.sql[:end].tokens]
    kept = [t for t, around in zip(sql.tokens, sql.around(), strict=True) if around or t.kind != TokenType.AND]
    assert [t for piece in sql.split(TokenType.AND) for t in piece.tokens] == kept


def find_a_changed_meaning() -> None:
    """Raise unless a condition is drawn that does not mean the same after it was split; any will do, not the least."""
    once = settings(max_examples=3_000, database=None, phases=[Phase.generate])
    # Two words that clash are close together.
    find(wider(wider(ATOMS)), lambda text: not joined_means_the_same(text), settings=once)


@pytest.mark.parametrize("kind", [TokenType.BETWEEN, TokenType.CASE, TokenType.OR])
def test_a_condition_split_where_it_does_not_fall_apart_is_found(
    kind: TokenType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mutant that does not mind one of these words, and so splits at the AND of a BETWEEN, changes a meaning."""
    monkeypatch.setattr(module, "_WHOLE", tuple(k for k in module._WHOLE if k != kind))
    find_a_changed_meaning()


def test_a_condition_split_inside_of_brackets_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mutant that does not see brackets changes a meaning."""
    monkeypatch.setattr(module, "_OPENING", (TokenType.L_BRACKET,))
    find_a_changed_meaning()
