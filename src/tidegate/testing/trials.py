"""A trial: a flow on an engine that a test drives. The test sends events, moves time by hand and reads answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tidegate.errors import TidegateError
from tidegate.flow.arguments import one_of
from tidegate.flow.clocks import given_schema
from tidegate.flow.errors import BadArgument, BadInput, did_you_mean
from tidegate.flow.flow import Flow
from tidegate.flow.plan import At, Source
from tidegate.flow.schema import Schema
from tidegate.flow.watermarks import Arriving
from tidegate.spec import WM
from tidegate.testing.differences import NotAsExpected, Rows, difference
from tidegate.testing.engines import Engine, Setting, SourceInput
from tidegate.testing.hints import hints
from tidegate.testing.plans import clocks_of, is_by_hand, tables_of
from tidegate.testing.recording import Asked, Clocked, Finished, Op, Recording, Restarted, Stepped, recordings
from tidegate.testing.values import row_of, time_of, typed

if TYPE_CHECKING:
    from tidegate.progress import Reason

__all__ = ["Trial", "trial"]

_EPOCH = datetime(1970, 1, 1)
_BY_HAND, _DECLARED = "by hand", "declared"


def trial(
    flow: Flow | Callable[[], Flow],
    engine: Engine | str = "specification",
    *,
    tables: Mapping[str, Iterable[Any]] | None = None,
    watermarks: str = _BY_HAND,
    clocks: Mapping[str, Any] | None = None,
    now: str | datetime = _EPOCH,
) -> Trial:
    """Return a trial: a flow on an engine, for a test to drive.

    ``flow`` is a flow, or a function that builds one. ``engine`` is what the fixture ``engine`` gives, or the name of
    an engine (`ENGINES`). ``tables`` has the rows of each table of the flow.

    With ``watermarks="by hand"``, times become complete only by `Trial.advance`, whatever strategy a source declares.
    With ``watermarks="declared"``, the declared strategies decide, so that a test can try a delay. The test then sets
    the clock with `Trial.clock`; it begins at ``now``. ``clocks`` is for sources that are clocks: the span between two
    ticks, or ``tg.clock(…)``, by name.

    >>> import tidegate as tg
    >>> flow = tg.Flow("clicks")
    >>> clicks = flow.source("clicks", "t INT, page STRING", time="t", watermark=tg.bounded(10))
    >>> flow.sink("counts", clicks.aggregate(by="page", n="count(*)"))
    >>> test = trial(flow, "local", watermarks="declared")
    >>> test.send("clicks", {"t": 1, "page": "a"}, {"t": 12, "page": "b"})
    >>> print(test.rows("counts"))
    t  page  n
    1  a     1
    """
    made = flow if isinstance(flow, Flow) else flow()
    if not isinstance(made, Flow):
        raise BadArgument(f"expected a flow, or a function that builds one, got {made!r} ({type(made).__name__})")
    one_of(watermarks, "watermarks", (_BY_HAND, _DECLARED))
    on = engine if isinstance(engine, Engine) else Engine(engine)
    plan = made.plan
    try:
        plan.check_sinks()
        setting = Setting(
            plan,
            tables_of(plan, tables or {}),
            clocks_of(plan, clocks or {}, declared=watermarks == _DECLARED),
            watermarks == _DECLARED,
            typed(now, "TIMESTAMP"),
        )
    except TidegateError as error:
        raise error.at(f"flow {plan.name!r}") from None
    return Trial(setting, on, flow if callable(flow) else None)


class Trial:
    """A flow on an engine, driven by a test. Each call that sends something is a step.

    >>> import tidegate as tg
    >>> flow = tg.Flow("clicks")
    >>> flow.sink("counts", flow.source("clicks", "t INT, page STRING", time="t").aggregate(by="page", n="count(*)"))
    >>> test = trial(flow)
    >>> test.send("clicks", (1, "a"), (2, "a"), tg.WM(1), (1, "late"))
    >>> print(test.rows("counts"))
    t  page  n
    1  a     1
    >>> print(test.late("clicks"))
    t  page
    1  late
    >>> [str(reason) for reason in test.why("counts", 2)]
    ['clicks at 2 -> aggregate#1 at 2 -> sink counts at 2']
    >>> test.finish()
    >>> test.expect("counts", [(1, "a", 1), (2, "a", 1)])
    """

    def __init__(self, setting: Setting, engine: Engine, factory: Callable[[], Flow] | None = None) -> None:
        self.engine = engine
        self.setting = setting
        self.recording = Recording(setting, engine, factory)
        self._plan = setting.plan
        self._driver = engine.drive(setting)
        self._expected: dict[str, int] = {}
        self._taken: dict[str, list[dict[str, Any]]] = {sink.name: [] for sink in self._plan.sinks}
        self._over = False
        engine.trials.append(self)
        for found in recordings():
            found.append(self.recording)

    def __repr__(self) -> str:
        return f"<Trial of {self._plan.name!r} on {self.engine}: {len(self.recording.ops)} calls>"

    def __enter__(self) -> Trial:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Sending events.

    def send(self, source: str, *events: Any) -> None:
        """Send rows to a source in one step. Rows are dicts or tuples; columns that a dict leaves out are NULL.

        Times may be texts. ``tg.WM(t)`` among the rows has the effect of `advance`: rows after it are in another step.
        """
        self.step({source: events})

    def advance(self, source: str, time: Any) -> None:
        """Make a time, and all times below it, complete at a source: ``WM(time)``. Rows sent there later are late.

        With several time columns, ``time`` is a tuple; `TOP` in it stands for every value.
        """
        self.step({source: [WM(time)]})

    def step(self, given: Mapping[str, Iterable[Any]], *, partitions: int = 1) -> None:
        """Send rows and watermarks to several sources in one step. Spark splits the rows into ``partitions``."""
        self._check_open("step")
        steps: list[dict[str, SourceInput]] = []
        for name, events in given.items():
            for at, part in enumerate(self._cut(self._source(name), events)):
                steps.extend([{}] if at == len(steps) else [])
                steps[at][name] = part
        for each in steps:
            self._do(Stepped(each, partitions))

    def clock(self, time: str | datetime) -> None:
        """Set the clock. Times may become complete by that, and rows that are sent later arrive at this time."""
        self._check_open("clock")
        if not self.setting.declared:
            raise self._error(
                "expected a trial whose sources follow their own strategies to set the clock of, got one by hand",
                hint='tt.trial(flow, engine, watermarks="declared"); or advance(source, time)',
            )
        self._do(Clocked(typed(time, "TIMESTAMP")))

    def restart(self) -> None:
        """Start a new engine, which continues from the checkpoint as after a failure."""
        self._check_open("restart")
        self._do(Restarted())

    def finish(self) -> None:
        """End the input: everything becomes complete."""
        self._check_open("finish")
        self._do(Finished())
        self._over = True

    # Reading answers.

    def rows(self, sink: str) -> Rows:
        """Return all answers of a sink so far, sorted by time."""
        schema = self._schema(sink)
        found = Rows(self._driver.rows(sink), schema.names, (self, sink))
        self.recording.ops.append(Asked("rows", sink, list(found)))
        return found

    def expect(self, sink: str, rows: Iterable[Any]) -> None:
        """Raise unless the new rows of a sink, since the last `expect`, are exactly these. The error says what differs.

        Order does not matter. Rows are dicts, or tuples of all columns. Dicts may leave out columns, which are then not
        compared; all must leave out the same ones.
        """
        schema = self._schema(sink)
        wanted = [self._expected_row(row, schema, sink) for row in rows]
        names = self._columns(wanted, schema, sink)
        new = self._new(sink)
        self.recording.ops.append(Asked("expect", sink, self._taken[sink], wanted))
        times = [name for name in schema.user_time if name in names]
        found = difference(wanted, new, names, times)
        if found:
            raise NotAsExpected(
                f"sink {sink!r}: expected {_counted(len(wanted))}, "
                f"got {len(new)}\n" + _indented(found.table(names, times)),
                hint="\n  hint: ".join(hints(self, sink, found, times)),
            ).at(f"flow {self._plan.name!r} on {self.engine}")

    def _new(self, sink: str) -> Rows:
        """Return the rows of a sink that came since the last `expect`."""
        schema = self._schema(sink)
        self._expected[sink] = self._expected.get(sink, 0) + 1
        now = self._driver.rows(sink)
        found = difference(self._taken[sink], now, schema.names, schema.names)
        if found.missing or found.near:
            raise NotAsExpected(
                f"sink {sink!r}: answers that were out are not there any more\n"
                + _indented(found.table(schema.names, schema.user_time)),
                hint="an answer is final: this is a mistake of the engine",
            ).at(f"flow {self._plan.name!r} on {self.engine}")
        self._taken[sink] = now
        return Rows([dict(row) for row in found.surplus], schema.names, (self, sink))

    def late(self, source: str) -> Rows:
        """Return the late rows of a source."""
        schema = self._source(source).schema
        found = Rows(self._driver.late(source), schema.names)
        self.recording.ops.append(Asked("late", source, list(found)))
        return found

    def rejected(self, name: str) -> Rows:
        """Return the rows that a source, or an operator that moves rows, rejected, with the column ``reason``."""
        known = [o.id for o in self._plan if isinstance(o, Source) or (isinstance(o, At) and o.rejects)]
        self._check_known(name, known, "a source")
        found = Rows(self._driver.rejected(name), (*self._plan[name].schema.names, "reason"))
        self.recording.ops.append(Asked("rejected", name, list(found)))
        return found

    def why(self, sink: str, time: Any) -> list[Reason]:
        """Return what holds a time back at a sink, as `Run.why` does; empty if it is complete."""
        return self._driver.why(sink, time_of(time, self._schema(sink), "a time"))

    def open_from(self, sink: str) -> list[Any]:
        """Return the least times at which a sink may still give answers; empty if everything is complete."""
        self._schema(sink)
        return self._driver.open_from(sink)

    def script(self) -> str:
        """Return a Python script that does the same as this trial so far, without pytest."""
        from tidegate.testing.scripts import script

        return script(self.recording)

    def close(self) -> None:
        """Close the engine, and delete its checkpoint and outputs. Garbage collection of a trial does so, too."""
        self._over = True
        with suppress(Exception):
            self._driver.close()

    # Helpers.

    def _do(self, op: Op) -> None:
        self.recording.ops.append(op)
        op.on(self._driver)

    def _cut(self, source: Source, events: Iterable[Any]) -> list[SourceInput]:
        """Return events as steps. A row that comes after a watermark is in the next step."""
        arrives = self.setting.declared and isinstance(source.watermark, Arriving)
        schema = given_schema(source) if arrives else source.schema
        steps: list[tuple[list[dict[str, Any]], list[Any]]] = [([], [])]
        for n, event in enumerate(events):
            try:
                if isinstance(event, WM):
                    self._check_advances(source)
                    steps[-1][1].append(time_of(event.t, source.schema, "a time"))
                else:
                    if steps[-1][1]:
                        steps.append(([], []))
                    steps[-1][0].append(row_of(event, schema, "a row"))
            except TidegateError as error:
                raise error.at(f"event {n} for source {source.id!r}").at(f"flow {self._plan.name!r}") from None
        return [SourceInput(tuple(rows), tuple(done)) for rows, done in steps]

    def _check_advances(self, source: Source) -> None:
        if not is_by_hand(source, self.setting):
            raise BadInput(
                f"expected rows, as the source has a strategy of its own here ({source.watermark!r}), got a watermark",
                hint='tt.trial(flow, engine) with watermarks="by hand", the default',
            )

    def _expected_row(self, row: Any, schema: Schema, sink: str) -> dict[str, Any]:
        try:
            whole = row_of(row, schema, "an expected row")
        except TidegateError as error:
            raise error.at(f"sink {sink!r}").at(f"flow {self._plan.name!r}") from None
        names = {str(name).lower() for name in row} if isinstance(row, Mapping) else {n.lower() for n in schema.names}
        return {name: value for name, value in whole.items() if name.lower() in names}

    def _columns(self, wanted: list[dict[str, Any]], schema: Schema, sink: str) -> tuple[str, ...]:
        """Return the columns of expected rows; raise if they are not the same in all rows."""
        if not wanted:
            return schema.names
        for row in wanted:
            if row.keys() != wanted[0].keys():
                raise self._error(
                    f"expected rows of sink {sink!r} with the same columns, "
                    f"got {', '.join(wanted[0])} and {', '.join(row)}",
                    hint="name the same columns in all rows, or expect them one after the other",
                )
        return tuple(wanted[0])

    def _source(self, name: str) -> Source:
        self._check_known(name, [s.id for s in self._plan.sources], "a source")
        return next(s for s in self._plan.sources if s.id == name)

    def _schema(self, sink: str) -> Schema:
        self._check_known(sink, [s.name for s in self._plan.sinks], "a sink")
        return self._plan[next(s.input for s in self._plan.sinks if s.name == sink)].schema

    def _check_known(self, name: str, known: list[str], what: str) -> None:
        if name not in known:
            message = f"expected the name of {what} ({', '.join(known)}), got {name!r}"
            raise self._error(message, hint=did_you_mean(name, known))

    def _check_open(self, what: str) -> None:
        if self._over:
            raise self._error(f"expected a trial whose input goes on, got {what} after finish() or close()")

    def _error(self, text: str, *, hint: str = "") -> BadArgument:
        return BadArgument(text, hint=hint).at(f"flow {self._plan.name!r}")


def _counted(rows: int) -> str:
    return f"{rows} row{'' if rows == 1 else 's'}"


def _indented(text: str) -> str:
    return "\n".join(f"  {line}".rstrip() for line in text.splitlines())
