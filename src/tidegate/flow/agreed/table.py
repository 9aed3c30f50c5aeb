"""The table: which functions, operators and casts of Spark SQL can be written in DuckDB's SQL, for which types.

A signature has the name of a function, the kinds of its arguments and the type of its result. ``T``, ``U``, ``K`` and
``V`` stand for any type, ``A`` for one that is not nested, ``I`` for an integer type, ``F`` for FLOAT or DOUBLE, ``D``
for a DECIMAL and ``W`` for a date or an instant. ``…`` says that the last argument may be repeated. A kind in small
letters has to be a literal, which is read when the expression is translated.

The other side is DuckDB's SQL, as a template or as a function that writes it. In a template ``{0}``, ``{1}`` and so on
are the arguments, each widened to the type in the signature, and ``{all}`` is all of them. ``{fail:…}`` fails with a
message, where Spark fails in ANSI mode. The result is cast to the type in the signature.

A test compares every entry with Spark on random values. Whoever adds a line here adds an expression to that test
(``tests/flow/agreed_expressions.py``).
"""

from __future__ import annotations

from typing import Final

from tidegate.flow.agreed import casts, instants, lists, rules
from tidegate.flow.agreed.rules import Rule, strict

__all__ = ["CASTS", "ENGINE", "FUNCTIONS", "OPERATORS"]

#: Where a substring begins, from 0: as in Spark, a negative position counts from the end, and 0 means 1.
_START = "(CASE WHEN {1} > 0 THEN {1}::BIGINT - 1 WHEN {1} < 0 THEN length({0}) + {1}::BIGINT ELSE 0 END)"
_CUT = f"substring({{0}}, greatest({_START}, 0) + 1, greatest({_START} + {{2}}::BIGINT, 0) - greatest({_START}, 0))"
_SECONDS = "(epoch_us({0}) - ((epoch_us({0}) % 1000000) + 1000000) % 1000000) // 1000000"
_PADDED = strict("CASE WHEN {2} = '' THEN left({0}, greatest({1}, 0)) ELSE pad({0}, {1}, {2}) END", 3)
_CHARACTERS = "regexp_extract_all({0}, '(?s).')"

