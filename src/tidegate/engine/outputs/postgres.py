"""Results in a PostgreSQL table: the rows of a step and its number are written in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from tidegate.engine.outputs.output import Fields, Output, Results, Sender
from tidegate.engine.outputs.postgres_values import column_type, fits, refused
from tidegate.engine.outputs.refusals import Refusal
from tidegate.engine.storage.errors import BadCheckpoint, SinkFailed
from tidegate.extras import require
from tidegate.flow.errors import BadArgument
from tidegate.flow.sqltypes import quoted

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg.sql import Composed, Identifier

__all__ = ["Postgres", "postgres"]

_STEPS = "tidegate_steps"
_NULL_KEYS = 150_000  # PostgreSQL 15 can take a null for a value in a key


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of a table: whether it is NOT NULL, and its type as PostgreSQL writes it."""

    filled: bool
    type: str


@dataclass(frozen=True, slots=True)
class Postgres(Output):
    """A PostgreSQL table. Connection parameters are not shown, as there may be a password in them."""

    table: str
    key: tuple[str, ...]
    dsn: str = field(repr=False)
    password: str | Callable[[], str] | None = field(repr=False)
    #: The senders for which `claim` has prepared the table.
    _claimed: set[Sender] = field(default_factory=set, init=False, repr=False, compare=False)
    #: Columns of the key that are NOT NULL in the table, as `claim` has found.
    _filled: set[str] = field(default_factory=set, init=False, repr=False, compare=False)

    def claim(self, sender: Sender, fields: Fields) -> None:
        """Check that the table fits, create it if it does not exist, and record that it is this sender's."""
        from psycopg import sql

        missing = [name for name in self.key if name not in fields.names]
        if missing:
            raise BadArgument(
                f"expected a key of columns that the results have ({', '.join(fields.names)}), got {missing[0]!r}"
            )
        wanted = {column.name: column_type(column) for column in fields.columns}
        with self._transaction(rows=False) as connection:
            # A group may be NULL, so NULL must be possible in a key.
            nulls = connection.info.server_version >= _NULL_KEYS
            columns = self._columns(connection)
            _check_lengths(connection, [*wanted, *(() if columns else self._parts)])
            if not columns:
                no_null = () if nulls else self.key
                types = {name: f"{type_} NOT NULL" if name in no_null else type_ for name, type_ in wanted.items()}
                parts = [sql.SQL("{} " + type_).format(sql.Identifier(name)) for name, type_ in types.items()]
                if self.key:
                    unique = "UNIQUE NULLS NOT DISTINCT ({})" if nulls else "UNIQUE ({})"
                    parts.append(sql.SQL(unique).format(_names(self.key)))
                connection.execute(sql.SQL("CREATE TABLE {} ({})").format(self._name, sql.SQL(", ").join(parts)))
                columns = self._columns(connection)
            elif not set(wanted) <= set(columns):
                strange = ", ".join(name for name in wanted if name not in columns)
                raise BadCheckpoint(
                    f"expected a table with columns {', '.join(wanted)}, got {self.table} without {strange}",
                    hint="add the columns, or choose another table: one that is not there is made",
                )
            elif odd := [name for name, type_ in wanted.items() if not fits(type_, columns[name].type)]:
                raise self._would_change(odd[0], wanted[odd[0]], columns[odd[0]].type)
            elif self.key and not self._has_key(connection, nulls=nulls):
                nullable = [name for name in self.key if not columns[name].filled]
                raise self._without_key(nullable, nulls=nulls)
            self._filled.clear()
            self._filled.update(name for name in self.key if columns[name].filled)
            self._claim(connection, sender)
        self._claimed.add(sender)

    def refuses(self, fields: Fields) -> list[Refusal]:
        """Return the values that PostgreSQL can't represent, that Python can't pass on, or that a key can't have."""
        nulls = [
            Refusal(name, f"{quoted(name)} IS NULL", "NULL in the key", f"coalesce({quoted(name)}, …)")
            for name in self.key
            if name in self._filled
        ]
        return [*nulls, *(found for column in fields.columns for found in refused(column))]

    def deliver(self, sender: Sender, rows: Results, step: int) -> None:
        """Write the rows of a step and its number in one transaction, unless the step is there already."""
        from psycopg import sql

        if sender not in self._claimed:
            # At a start, the rows left from the last step are delivered first. The sink may have another table now.
            self.claim(sender, rows.fields)
        names = rows.fields.names
        nested = [column.name for column in rows.fields.columns if column_type(column) == "jsonb"]
        with self._transaction(rows=True) as connection:
            # The lock on this row also stops a run that was taken for dead.
            noted = connection.execute(
                sql.SQL(
                    "UPDATE {} SET step = %s WHERE target = %s AND checkpoint = %s AND sink = %s AND step < %s"
                ).format(self._steps),
                (step, self._parts[-1], sender.checkpoint, sender.sink, step),
            )
            if noted.rowcount == 0:
                self._check_owner(connection, sender)
                return
            target = sql.Identifier(_STEPS + "_rows") if self.key else self._name
            if self.key:
                copied = "CREATE TEMP TABLE {} ON COMMIT DROP AS SELECT {} FROM {} WITH NO DATA"
                connection.execute(sql.SQL(copied).format(target, _names(names), self._name))
            into = sql.SQL("COPY {} ({}) FROM STDIN").format(target, _names(names))
            with connection.cursor() as cursor, cursor.copy(into) as copy:
                for batch in rows.batches(as_json=nested):
                    for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                        copy.write_row(row)
            if self.key:
                connection.execute(self._merge(target, names, sender.time))

    def _merge(self, source: Identifier, columns: Sequence[str], time: Sequence[str]) -> Composed:
        """Return the statement that keeps, for each key, the row with the greatest time.

        Of rows with the same time, it is the one with the last revision, and of those the last by all columns. So the
        table does not depend on where steps begin and end. With several time columns the first counts most, which
        agrees with the order of times.
        """
        from psycopg import sql

        rest = [name for name in columns if name not in self.key]
        order = [*time, *sorted((name for name in rest if name not in time), key=lambda name: name != "revision")]
        latest = sql.SQL(", ").join(sql.SQL("{} DESC").format(sql.Identifier(name)) for name in order)
        chosen = sql.SQL("SELECT DISTINCT ON ({keys}) {columns} FROM {source} ORDER BY {keys}, {latest}").format(
            keys=_names(self.key), columns=_names(columns), source=source, latest=latest
        )
        changes = [sql.SQL("{0} = EXCLUDED.{0}").format(sql.Identifier(name)) for name in rest]
        # Records compare as in ORDER BY: NULL is greater than everything else, and equal to itself.
        new, old = (
            sql.SQL("(SELECT __row FROM (SELECT {}) AS __row)").format(
                sql.SQL(", ").join(sql.Identifier(of, name) for name in order)
            )
            for of in ("excluded", "kept")
        )
        change = sql.SQL("UPDATE SET {} WHERE {} >= {}").format(sql.SQL(", ").join(changes), new, old)
        return sql.SQL("INSERT INTO {} AS kept ({}) {} ON CONFLICT ({}) DO {}").format(
            self._name, _names(columns), chosen, _names(self.key), change if rest else sql.SQL("NOTHING")
        )

    @property
    def _parts(self) -> list[str]:
        return self.table.split(".")

    @property
    def _name(self) -> Identifier:
        from psycopg.sql import Identifier

        return Identifier(*self._parts)

    @property
    def _steps(self) -> Identifier:
        """The table of steps, which is in the same schema as the table of results.

        It is for statements executed with parameters, maybe none, in which a percent sign is doubled.
        """
        from psycopg.sql import Identifier

        return Identifier(*(part.replace("%", "%%") for part in self._parts[:-1]), _STEPS)

    def _columns(self, connection: Connection[Any]) -> dict[str, _Column]:
        """Return the columns that the table has."""
        found = connection.execute(
            "SELECT attname, attnotnull, format_type(atttypid, atttypmod) FROM pg_attribute "
            "WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped",
            (self._name.as_string(connection),),
        )
        return {name: _Column(filled, type_) for name, filled, type_ in found}

    def _has_key(self, connection: Connection[Any], *, nulls: bool) -> bool:
        """Whether the table has a unique index that ON CONFLICT can use for the key, and that treats NULLs as equal."""
        alike = "i.indnullsnotdistinct" if nulls else "false"
        found = connection.execute(
            # Included columns come after the key columns of an index. An expression in an index has no column.
            "SELECT array_agg(a.attname::text) FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid "
            "AND a.attnum = ANY((i.indkey::int2[])[0:i.indnkeyatts - 1]) WHERE i.indrelid = to_regclass(%s) "
            "AND i.indisunique AND i.indisvalid AND i.indimmediate AND i.indpred IS NULL AND i.indexprs IS NULL "
            f"GROUP BY i.indexrelid HAVING {alike} OR bool_and(a.attnotnull)",
            (self._name.as_string(connection),),
        )
        return any(set(names) == set(self.key) for (names,) in found)

    def _without_key(self, nullable: Sequence[str], *, nulls: bool) -> BadCheckpoint:
        """Return the error for a table without an index for the key, with the SQL that adds it."""
        table, key = _shown(*self._parts), ", ".join(map(_shown, self.key))
        index = f"CREATE UNIQUE INDEX ON {table} ({key})"
        if nulls:
            what, mend = "in which nulls are equal", [f"{index} NULLS NOT DISTINCT"]
        else:
            what = "of columns that are NOT NULL"
            mend = [*(f"ALTER TABLE {table} ALTER {_shown(name)} SET NOT NULL" for name in nullable), index]
        return BadCheckpoint(
            f"expected a unique index on ({', '.join(self.key)}) {what}, and {self.table} has none",
            hint="; ".join(mend),
        )

    def _would_change(self, column: str, wanted: str, found: str) -> BadCheckpoint:
        """Return the error for a column that would change values, with the SQL that changes its type."""
        alter = f"ALTER TABLE {_shown(*self._parts)} ALTER {_shown(column)} TYPE {wanted}"
        return BadCheckpoint(
            f"expected column {column} of {self.table} to take every {wanted} as it is, got {found}",
            hint=f"{alter}; or cast {column} in a select(…) before the sink",
        )

    def _claim(self, connection: Connection[Any], sender: Sender) -> None:
        from psycopg import sql

        connection.execute(
            sql.SQL(
                "CREATE TABLE IF NOT EXISTS {} (target text PRIMARY KEY, checkpoint text NOT NULL, flow text NOT NULL, "
                "sink text NOT NULL, step bigint NOT NULL)"
            ).format(self._steps),
            (),
        )
        connection.execute(
            sql.SQL("INSERT INTO {} VALUES (%s, %s, %s, %s, -1) ON CONFLICT DO NOTHING").format(self._steps),
            (self._parts[-1], sender.checkpoint, sender.flow, sender.sink),
        )
        self._check_owner(connection, sender)

    def _check_owner(self, connection: Connection[Any], sender: Sender) -> None:
        from psycopg import sql

        found = connection.execute(
            sql.SQL("SELECT checkpoint, flow, sink FROM {} WHERE target = %s").format(self._steps), (self._parts[-1],)
        ).fetchone()
        if found is None:
            raise BadCheckpoint(
                f"{self.table} was the table of this run, and its row in {_STEPS} is gone",
                hint="start the flow again: the row is made again, and the rows that were not written follow",
            )
        if (found[0], found[2]) != (sender.checkpoint, sender.sink):
            whose = f"sink {found[2]!r} of flow {found[1]!r} with another checkpoint"
            raise BadCheckpoint(
                f"expected a table of its own, and {self.table} belongs to {whose}",
                hint=f"choose another table; or delete its row in {_STEPS}, if that checkpoint is gone",
            )

    @contextmanager
    def _transaction(self, *, rows: bool) -> Iterator[Connection[Any]]:
        """Connect, and commit at the end. Errors are raised without connection parameters in their text.

        ``rows`` says whether there are rows to write. They are kept if it fails.
        """
        import psycopg
        from psycopg.conninfo import make_conninfo

        password = self._secret()
        secret = {"password": password} if password else {}
        try:
            with psycopg.connect(make_conninfo(self.dsn, **secret)) as connection:
                yield connection
        except psycopg.Error as error:
            message = self._without_secrets(str(error).strip(), password)
            if not rows:
                raise SinkFailed(
                    f"the table {self.table} of PostgreSQL could not be made ready for rows: {message}",
                    hint="check that the server can be reached, and that this user may create tables; then start again",
                ) from None
            kept = "the rows are kept: they are written when the flow is started again"
            if isinstance(error, psycopg.DataError | psycopg.IntegrityError | psycopg.errors.ProgramLimitExceeded):
                kept = (
                    "the rows are kept: change the table so that it takes them, and start again; or start once with "
                    "tg.foreach(function) for this sink, which is given them, and then with the table"
                )
            raise SinkFailed(f"PostgreSQL did not take the rows for table {self.table}: {message}", hint=kept) from None

    def _secret(self) -> str:
        if not callable(self.password):
            return self.password or ""
        try:
            return str(self.password())
        except Exception as error:
            # The text of the error may contain the password.
            raise SinkFailed(f"the function that gives the password failed with {type(error).__name__}") from None

    def _without_secrets(self, text: str, password: str) -> str:
        from psycopg.conninfo import conninfo_to_dict

        settings = conninfo_to_dict(self.dsn)
        for secret in (password, settings.get("password"), settings.get("sslpassword")):
            for form in {str(secret or ""), quote(str(secret or ""), safe="")} - {""}:
                text = text.replace(form, "…")
        return text


