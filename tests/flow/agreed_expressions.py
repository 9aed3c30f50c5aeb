"""Expressions that hold every entry of the table of what agrees against Spark, and rows to compute them on."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

from hypothesis import strategies as st

from tidegate.flow.agreed.compile import PREFIX, Compiler
from tidegate.flow.agreed.parsing import parse_plain
from tidegate.flow.agreed.values import Value
from tidegate.flow.schema import parse_schema

__all__ = ["EXPRESSIONS", "KNOWN", "LAST_DIGITS", "SCHEMA", "TYPES", "rows", "translated"]

SCHEMA = parse_schema(
    "i INT, j INT, n INT, b BIGINT, c BIGINT, ti TINYINT, tj TINYINT, si SMALLINT, d DOUBLE, e DOUBLE, "
    "f FLOAT, g FLOAT, s STRING, u STRING, w STRING, num STRING, day STRING, bo BOOLEAN, bp BOOLEAN, "
    "ts TIMESTAMP, tt TIMESTAMP, dt DATE, du DATE, dec DECIMAL(10,2), de DECIMAL(5,3), arr ARRAY<INT>, "
    "ax ARRAY<INT>, ad ARRAY<DOUBLE>, sa ARRAY<STRING>, aa ARRAY<ARRAY<INT>>, st STRUCT<a: INT, b: STRING>, "
    "su STRUCT<a: INT, b: STRING>, ast ARRAY<STRUCT<a: INT, b: STRING>>, m MAP<STRING, INT>"
)
TYPES = {column.name: column.type for column in SCHEMA.columns}

#: Functions whose last digits may differ: they are computed by other libraries.
LAST_DIGITS = (
    "exp",
    "ln",
    "log",
    "log10",
    "log2",
    "pow",
    "power",
    "sin",
    "cos",
    "tan",
    "atan",
    "atan2",
    "asin",
    "acos",
)
LAST_DIGITS += ("radians", "degrees", "sqrt")

_TEXTS = """
upper(s) ; ucase(u) ; lower(s) ; lcase(u) ; length(s) ; char_length(s) ; character_length(u) ; trim(s) ; btrim(s)
ltrim(s) ; rtrim(s) ; concat(s, u) ; concat(s, 'x', u) ; concat_ws('-', s, u) ; concat_ws(u, s, s)
concat_ws(',', sa) ; substring(s, n, i) ; substring(s, n, 2) ; substring(s, 2, 3) ; substring(s, 0, 2)
substring(s, -2, 1) ; substr(s, n, n) ; substring(s, n) ; substr(u, -2) ; substring(s, i, j) ; left(s, n)
right(s, n) ; left(s, -1) ; left(s, i) ; right(s, j) ; replace(s, u, w) ; replace(s, 'a', 'bb') ; replace(s, '', 'x')
reverse(s) ; repeat(s, n) ; space(n) ; lpad(s, n, u) ; rpad(s, n, u) ; lpad(s, 4) ; rpad(s, 4) ; lpad(s, 5, 'ab')
instr(s, u) ; instr(s, 'a') ; locate(u, s) ; locate('', s) ; startswith(s, u) ; endswith(s, u) ; contains(s, u)
contains(s, '') ; split(s, ',') ; split(s, 'a') ; split(s, '[ab]+') ; split(s, '\\\\s') ; split_part(s, ',', n)
split(s, '\\\\s+') ; split(s, ' ') ; split(s, 'ab') ; split(s, '[ ,]') ; split(s, 'a+') ; split(s, '[a]')
split_part(s, u, 1) ; split_part(s, u, n) ; ascii(s) ; md5(s) ; s RLIKE '^a' ; s RLIKE 'a$' ; s RLIKE '\\\\s'
s RLIKE 'a.b' ; s RLIKE '.' ; s RLIKE '^.*$' ; s RLIKE '[^a-z]$' ; rlike(s, 'a|b') ; regexp(s, '(a|b)c')
regexp_like(s, '\\\\d+') ; s RLIKE '\\\\S\\\\W' ; s RLIKE '^\\\\s*$' ; s RLIKE 'a{2,3}?b' ; s NOT RLIKE 'a'
s RLIKE '^[a-zA-Z0-9._]+@[a-z]+\\\\.[a-z]{2,}$' ; regexp_replace(s, '(a)', '[$1]') ; regexp_replace(s, '[a-z]+', '_')
regexp_replace(s, '\\\\s+', ' ') ; regexp_replace(s, 'a$', '-') ; regexp_replace(s, '.', '$0$0')
regexp_replace(s, '(.)(b)', '$2$1') ; regexp_replace(s, 'b', '\\\\$x') ; regexp_replace(s, '[^a-zA-Z]', '')
regexp_replace(s, '.$', '!') ; regexp_extract(s, '(a)(b)?') ; regexp_extract(s, '([a-z]+)(.)', 2)
regexp_extract(s, 'a.', 0) ; regexp_replace(s, '\\\\s+$', '-') ; s RLIKE 'a\\\\s$' ; s RLIKE '[^b]$'
regexp_extract(s, '([^,]*)$', 1) ; regexp_replace(s, '[^,]b$', '-') ; '\\ud83d\\ude00' ; regexp_extract(s, '(.)$', 1)
regexp_extract(s, '.$', 0) ; array_join(sa, '-')
s LIKE 'a%' ; s LIKE '_' ; s LIKE '%b_' ; s LIKE 'a!%' ESCAPE '!' ; s LIKE '\\\\%%' ; s NOT LIKE '%a' ; s LIKE ''
s || u ; s || 'x' || u ; s = u ; s < u ; s >= w ; s IN ('a', 'ab', '') ; s BETWEEN 'a' AND 'z' ; s <=> u ; 'it''s'
'a\\'b' ; "q" ; 'a\\nb' ; r'a\\d' ; 'a' 'b' ; '\\\\d' ; '\\u0041\\101' ; '\\d' ; "a''b" ; 'a""b'
"""
_NUMBERS = """
i + j ; i - j ; i * j ; b + c ; b - c ; b * c ; ti + tj ; ti * tj ; ti - tj ; si + ti ; i + b ; i + 1 ; b * 2L ; -i
-b ; -ti ; -d ; -f ; -dec ; d + e ; d - e ; d * e ; f + g ; f * g ; f - g ; d + f ; i + d ; b * d ; f + i ; d * 1.5
d + 2 ; i / j ; i / n ; b / c ; d / e ; f / g ; d / 2 ; i / 2 ; d / n ; dec / d ; i DIV j ; i DIV n ; b DIV c
b DIV n ; ti DIV n ; i % j ; i % n ; b % c ; b % n ; ti % tj ; d % e ; d % 2 ; f % g ; mod(i, n) ; mod(d, e)
mod(b, n) ; pmod(i, n) ; pmod(b, c) ; pmod(b, 7L) ; pmod(ti, tj) ; dec + de ; dec - de ; dec * de ; dec + i ; dec * 2
dec + 1 ; dec - 0.5 ; CAST(5 AS BIGINT) + dec ; 5L * dec ; -5 + de ; bigint(5) - de ; +5 + dec ; floor(1e19) ; i * 1.5
i + 0.25 ; 1.50 ; 0.05 ; 1e3 ; 3000000000 ; 7L ; 1.5D ; -1 ; -2147483648 ; dec * d
b + dec ; ~i ; ~b ; ~ti ; i & j ; b & c ; i & 255 ; i | j ; b | c ; i ^ j ; b ^ c ; ti ^ tj ; b & i ; i + j & 7
i & 1 = 1 ; s || 'x' = 'ax'
abs(i) ; abs(b) ; abs(ti) ; abs(d) ; abs(f) ; abs(dec) ; sign(d) ; sign(i) ; signum(e) ; floor(d) ; ceil(d)
ceiling(e) ; floor(f) ; ceil(f) ; ceiling(f) ; floor(i) ; ceil(b) ; ceiling(ti) ; round(d) ; round(f) ; round(i)
round(b) ; round(d, 1) ; round(d, 2) ; round(e, 5) ; round(d, 0) ; round(dec) ; round(dec, 1) ; round(de, 2)
round(dec, 5) ; sqrt(d) ; sqrt(i) ; exp(d) ; exp(n) ; ln(d) ; ln(n) ; log(e) ; log10(d) ; log2(d) ; log2(n)
pow(d, n) ; pow(d, e) ; power(n, 2) ; power(e, 0.5) ; sin(d) ; cos(d) ; tan(n) ; atan(d) ; atan2(d, e) ; asin(d)
sqrt(d * d + e * e) ; sqrt(abs(d)) ; sqrt(d * e) ; sqrt((d - e) * (d - e)) ; sqrt(i * i)
sqrt(d * d - e * e) ; sqrt(f * f)
cos(radians(-95 + i * 190 / 761)) ; sin(radians(d)) ; cos(i * d) ; sin(b + c) ; tan(si) ; cos(d - d) ; sin(i / 3)
transform(ad, (x, k) -> cos(radians(k * 2.5D)) * x) ; transform(ad, x -> sin(x))
cos(abs(d)) ; cos(sqrt(d)) ; sin(cos(d))
acos(d) ; asin(n / 12) ; radians(d) ; degrees(d) ; pi() ; isnan(d) ; isnan(f) ; greatest(i, j) ; greatest(d, e)
greatest(i, b, ti) ; greatest(s, u, w) ; greatest(dt, du) ; least(i, j) ; least(d, e) ; least(f, g) ; least(i, 3)
least(s, u) ; least(ts, tt) ; greatest(NULL, i) ; least(dec, de) ; greatest(bo, bp) ; i = j ; i != j ; i < j ; i <= b
i > n ; i >= j ; d = e ; d < e ; d >= e ; d != e ; f = g ; f < d ; i = d ; b < d ; b = f ; dec = de ; dec < i
dec > d ; ti = b ; i <=> j ; d <=> e ; i <=> NULL ; i IS DISTINCT FROM j ; bo = bp ; bo < bp ; i IN (1, 7, -1)
i IN (1, NULL) ; b IN (1, 2L) ; d IN (0.0, 1.5) ; i NOT IN (0, n) ; i BETWEEN -5 AND 5 ; d BETWEEN 0 AND 1e10
i NOT BETWEEN n AND j
"""
# In one query, Spark computes sides of an AND that were exchanged only once: they are not both here.
_CHOICES = """
coalesce(i, j) ; coalesce(i, b, 0) ; coalesce(s, 'none') ; coalesce(d, 0) ; coalesce(arr, ax) ; coalesce(st, su)
coalesce(NULL, i) ; nvl(i, 0) ; nvl(d, i) ; ifnull(s, u) ; nvl2(i, s, u) ; nvl2(s, 1, 2) ; nullif(i, j) ; nullif(i, 7)
nullif(b, 0) ; nullif(s, '') ; nullif(d, e) ; nullif(b, d) ; nullif(b, dec) ; nullif(dt, ts) ; if(bo, i, j)
if(bo, i, 0) ; if(bo, NULL, s) ; if(i > 0, d, 0)
isnull(i) ; isnotnull(s) ; isnull(st) ; bo AND bp ; bo OR bp ; NOT bo ; bo AND NULL ; bo OR NULL ; !bo
bo AND i / n > 1 ; j / n > 1 AND bo ; bo OR i / n > 1 ; n != 0 AND i % n = 1 ; n = 0 OR i DIV n = 1 OR bp
n != 0 AND i / n > 0 AND arr[n] > 0 ; i / n > 1 AND j / n > 1 AND bo ; i / n > 1 OR (b / n > 1 AND bo)
(i / n > 1 OR bo) AND (bp OR j / n > 2) ; i IN (j, i / n, n) ; i BETWEEN j AND i / n ; coalesce(i, j / n, b / n)
CASE i / n WHEN 1 THEN j / n ELSE 2 END ; bo AND (bp OR 1 / n > 0) ; bo IS TRUE ; bo IS NOT FALSE ; i IS NULL
s IS NOT NULL ; CASE WHEN bo THEN i WHEN bp THEN j END ; CASE n WHEN 1 THEN 'one' WHEN 2 THEN 'two' ELSE s END
CASE WHEN n = 0 THEN 0 ELSE i / n END ; CASE WHEN bo THEN 1 ELSE 2L END ; CASE WHEN bo THEN 'x' END
CASE WHEN i IS NULL THEN dt ELSE du END ; NULL IS NULL ; TRUE ; CAST(NULL AS INT) ; st.a ; st.b ; st = su ; st <=> su
st != su ; struct(i, s) ; struct(i AS x, st.b AS y) ; named_struct('x', i, 'y', s) ; struct(st, i).st.a
struct(i, j + 1) ; named_struct('k', arr)
"""
_CASTS = """
CAST(b AS INT) ; CAST(i AS TINYINT) ; CAST(i AS SMALLINT) ; CAST(i AS BIGINT) ; CAST(ti AS INT) ; CAST(i AS DOUBLE)
CAST(b AS DOUBLE) ; CAST(b AS FLOAT) ; CAST(i AS FLOAT) ; CAST(i AS DECIMAL(12,2)) ; CAST(b AS DECIMAL(10,0))
CAST(i AS STRING) ; CAST(b AS STRING) ; CAST(i AS BOOLEAN) ; CAST(bo AS INT) ; CAST(bo AS BIGINT) ; CAST(bo AS DOUBLE)
CAST(bo AS STRING) ; CAST(f AS DOUBLE) ; CAST(d AS FLOAT) ; CAST(d AS INT) ; CAST(d AS BIGINT) ; CAST(d AS TINYINT)
CAST(f AS INT) ; CAST(f AS BIGINT) ; CAST(d AS BOOLEAN) ; CAST(f AS BOOLEAN) ; CAST(dec AS INT) ; CAST(dec AS TINYINT)
CAST(dec AS BIGINT) ; CAST(dec AS DECIMAL(10,1)) ; CAST(dec AS DECIMAL(4,2)) ; CAST(de AS DECIMAL(12,4))
CAST(dec AS DOUBLE) ; CAST(dec AS STRING) ; CAST(de AS STRING) ; CAST(num AS INT) ; CAST(num AS BIGINT)
CAST(num AS TINYINT) ; CAST(num AS DOUBLE) ; CAST(num AS BOOLEAN) ; CAST(s AS INT) ; CAST(s AS DOUBLE)
CAST(s AS BOOLEAN) ; CAST(day AS DATE) ; CAST(s AS DATE) ; CAST('2026-03-01 12:00' AS TIMESTAMP) ; CAST(dt AS STRING)
CAST(dt AS TIMESTAMP) ; CAST(ts AS DATE) ; CAST(ts AS STRING) ; CAST(ts AS BIGINT) ; CAST(ts AS DOUBLE)
try_cast(num AS INT) ; try_cast(s AS DOUBLE) ; try_cast(day AS DATE) ; try_cast(b AS INT) ; try_cast(d AS BIGINT)
int(num) ; string(i) ; double(num) ; bigint(d) ; smallint(i) ; tinyint(i) ; float(d) ; boolean(num) ; date(ts)
to_date(day) ; to_date(ts) ; i::BIGINT ; CAST(ts AS TIMESTAMP_NTZ) ; CAST(CAST(ts AS TIMESTAMP_NTZ) AS DATE)
CAST(dt AS TIMESTAMP_NTZ) ; CAST(CAST(ts AS TIMESTAMP_NTZ) AS TIMESTAMP) ; TIMESTAMP_NTZ'2026-01-01 00:00:00'
TIMESTAMP'2026-01-01 12:30:00.125Z' ; TIMESTAMP'2026-01-01 00:00:00' ; TIMESTAMP'2026-01-01T10:00:00+02:00'
DATE'2026-02-28' ; timestamp(dt) ; CAST('2020' AS TIMESTAMP) ; TIMESTAMP'2020-03'
try_cast('2020-01-01 24:00:00' AS TIMESTAMP)
CAST('2020-01-01 10:00:60' AS TIMESTAMP) ; CAST('2020-01-01 10:00:00+25:00' AS TIMESTAMP_NTZ)
CAST('2020-01-01 10:00:00+02:00' AS TIMESTAMP_NTZ) ; CAST('2020-01-01 10:00:00 UTC' AS TIMESTAMP)
CAST('+2020-01-01' AS DATE) ; to_timestamp('2026-01-01 1:2:3.4') ; DATE'2026' ; DATE'2026-03'
"""
_DATES = """
year(ts) ; year(dt) ; quarter(dt) ; month(ts) ; month(dt) ; day(dt) ; dayofmonth(ts) ; dayofweek(dt) ; weekday(dt)
dayofyear(dt) ; weekofyear(dt) ; hour(ts) ; hour(dt) ; minute(ts) ; second(ts) ; date_trunc('year', ts)
date_trunc('quarter', ts) ; date_trunc('month', ts) ; date_trunc('week', ts) ; date_trunc('DAY', ts)
date_trunc('hour', ts) ; date_trunc('minute', ts) ; date_trunc('second', ts) ; date_trunc('millisecond', ts)
date_trunc('month', dt) ; trunc(dt, 'year') ; trunc(dt, 'MM') ; trunc(dt, 'week') ; trunc(dt, 'quarter')
date_add(dt, n) ; date_sub(dt, n) ; dt + n ; dt - n ; dt + 1 ; datediff(dt, du) ; date_diff(du, dt)
add_months(dt, n) ; last_day(dt) ; make_date(2000 + n, n, j) ; make_date(2024, 2, 29) ; make_date(i, n, n)
unix_date(dt) ; date_from_unix_date(si) ; unix_micros(ts) ; unix_millis(ts) ; unix_seconds(ts) ; unix_timestamp(ts)
timestamp_micros(i) ; timestamp_millis(i) ; timestamp_seconds(i) ; from_unixtime(i) ; from_unixtime(si, 'yyyy-MM-dd')
date_format(ts, 'yyyy-MM-dd HH:mm:ss') ; date_format(ts, 'yyyy') ; date_format(ts, "yyyy-MM-dd'T'HH:mm:ss.SSS")
date_format(ts, 'EEE, d MMM yy') ; date_format(dt, 'MMMM/EEEE') ; date_format(ts, 'h:m:s a') ; ts + INTERVAL 1 HOUR
ts - INTERVAL 30 MINUTES ; ts + INTERVAL 1 DAY ; ts - INTERVAL '2' SECOND ; ts + INTERVAL 1 MONTH
ts - INTERVAL 1 YEAR ; dt + INTERVAL 1 DAY ; dt - INTERVAL 2 MONTHS ; dt + INTERVAL 1 YEAR ; dt + INTERVAL 1 WEEK
ts < tt ; ts = tt ; dt < du ; dt <= ts ; ts > TIMESTAMP'2026-01-01 00:00:00' ; dt = '2026-01-01' ; ts >= '2026-01-01'
dt BETWEEN DATE'2000-01-01' AND du ; ts IN (tt, TIMESTAMP'1970-01-01 00:00:00')
"""
_LISTS = """
arr = ax ; arr != ax ; arr <=> ax ; ad = ad ; ad <=> reverse(ad) ; aa = array(arr, ax) ; sa <=> sa
if(bo, array(), arr) ; coalesce(sa, array()) ; arrays_zip(arr, sa) ; arrays_zip(reverse(arr), ad, ast)
transform(arrays_zip(slice(arr, 1, 2), sa), z -> z.`0`)
array(i, j) ; array(i, b) ; array(s, NULL) ; array(st, su) ; size(arr) ; array_size(arr) ; cardinality(sa) ; size(m)
cardinality(m) ; arr[0] ; arr[n] ; sa[1] ; ast[0] ; aa[0][0] ; ast[n].a ; get(arr, n) ; get(sa, 0)
element_at(arr, n) ; element_at(arr, 1) ; element_at(arr, -1) ; m['k'] ; m[s] ; element_at(m, 'k') ; element_at(m, s)
map_keys(m) ; map_values(m) ; map_contains_key(m, 'k') ; map_contains_key(m, s) ; array_contains(arr, i)
array_contains(arr, 1) ; array_contains(ad, d) ; array_contains(sa, s) ; array_contains(arr, 1L)
array_position(arr, 1) ; array_position(arr, n) ; array_position(ad, d) ; array_max(arr) ; array_min(arr)
array_max(ad) ; array_min(ad) ; array_max(sa) ; array_distinct(arr) ; array_distinct(ad) ; array_distinct(sa)
array_distinct(ast) ; array_sort(arr) ; array_sort(ad) ; array_sort(sa) ; array_sort(ast) ; array_sort(aa)
sort_array(arr) ; sort_array(sa) ; sort_array(ad, false) ; sort_array(ast) ; sort_array(ast, false)
sort_array(arr, true) ; array_repeat(i, n) ; array_repeat(s, 2) ; reverse(arr) ; reverse(ast) ; concat(arr, ax)
concat(sa, sa, array('x')) ; flatten(aa) ; flatten(array(arr, ax)) ; slice(arr, n, 2) ; slice(arr, 1, n)
slice(arr, -2, 2) ; slice(arr, 2, 1) ; slice(arr, n, n) ; sequence(1, n) ; sequence(n, 3) ; sequence(0, 12, 5)
sequence(n, 10, 3) ; sequence(10, n, -4) ; sequence(1L, 3L) ; transform(arr, x -> x + 1) ; transform(arr, (x, k) -> k)
transform(sa, x -> upper(x)) ; transform(arr, x -> i + x) ; transform(aa, x -> transform(x, y -> y + 1))
transform(ast, x -> x.a) ; transform(arr, x -> x / n) ; transform(arr, x -> struct(x AS v, i AS w))
filter(arr, x -> x > 1) ; filter(arr, (x, k) -> k > 0) ; filter(sa, x -> x IS NOT NULL) ; filter(ast, x -> x.a = n)
exists(arr, x -> x > 1) ; exists(sa, x -> x = s) ; forall(arr, x -> x > 0) ; forall(sa, x -> x IS NOT NULL)
exists(arr, x -> i / x > 1)
forall(arr, x -> n / x < 1) ; exists(aa, x -> forall(x, y -> n / y > 0))
aggregate(arr, 0L, (a, x) -> a + x) ; reduce(arr, 0, (a, x) -> a + x) ; reduce(ad, CAST(0 AS DOUBLE), (a, x) -> a + x)
aggregate(arr, 0L, (a, x) -> a + x, a -> a * 2) ; reduce(arr, '', (a, x) -> concat(a, '-'))
reduce(arr, 0L, (a, x) -> a + coalesce(x, 0), a -> a > 5) ; reduce(ast, 0L, (a, x) -> a + coalesce(x.a, i, 0))
zip_with(arr, ax, (x, y) -> x + y) ; zip_with(arr, sa, (x, y) -> concat(string(x), y))
transform(filter(arr, x -> x > 0), x -> x * 2) ; upper(concat(lower(s), substring(u, n, 2))) ; size(split(s, ','))
aggregate(sequence(1, 5), 0L, (a, x) -> a + x) ; array_max(transform(arr, x -> abs(x)))
zip_with(ad, ad, (x, y) -> x - y) ; zip_with(aa, aa, (x, y) -> zip_with(x, y, (p, q) -> p + q + size(x)))
reduce(zip_with(ad, ad, (x, y) -> abs(x - y)), CAST(0 AS DOUBLE), (a, x) -> a + x)
reduce(ad, CAST(0 AS DOUBLE), (a, x) -> x + a) ; reduce(ad, CAST(1 AS DOUBLE), (a, x) -> a + x)
reduce(aa, 0L, (a, x) -> a + reduce(x, 0L, (p, q) -> p + q + size(x)))
reduce(aa, 0, (a, x) -> a + reduce(x, 0, (p, q) -> p + q + a)) ; reduce(ad, CAST(0 AS DOUBLE), (a, x) -> a * 2 + x)
transform(array(concat(s, u)), v -> concat(v, '-', v))[0] ; transform(array(arr), v -> v[n])[0]
transform(array(arr), v -> transform(array(size(v)), k -> k + size(v))[0])[0] ; slice(arr, 1, 0)
slice(arr, 2, n) ; slice(sa, size(sa), n) ; slice(ast, n + 1, 2) ; transform(arr, (x, k) -> sa[k])
transform(arr, (x, k) -> sa[k + 1]) ; transform(arr, (x, k) -> sa[k - 1]) ; filter(arr, x -> sa[x] <> s)
sort_array(transform(arr, (x, k) -> struct(x AS a, sa[k] AS b)))
sort_array(transform(arr, x -> struct(x % 2 AS a, x AS b)))
sort_array(filter(transform(arr, x -> struct(x % 2 AS a, arr AS b)), x -> x.a = 0), false)
array_sort(slice(transform(ad, x -> named_struct('a', x, 'b', n)), 1, 2)) ; sort_array(filter(ast, x -> x.a > 0))
sort_array(transform(aa, x -> transform(array(x), y -> struct(size(y) AS a))[0]))
transform(array(slice(split(s, 'a'), 1, 2)), v -> transform(v, (x, k) -> concat(v[k], v[0])))[0]
if(bo, transform(array(i / n), v -> v + v)[0], 0) ; coalesce(d, transform(array(e / n), v -> v * v)[0])
bo AND transform(array(i / n), v -> v * v)[0] > 1 ; CASE WHEN bp THEN transform(array(1 / n), v -> v + v)[0] END
transform(arr, x -> transform(array(x / n), v -> v * v)[0]) ; transform(array(i / n), v -> 1)[0]
dec + transform(array(i), v -> 5)[0] ; transform(array(concat(s, u)), v -> concat(v, '__λ1', v))[0]
transform(array(i / n), v -> transform(array(d + e), w -> w * w)[0])[0]
transform(array(i DIV n), v -> if(bo, v, 1))[0]
transform(array(transform(array(concat(s, u)), v -> concat(v, v))[0]), w -> concat(w, w, s))[0]
concat(transform(array(concat(s, u)), v -> concat(v, v))[0], transform(array(concat(u, s)), v -> concat(v, v))[0])
"""

EXPRESSIONS = [
    text.strip()
    for part in (_TEXTS, _NUMBERS, _CHOICES, _CASTS, _DATES, _LISTS)
    for text in " ; ".join(part.strip().splitlines()).split(" ; ")
    if text.strip()
]

_I, _B = 2**31, 2**63
_INTS = st.sampled_from([0, 1, -1, 2, 7, 31, -_I, _I - 1]) | st.integers(-_I, _I - 1)
_SMALL = st.integers(-12, 12)
_LONGS = st.sampled_from([0, 1, -1, 10, -_B, _B - 1, 2**53 + 1]) | st.integers(-_B, _B - 1)
_NAN, _INF = float("nan"), float("inf")
_DOUBLES = st.sampled_from(
    [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        2.5,
        -2.5,
        1.005,
        2.675,
        1000000000000000.0,
        4503599627370495.5,
        2.0**63,
        -(2.0**63),
        1e300,
        -1e300,
        5e-324,
        0.1,
        _NAN,
        _INF,
        -_INF,
        2147483647.9,
        -2147483648.9,
        1e-07,
        123456.789,
    ]
)
_DOUBLES |= st.floats()
_FLOATS = st.sampled_from([0.0, -0.0, 0.5, -2.5, 3.4028234663852886e38, _NAN, _INF]) | st.floats(width=32)
_LETTERS = "ab, \n\r\tßée\u0301İσςǆŉ😀%_\\\x0b\u0085\u2028'.A1Z-c"
_STRINGS = st.sampled_from(
    [
        "",
        "a",
        "ab",
        "a\n",
        "a\r\n",
        "a,b,,c",
        "ß",
        "e\u0301",
        "😀",
        "a b",
        "\ta\x0bb",
        "AbC",
        "b\u2028",
        "k",
        "a%",
        "x@y.zz",
    ]
) | st.text(_LETTERS, max_size=8)
_NUMERIC = st.sampled_from(
    [
        "1",
        " 12 ",
        "+7",
        "-0",
        "1.5",
        "1e3",
        ".5",
        "5.",
        "abc",
        "",
        "128",
        "99999999999999999999",
        "NaN",
        "Infinity",
        "-inf",
        "1d",
        "2F",
        "true",
        "F",
        "no",
        "yes ",
        "\t3\n",
        "1_000",
        "0x1F",
        "1e400",
        "--1",
        "٣",
        "t",
        "1 2",
        "-2147483648",
    ]
) | st.integers(-300, 300).map(str)
_DAYS = st.sampled_from(
    [
        "2026-01-01",
        "2026-1-2",
        "2026",
        "2026-03",
        "2026-02-30",
        " 2024-02-29 ",
        "2026-01-01 10:00",
        "2026-01-01Tx",
        "x",
        "",
        "2026-13-01",
        "0001-01-01",
        "9999-12-31",
        "26-01-01",
        "2026-01-",
        "12026-01-01",
        "2026-01-01x",
    ]
)
_DATE = (
    st.sampled_from([date(1, 1, 1), date(9999, 12, 31), date(1970, 1, 1), date(2024, 2, 29), date(1582, 10, 15)])
    | st.dates()
)
_INSTANT = st.sampled_from(
    [datetime(1970, 1, 1), datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(2026, 1, 31, 13, 45, 59, 120000)]
) | st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 29))
_DEC, _DE = (
    st.decimals(-(10**k) + 1, 10**k - 1, places=p, allow_nan=False, allow_infinity=False) for k, p in ((8, 2), (2, 3))
)
_STRUCT = st.fixed_dictionaries({"a": st.none() | _SMALL, "b": st.none() | _STRINGS})


def _list(of: Any, size: int = 5) -> Any:
    return st.lists(st.none() | of, max_size=size)


_COLUMNS: dict[str, Any] = {
    "i": _INTS, "j": _INTS | _SMALL, "n": _SMALL | st.just(0), "b": _LONGS, "c": _LONGS | _SMALL,
    "ti": st.integers(-128, 127),
    "tj": st.integers(-128, 127) | st.just(-1), "si": st.integers(-(2**15), 2**15 - 1), "d": _DOUBLES, "e": _DOUBLES,
    "f": _FLOATS, "g": _FLOATS, "s": _STRINGS, "u": _STRINGS, "w": _STRINGS, "num": _NUMERIC, "day": _DAYS,
    "bo": st.booleans(), "bp": st.booleans(), "ts": _INSTANT, "tt": _INSTANT,
    "dt": _DATE, "du": _DATE, "dec": _DEC, "de": _DE,
    "arr": _list(_SMALL), "ax": _list(_INTS), "ad": _list(_DOUBLES), "sa": _list(_STRINGS),
    "aa": _list(_list(_SMALL, 3), 3), "st": _STRUCT, "su": _STRUCT, "ast": _list(_STRUCT, 4),
    "m": st.dictionaries(_STRINGS, st.none() | _SMALL, max_size=3),
}  # fmt: skip

#: A row: each value may be missing.
rows = st.fixed_dictionaries({name: st.none() | of | of | of | of for name, of in _COLUMNS.items()})

assert list(_COLUMNS) == list(SCHEMA.names)

_NONE: dict[str, Any] = dict.fromkeys(_COLUMNS)
#: Rows that are always looked at: on them, each mutant of test_agreed.py differs from Spark, and what may fail fails.
KNOWN: list[dict[str, Any]] = [
    _NONE | {"i": 2**31 - 1, "j": 1, "num": "abc", "arr": [1, 2, 3], "n": 5, "s": "ß", "d": 2.5, "e": 0.0},
    _NONE | {"i": 7, "j": 1, "num": "1e3", "arr": [1, None], "n": 1, "s": "ae\u0301", "d": 1.005, "e": -2.5},
    _NONE | {"i": 2, "j": 4, "num": "1.5", "arr": [3, 4], "n": 0, "s": "abcdef", "d": 0.285, "e": 1.0},
    _NONE | {"i": 3, "j": 2, "num": "12", "arr": [], "n": -8, "s": "abcdef", "d": 2.675, "e": 0.5},
]


def translated(text: str) -> Value:
    """Translate an expression by the table as it is now."""
    return Compiler(PREFIX + text, len(PREFIX), TYPES).value(parse_plain(text))