TEXTS: Final[dict[str, Rule]] = {
    "upper(STRING) STRING": rules.upper,
    "ucase(STRING) STRING": rules.upper,
    "lower(STRING) STRING": rules.lower,
    "lcase(STRING) STRING": rules.lower,
    "length(STRING) INT": "length({0})",
    "char_length(STRING) INT": "length({0})",
    "character_length(STRING) INT": "length({0})",
    "trim(STRING) STRING": "trim({0}, ' ')",
    "btrim(STRING) STRING": "trim({0}, ' ')",
    "ltrim(STRING) STRING": "ltrim({0}, ' ')",
    "rtrim(STRING) STRING": "rtrim({0}, ' ')",
    "concat(STRING…) STRING": rules.concatenated,
    "concat_ws(STRING, STRING…) STRING": "concat_ws({all})",
    "concat_ws(text, ARRAY<STRING>) STRING": "coalesce(array_to_string({1}, {0}), '')",
    "substring(STRING, INT, INT) STRING": strict(f"CASE WHEN {{2}} <= 0 THEN '' ELSE {_CUT} END", 3),
    "substr(STRING, INT, INT) STRING": strict(f"CASE WHEN {{2}} <= 0 THEN '' ELSE {_CUT} END", 3),
    "substring(STRING, INT) STRING": strict(f"substring({{0}}, greatest({_START}, 0) + 1)", 2),
    "substr(STRING, INT) STRING": strict(f"substring({{0}}, greatest({_START}, 0) + 1)", 2),
    "left(STRING, INT) STRING": "left({0}, greatest({1}, 0 * {1}))",
    "right(STRING, INT) STRING": "right({0}, greatest({1}, 0 * {1}))",
    "replace(STRING, STRING, STRING) STRING": "replace({0}, {1}, {2})",
    "reverse(STRING) STRING": f"CASE WHEN {{0}} IS NOT NULL THEN array_to_string(list_reverse({_CHARACTERS}), '') END",
    "repeat(STRING, INT) STRING": "repeat({0}, {1})",
    "space(INT) STRING": "repeat(' ', {0})",
    "lpad(STRING, INT, STRING) STRING": _PADDED.replace("pad", "lpad"),
    "rpad(STRING, INT, STRING) STRING": _PADDED.replace("pad", "rpad"),
    "lpad(STRING, INT) STRING": "lpad({0}, {1}, ' ')",
    "rpad(STRING, INT) STRING": "rpad({0}, {1}, ' ')",
    "instr(STRING, STRING) INT": "CASE WHEN {1} = '' THEN 1 + 0 * length({0}) ELSE instr({0}, {1}) END",
    "locate(STRING, STRING) INT": "CASE WHEN {0} = '' THEN 1 + 0 * length({1}) ELSE instr({1}, {0}) END",
    "startswith(STRING, STRING) BOOLEAN": "starts_with({0}, {1})",
    "endswith(STRING, STRING) BOOLEAN": "ends_with({0}, {1})",
    "contains(STRING, STRING) BOOLEAN": "contains({0}, {1})",
    "split(STRING, text) ARRAY<STRING>": rules.split,
    "split_part(STRING, STRING, INT) STRING": strict(
        "CASE WHEN {2} = 0 THEN {fail:the index of split_part is 0} WHEN {1} = '' THEN "
        "CASE WHEN abs({2}) = 1 THEN {0} ELSE '' END ELSE split_part({0}, {1}, {2}) END",
        3,
    ),
    "ascii(STRING) INT": "ascii({0})",
    "md5(STRING) STRING": "md5({0})",
    "rlike(STRING, text) BOOLEAN": rules.rlike,
    "regexp(STRING, text) BOOLEAN": rules.rlike,
    "regexp_like(STRING, text) BOOLEAN": rules.rlike,
    "regexp_replace(STRING, text, text) STRING": rules.regexp_replace,
    "regexp_extract(STRING, text) STRING": rules.regexp_extract,
    "regexp_extract(STRING, text, number) STRING": rules.regexp_extract,
    "array_join(ARRAY<STRING>, text) STRING": strict("coalesce(array_to_string({0}, {1}), '')", 1),
}