def postgres(
    table: str,
    *,
    key: str | Sequence[str] = (),
    dsn: str = "",
    password: str | Callable[[], str] | None = None,
) -> Postgres:
    """Write results to a table of PostgreSQL, in one transaction for each step, so that each row is there once.

    The table is created if it does not exist. With a ``key``, it has for each key the row with the greatest time.
    Without one, rows are added. ``dsn`` is a URL or ``"host=… dbname=…"``; what it lacks is taken from where libpq
    looks (``PGHOST``, ``PGPASSWORD``, ``~/.pgpass``). ``password`` may be a function, which is called for each
    connection. The password is never written to a plan, commit, metric, log or error.

    >>> postgres("hourly", key="page", dsn="postgresql://me:secret@localhost/edits")
    Postgres(table='hourly', key=('page',))
    """
    require("postgres", "tg.postgres")
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    if not isinstance(table, str) or not all(table.split(".")) or table.count(".") > 1:
        raise BadArgument(f"expected a table in postgres(…), got {table!r}", hint='postgres("public.hourly", …)')
    keys = (key,) if isinstance(key, str) else tuple(key)
    if not all(isinstance(name, str) and name for name in keys):
        raise BadArgument(f"expected names of columns as key of {table}, got {key!r}", hint='key=("ts", "page")')
    if not (password is None or isinstance(password, str) or callable(password)):
        raise BadArgument(
            f"expected a password as text or a function, got {type(password).__name__}",
            hint='password=lambda: os.environ["DB_PASSWORD"]',
        )
    try:
        hosts = str(conninfo_to_dict(dsn).get("host") or "")
    except (ProgrammingError, TypeError):
        hosts = "@"
    if "@" in hosts.removeprefix("@/"):
        # The text is not quoted here: a part of the password may have been parsed as the host.
        raise BadArgument(
            "expected a URL or settings that libpq can read in postgres(…, dsn=…), got something else",
            hint="postgresql://user@host:5432/database, with %40 for @ in a password",
        )
    return Postgres(table, keys, dsn, password)


def _check_lengths(connection: Connection[Any], names: Sequence[str]) -> None:
    """Raise if a name is longer than the server allows: it would be truncated to another name."""
    (most,) = connection.execute("SELECT current_setting('max_identifier_length')::int").fetchone() or (63,)
    for name in names:
        if (length := len(name.encode())) > most:
            raise BadArgument(
                f"expected names of at most {most} bytes in PostgreSQL, got {name}, which has {length}",
                hint="a shorter one: of a column, in a select(… AS …) right before the sink",
            )


def _names(names: Sequence[str]) -> Composed:
    from psycopg.sql import SQL, Identifier

    return SQL(", ").join(Identifier(name) for name in names)


def _shown(*parts: str) -> str:
    """Return a name as it is written in PostgreSQL's SQL."""
    doubled = (part.replace('"', '""') for part in parts)
    return ".".join(f'"{part}"' for part in doubled)