NUMBERS: Final[dict[str, Rule]] = {
    "abs(I) I": "abs({0})",
    "abs(F) F": "abs({0})",
    "abs(D) D": "abs({0})",
    "sign(DOUBLE) DOUBLE": "CASE WHEN isnan({0}) OR {0} = 0 THEN {0} ELSE sign({0}) END",
    "signum(DOUBLE) DOUBLE": "CASE WHEN isnan({0}) OR {0} = 0 THEN {0} ELSE sign({0}) END",
    "floor(BIGINT) BIGINT": "{0}",
    "ceil(BIGINT) BIGINT": "{0}",
    "ceiling(BIGINT) BIGINT": "{0}",
    "floor(F) BIGINT": rules.whole("floor"),
    "ceil(F) BIGINT": rules.whole("ceil"),
    "ceiling(F) BIGINT": rules.whole("ceil"),
    "round(I) I": "{0}",
    "round(F) F": "round({0})",
    "round(exactly DOUBLE, number) DOUBLE": rules.rounded,
    "round(D) round": rules.rounded_decimal,
    "round(D, number) round": rules.rounded_decimal,
    "sqrt(DOUBLE) DOUBLE": "sqrt({0})",
    "exp(DOUBLE) DOUBLE": "exp({0})",
    "ln(DOUBLE) DOUBLE": "CASE WHEN {0} > 0 THEN ln({0}) END",
    "log(DOUBLE) DOUBLE": "CASE WHEN {0} > 0 THEN ln({0}) END",
    "log10(DOUBLE) DOUBLE": "CASE WHEN {0} > 0 THEN log10({0}) END",
    "log2(DOUBLE) DOUBLE": "CASE WHEN {0} > 0 THEN ln({0}) / ln(2.0::DOUBLE) END",
    "pow(DOUBLE, DOUBLE) DOUBLE": rules.power,
    "power(DOUBLE, DOUBLE) DOUBLE": rules.power,
    "sin(DOUBLE) DOUBLE": "sin({0})",
    "cos(DOUBLE) DOUBLE": "cos({0})",
    "tan(DOUBLE) DOUBLE": "tan({0})",
    "atan(DOUBLE) DOUBLE": "atan({0})",
    "atan2(DOUBLE, DOUBLE) DOUBLE": "atan2({0} + 0.0::DOUBLE, {1} + 0.0::DOUBLE)",
    "asin(DOUBLE) DOUBLE": "asin({0})",
    "acos(DOUBLE) DOUBLE": "acos({0})",
    "radians(DOUBLE) DOUBLE": "radians({0})",
    "degrees(DOUBLE) DOUBLE": "degrees({0})",
    "pi() DOUBLE": "pi()",
    "isnan(F) BOOLEAN": "coalesce(isnan({0}), false)",
    "mod(I, I) I": rules.REMAINDER,
    "mod(F, F) F": rules.FRACTION_REMAINDER,
    "pmod(I, I) I": rules.positive_remainder,
    "greatest(A, A…) A": "greatest({all})",
    "least(A, A…) A": "least({all})",
}

CHOICES: Final[dict[str, Rule]] = {
    "coalesce(T…) T": "coalesce({all})",
    "nvl(T, T) T": "coalesce({0}, {1})",
    "ifnull(T, T) T": "coalesce({0}, {1})",
    "nvl2(T, U, U) U": "CASE WHEN {0} IS NOT NULL THEN {1} ELSE {2} END",
    "nullif(A, A) the first": rules.nullif,
    "if(BOOLEAN, T, T) T": "CASE WHEN {0} THEN {1} ELSE {2} END",
    "isnull(T) BOOLEAN": "{0} IS NULL",
    "isnotnull(T) BOOLEAN": "{0} IS NOT NULL",
}

DATES: Final[dict[str, Rule]] = {
    "year(W) INT": "year({0})",
    "quarter(W) INT": "quarter({0})",
    "month(W) INT": "month({0})",
    "day(W) INT": "day({0})",
    "dayofmonth(W) INT": "day({0})",
    "dayofweek(W) INT": "dayofweek({0}) + 1",
    "weekday(W) INT": "isodow({0}) - 1",
    "dayofyear(W) INT": "dayofyear({0})",
    "weekofyear(W) INT": "weekofyear({0})",
    "hour(W) INT": "hour({0})",
    "minute(W) INT": "minute({0})",
    "second(W) INT": "second({0})",
    "date_trunc(text, TIMESTAMP) TIMESTAMP": rules.date_trunc,
    "trunc(DATE, text) DATE": rules.trunc,
    "date_add(DATE, INT) DATE": "{0} + {1}",
    "date_sub(DATE, INT) DATE": "{0} - {1}",
    "datediff(DATE, DATE) INT": "{0} - {1}",
    "date_diff(DATE, DATE) INT": "{0} - {1}",
    "add_months(DATE, INT) DATE": "{0} + to_months({1})",
    "last_day(DATE) DATE": "last_day({0})",
    "make_date(INT, INT, INT) DATE": "make_date({0}, {1}, {2})",
    "unix_date(DATE) INT": "{0} - DATE '1970-01-01'",
    "date_from_unix_date(INT) DATE": "DATE '1970-01-01' + {0}",
    "unix_micros(TIMESTAMP) BIGINT": "epoch_us({0})",
    "unix_millis(TIMESTAMP) BIGINT": "(epoch_us({0}) - ((epoch_us({0}) % 1000) + 1000) % 1000) // 1000",
    "unix_seconds(TIMESTAMP) BIGINT": _SECONDS,
    "unix_timestamp(TIMESTAMP) BIGINT": "epoch_us({0}) // 1000000",
    "timestamp_micros(BIGINT) TIMESTAMP": "make_timestamp({0})",
    "timestamp_millis(BIGINT) TIMESTAMP": "make_timestamp({0} * 1000::BIGINT)",
    "timestamp_seconds(BIGINT) TIMESTAMP": "make_timestamp({0} * 1000000::BIGINT)",
    "from_unixtime(BIGINT) STRING": rules.from_unixtime,
    "from_unixtime(BIGINT, text) STRING": rules.from_unixtime,
    "date_format(TIMESTAMP, text) STRING": rules.date_format,
}

_KNOWN = "len({0}) = list_count({0})"

LISTS: Final[dict[str, Rule]] = {
    "array(T…) ARRAY<T>": "[{all}]",
    "size(ARRAY<T>) INT": "len({0})",
    "array_size(ARRAY<T>) INT": "len({0})",
    "cardinality(ARRAY<T>) INT": "len({0})",
    "size(MAP<K, V>) INT": "cardinality({0})",
    "cardinality(MAP<K, V>) INT": "cardinality({0})",
    "get(ARRAY<T>, INT) T": "CASE WHEN {1} >= 0 THEN list_extract({0}, {1}::BIGINT + 1) END",
    "element_at(ARRAY<T>, INT) T": strict(
        "CASE WHEN {1} = 0 THEN {fail:the index of element_at is 0, but it counts from 1} "
        "WHEN abs({1}::BIGINT) > len({0}) THEN "
        "{fail:element_at is out of bounds} ELSE list_extract({0}, {1}::BIGINT) END",
        2,
    ),
    "element_at(MAP<K, V>, K) V": "list_extract(map_extract({0}, {1}), 1)",
    "map_keys(MAP<K, V>) ARRAY<K>": "map_keys({0})",
    "map_values(MAP<K, V>) ARRAY<V>": "map_values({0})",
    "map_contains_key(MAP<K, V>, K) BOOLEAN": "list_contains(map_keys({0}), {1})",
    "array_contains(ARRAY<A>, A) BOOLEAN": (
        f"CASE WHEN {{1}} IS NULL THEN NULL WHEN list_contains({{0}}, {{1}}) THEN true WHEN {_KNOWN} THEN false END"
    ),
    "array_position(ARRAY<A>, A) BIGINT": (
        "CASE WHEN {0} IS NOT NULL AND {1} IS NOT NULL THEN coalesce(list_position({0}, {1}), 0) END"
    ),
    "array_max(ARRAY<A>) A": "list_max({0})",
    "array_min(ARRAY<A>) A": "list_min({0})",
    "array_distinct(ARRAY<T>) ARRAY<T>": lists.array_distinct,
    "array_sort(ARRAY<T>) ARRAY<T>": lists.sorted_list,
    "sort_array(ARRAY<T>) ARRAY<T>": lists.sorted_list,
    "sort_array(ARRAY<T>, truth) ARRAY<T>": lists.sorted_list,
    "array_repeat(T, INT) ARRAY<T>": "list_transform(range({1}), lambda __λn: {0})",
    "reverse(ARRAY<T>) ARRAY<T>": "list_reverse({0})",
    "concat(ARRAY<T>…) ARRAY<T>": rules.concatenated,
    "flatten(ARRAY<ARRAY<T>>) ARRAY<T>": f"CASE WHEN {_KNOWN} THEN flatten({{0}}) END",
    "slice(ARRAY<T>, INT, INT) ARRAY<T>": lists.slice_,
    "sequence(I, I) ARRAY<I>": (
        "CASE WHEN {0} <= {1} THEN generate_series({0}::BIGINT, {1}::BIGINT, 1) "
        "WHEN {0} > {1} THEN generate_series({0}::BIGINT, {1}::BIGINT, -1) END"
    ),
    "sequence(I, I, I) ARRAY<I>": strict(
        "CASE WHEN {0} = {1} THEN [{0}::BIGINT] WHEN {2} = 0 OR ({0} < {1}) <> ({2} > 0) THEN "
        "{fail:the steps of a sequence lead away from its end} "
        "ELSE generate_series({0}::BIGINT, {1}::BIGINT, {2}::BIGINT) END",
        3,
    ),
    "transform(ARRAY<T>, T -> U) ARRAY<U>": "list_transform({0}, {1})",
    "transform(ARRAY<T>, (T, INT) -> U) ARRAY<U>": "list_transform({0}, {1})",
    "filter(ARRAY<T>, T -> BOOLEAN) ARRAY<T>": "list_filter({0}, {1})",
    "filter(ARRAY<T>, (T, INT) -> BOOLEAN) ARRAY<T>": "list_filter({0}, {1})",
    "exists(ARRAY<T>, T -> BOOLEAN) BOOLEAN": lists.exists,
    "forall(ARRAY<T>, T -> BOOLEAN) BOOLEAN": lists.forall,
    "aggregate(ARRAY<T>, U, (U, T) -> U) U": lists.reduce,
    "reduce(ARRAY<T>, U, (U, T) -> U) U": lists.reduce,
    "aggregate(ARRAY<T>, U, (U, T) -> U, U -> V) V": lists.reduce,
    "reduce(ARRAY<T>, U, (U, T) -> U, U -> V) V": lists.reduce,
    "zip_with(ARRAY<T>, ARRAY<U>, (T, U) -> V) ARRAY<V>": lists.zip_with,
}

#: Functions, by their signatures.
FUNCTIONS: Final[dict[str, Rule]] = {**TEXTS, **NUMBERS, **CHOICES, **DATES, **LISTS}

#: Functions that only the engine uses, in expressions of its own; their values may differ from Spark's.
ENGINE: Final[dict[str, Rule]] = {
    "xxhash64(anything…) BIGINT": rules.hashed,
    "__moving(BIGINT, BIGINT) BIGINT": "{1}",
    "__packed(D, D…) D": rules.packed,
    "__digit(D, D, D, D) BIGINT": "{0}::HUGEINT // {1}::HUGEINT % {2}::HUGEINT + {3}::HUGEINT",
    "chr(INT) STRING": "chr({0})",
    # In DuckDB, every text is valid UTF-8.
    "is_valid_utf8(STRING) BOOLEAN": "CASE WHEN {0} IS NOT NULL THEN true END",
    "timestampdiff(word, TIMESTAMP_NTZ, TIMESTAMP_NTZ) BIGINT": rules.in_micros("epoch_us({2}) - epoch_us({1})"),
    "timestampadd(word, BIGINT, TIMESTAMP_NTZ) TIMESTAMP_NTZ": rules.in_micros("make_timestamp(epoch_us({2}) + {1})"),
}

#: Operators, by the kinds of their sides.
OPERATORS: Final[dict[str, Rule]] = {
    "I + I": "{0} + {1}",
    "I - I": "{0} - {1}",
    "I * I": "{0} * {1}",
    "F + F": "{0} + {1}",
    "F - F": "{0} - {1}",
    "F * F": "{0} * {1}",
    "D + D": "{0} + {1}",
    "D - D": "{0} - {1}",
    "D * D": "{0} * {1}",
    "DOUBLE / DOUBLE": rules.divided("/"),
    "BIGINT DIV BIGINT": rules.divided("//"),
    "I % I": rules.REMAINDER,
    "F % F": rules.FRACTION_REMAINDER,
    "- I": "-{0}",
    "- F": "-{0}",
    "- D": "-{0}",
    "~ I": "~{0}",
    "I & I": "{0} & {1}",
    "I | I": "{0} | {1}",
    "I ^ I": "xor({0}, {1})",
    "STRING || STRING": "{0} || {1}",
    "DATE + INT": "{0} + {1}",
    "DATE - INT": "{0} - {1}",
    "DATE + INTERVAL": "{0} + {1}",
    "DATE - INTERVAL": "{0} - {1}",
    "TIMESTAMP + INTERVAL": "{0} + {1}",
    "TIMESTAMP - INTERVAL": "{0} - {1}",
    "A = A": "{0} = {1}",
    "A != A": "{0} <> {1}",
    "A < A": "{0} < {1}",
    "A <= A": "{0} <= {1}",
    "A > A": "{0} > {1}",
    "A >= A": "{0} >= {1}",
    "A <=> A": "{0} IS NOT DISTINCT FROM {1}",
    "A IS DISTINCT FROM A": "{0} IS DISTINCT FROM {1}",
    "STRUCT = STRUCT": "{0} = {1}",
    "STRUCT != STRUCT": "{0} <> {1}",
    "STRUCT <=> STRUCT": "{0} IS NOT DISTINCT FROM {1}",
    "ARRAY = ARRAY": "{0} = {1}",
    "ARRAY != ARRAY": "{0} <> {1}",
    "ARRAY <=> ARRAY": "{0} IS NOT DISTINCT FROM {1}",
    "ARRAY<T>[INT]": lists.element,
    "MAP<K, V>[K]": "list_extract(map_extract({0}, {1}), 1)",
}

#: Casts, by the kinds that they convert from and to; the first that fits is used.
CASTS: Final[dict[tuple[str, str], Rule]] = {
    ("I", "I"): "{0}",
    ("I", "F"): "{0}",
    ("I", "D"): "{0}",
    ("I", "STRING"): "{0}",
    ("I", "BOOLEAN"): "{0} <> 0",
    ("BOOLEAN", "I"): "{0}",
    ("BOOLEAN", "DOUBLE"): "CASE WHEN {0} THEN 1.0 WHEN NOT {0} THEN 0.0 END",
    ("BOOLEAN", "STRING"): "{0}",
    ("FLOAT", "DOUBLE"): "{0}",
    ("DOUBLE", "FLOAT"): casts.narrowed,
    ("F", "I"): casts.truncated,
    ("F", "BOOLEAN"): "{0} <> 0",
    ("D", "I"): "trunc({0})",
    ("D", "D"): "{0}",
    ("D", "DOUBLE"): casts.exact_double,
    # DuckDB writes .5 without a zero if the type has no digits before the point.
    ("D", "STRING"): r"regexp_replace(CAST({0} AS VARCHAR), '^(-?)\.', '\10.')",
    ("STRING", "I"): casts.integer_of_text,
    ("STRING", "DOUBLE"): casts.double_of_text,
    ("STRING", "BOOLEAN"): casts.truth_of_text,
    ("STRING", "DATE"): casts.date_of_text,
    ("STRING", "TIMESTAMP"): instants.instant_of_text,
    ("STRING", "TIMESTAMP_NTZ"): instants.instant_of_text,
    ("DATE", "STRING"): casts.text_of_date,
    ("DATE", "TIMESTAMP"): "{0}",
    ("DATE", "TIMESTAMP_NTZ"): "{0}",
    ("TIMESTAMP", "DATE"): "{0}",
    ("TIMESTAMP_NTZ", "DATE"): "{0}",
    ("TIMESTAMP", "STRING"): casts.text_of_instant,
    ("TIMESTAMP", "BIGINT"): _SECONDS,
    ("TIMESTAMP", "DOUBLE"): "epoch_us({0}) / 1000000.0::DOUBLE",
    ("TIMESTAMP", "TIMESTAMP_NTZ"): "{0}",
    ("TIMESTAMP_NTZ", "TIMESTAMP"): "{0}",
}
