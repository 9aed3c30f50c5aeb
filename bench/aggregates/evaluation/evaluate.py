"""What is run for the figures: cells, and searches that are made of cells, one after the other; all of it is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from math import ceil, sqrt
from pathlib import Path
from typing import Any

from bench.aggregates.evaluation.asked import Asked, Pools
from bench.aggregates.evaluation.cell import Cell, run_cell
from bench.aggregates.evaluation.cost import row_cost
from bench.aggregates.evaluation.plan import Plan
from bench.aggregates.evaluation.rule import Rule
from bench.aggregates.evaluation.same import Differ, same
from bench.aggregates.evaluation.sides import SIDES, Session
from bench.aggregates.evaluation.store import Store, digest
from bench.aggregates.evaluation.sustain import Outcome, Sustained, capacity, search
from bench.aggregates.evaluation.waits import Frames
from bench.aggregates.queries import QUERIES

__all__ = ["Evaluation", "Task", "names_of"]

#: Where a search begins, in rows a second of Spark by hand: by cost and kind, on texts and on scans.
_GUESSES = {
    "LM": 1e5, "HM": 12e3, "lm": 8000.0, "hm": 6000.0, "LJ": 3e4, "HJ": 16e3, "lj": 180.0, "hj": 90.0,
}  # fmt: skip
#: And what other sides do, in about.
_TIMES = {"hand": 1.0, "spark": 0.7, "local": 2.0}
#: Of what comes, this much has to be answered in the time that is measured, or a rate is not sustained. In a run of
#: few steps, growing waits are not seen yet.
_ANSWERED = 0.9
#: In a hurry: if so much of it was answered, and a run broke the rule only because latency grew, it is repeated.
_ALL = 0.97
#: If other machines on the host took more than this share of the processors in a run, it is repeated, so many times at
#: the most.
_STOLEN, _TRIES = 0.05, 3
#: In a hurry, a first run that does not count says where a search begins: it comes at so many times the rate that is
#: guessed, and engines that have just started do less than those that have run for a while.
_AT_FIRST, _LATER = 3.0, 1.1
#: In a hurry, runs are as short as steps allow; they get no longer than this for it.
_LONGEST = 15.0
#: Where a search begins in a hurry, of what was found of a query that is like it.
_ALIKE = 1.15
#: And of what was found of the form before it. The loop of A takes most of the time of a Join of texts; of scans, what
#: is composed is compared in full, which is not needed for most pairs.
_AFTER = {"A+": ("dedicated", 1.0), "A": ("A+", 0.5)}
_AFTER_IN_JOINS = {("A", "texts"): 0.08, ("A+", "scans"): 0.4}


@dataclass(frozen=True, slots=True)
class Task:
    """A part of the evaluation: what it is for, and how it is done."""

    figure: int
    name: str
    run: Callable[[], None]


class _TooShort(Exception):
    """Steps take so long that a run has too few of them. ``rate`` is the greatest that was sustained before, or 0."""

    def __init__(self, step: float, rate: float) -> None:
        self.step, self.rate = step, rate


class Evaluation:
    """Runs what a plan asks for; what a store has already is not run again."""

    def __init__(
        self,
        plan: Plan,
        store: Store,
        place: Path,
        *,
        session: Session | None = None,
        say: Callable[[str], None] = lambda text: None,  # noqa: ARG005
        measure: Callable[[Session, Cell, Pools, Path], dict[str, Any]] = run_cell,
        check: Callable[[Session, Asked, Pools, Sequence[str], Path], int] = same,
        warm_up: Callable[[Session, Cell, Pools, Path], Any] = run_cell,
        cost: Callable[[Session, int], float] = row_cost,
    ) -> None:
        self.plan = plan
        self.store = store
        self.session = session or Session()
        self._place = place
        self._pools = Pools(place)
        self.say = say
        self._measure = measure
        self._same = check
        self._warm_up = warm_up
        self._cost = cost
        #: What has run in this process: Java compiles code when it is run for the first time, and often later.
        self._warm: set[tuple[Any, ...]] = set()
        #: What was sustained on this machine, perhaps with code that has changed since: searches begin there.
        self._before = _sustained_in(store)
        #: The rates that were found so far, by side and query.
        self._rates_found: dict[tuple[str, Asked], float] = {}
        #: The cells of searches, without their rates: others of that side and query are as long.
        self._ran: dict[tuple[str, Asked], Cell] = {}
        #: How long steps of each kind were in the last run that was sustained.
        self._steps: dict[tuple[Any, ...], float] = {}
        #: Queries of which sides give different answers.
        self._differ: set[str] = set()
        self._codes = {side: digest(side) for side in SIDES}

    def tasks(self) -> Iterator[Task]:
        """Yield all there is to do: what says most comes first."""
        plan = self.plan
        for name in plan.names:
            asked = Asked(name, tumbling=name[2] in "Jj")
            yield Task(0, f"{name}: the same answers", partial(self._check, asked))
        if 14 in plan.figures:
            for name in plan.names:
                yield Task(14, name, partial(self._beside, name))
            for name in plan.names:
                yield Task(14, f"{name}, all sides at one rate", partial(self._at_one_rate, name))
        for figure, name in ((10, "AHM"), (12, "ahj")):
            if figure in plan.figures and name in plan.names:
                for form in plan.forms:
                    yield Task(figure, f"{name}, {form}", partial(self._rates, name, form))
        if 9 in plan.figures:
            for work in plan.work:
                yield Task(9, f"the cost of {work} rounds", partial(self._cost_of, work))
            for selectivity in plan.selectivities:
                for work in plan.work:
                    query = f"S{selectivity:g}x{work}"
                    yield Task(9, query, partial(self._forms, query))
        for figure, kind in ((11, "M"), (13, "J")):
            if figure in plan.figures:
                for name in (name for name in plan.names if name[2].upper() == kind):
                    yield Task(figure, name, partial(self._forms, name))

    def _check(self, asked: Asked) -> None:
        sides = self.plan.sides
        # What is compared depends on all code.
        key, cell = "+".join(self._codes[side] for side in sides), {"same": asked.query, "sides": list(sides)}
        found = self.store.get(key, cell)
        if found is None:
            self.say(f"{asked.query}: the same answers?")
            try:
                found = {"answers": self._same(self.session, asked, self._pools, sides, self._place)}
            except Differ as error:
                found = {"differs": str(error)}
            self.store.put(key, cell, found)
        if "differs" in found:
            # Nothing of this query is timed, and the page says why.
            self._differ.add(asked.query)

    def _beside(self, name: str) -> None:
        """Figure 14: what each side sustains, in tumbling windows."""
        if name in self._differ:
            return
        for side in self.plan.sides:
            self.sustained(self._cell(side, Asked(name, tumbling=name[2] in "Jj")))

    def _at_one_rate(self, name: str) -> None:
        """All sides at one rate, which all of them sustain: there latencies can be compared."""
        if name in self._differ:
            return
        cells = [self._cell(side, Asked(name, tumbling=name[2] in "Jj")) for side in self.plan.sides]
        rates = {cell: self._rates_found[cell.side, cell.asked] for cell in cells}
        # What is to be compared is the local engine with Spark by hand; the third side is there if it can be.
        decide = [rate for cell, rate in rates.items() if cell.side != "spark" or len(cells) < 3]
        common = _rounded(min((rate for rate in decide if rate > 0), default=0.0) * self.plan.common)
        for cell, rate in rates.items():
            if 0 < common <= rate:
                self._each_run(replace(self._ran[cell.side, cell.asked], rate=common))

    def _forms(self, name: str) -> None:
        """Figures 9, 11 and 13: what each form sustains on Spark."""
        if name in self._differ:
            return
        for form in self.plan.forms:
            self.sustained(self._cell("spark", Asked(name, form)))

    def _cost_of(self, work: int) -> None:
        """Figure 9: what a row costs, by which the paper orders its points."""
        key, cell = self._codes["spark"], {"cost": work}
        if self.store.get(key, cell) is None:
            self.say(f"what {work} rounds of work cost")
            self.store.put(key, cell, {"micros": self._cost(self.session, work)})

    def _rates(self, name: str, form: str) -> None:
        """Figures 10 and 12: a form at several rates, which are shares of what dedicated operators sustain."""
        if name in self._differ:
            return
        base = self.sustained(self._cell("spark", Asked(name)))
        cell = self._cell("spark", Asked(name, form))
        if self.plan.hurry:
            # Steps of what is composed of A take seconds.
            cell = _longer(cell, 3.0)
        for share in self.plan.shares:
            rate = _rounded(base * share)
            if rate > 0:
                self._each_run(replace(cell, rate=rate))

    def _each_run(self, cell: Cell) -> None:
        """Run a cell as often as the plan says."""
        for run in range(self.plan.runs):
            self.measured(replace(cell, run=run))

    def _cell(self, side: str, asked: Asked) -> Cell:
        warm, seconds = self.plan.span(asked)
        return Cell(side, asked.query, 0.0, asked.form, asked.tumbling, seconds=seconds, warm=warm)

    def sustained(self, cell: Cell) -> float:
        """Return the greatest rate that a side sustains."""
        guess = self._guess(cell)
        if self.plan.hurry:
            guess, cell = self._begin(cell)

        while True:
            try:
                found = self._search(cell, guess)
                break
            except _TooShort as error:
                cell, guess = _longer(cell, error.step), error.rate or guess
        plan = self.plan
        key = replace(cell, rate=0.0).parameters | {"runs": plan.runs, "tolerance": plan.tolerance}
        beyond = found.beyond if found.beyond < float("inf") else None
        result = {"rate": found.rate, "beyond": beyond, "tried": list(found.tried)}
        if self.store.get(self._codes[cell.side], key) != result:
            self.store.put(self._codes[cell.side], key, result)
        self._rates_found[cell.side, cell.asked] = found.rate
        self._ran[cell.side, cell.asked] = cell
        return found.rate

    def _search(self, cell: Cell, guess: float) -> Sustained:
        """Search with runs of one length; raise if that turns out to be too short, and may be longer."""
        plan, low = self.plan, 0.0

        def measure(rate: float, run: int) -> Outcome:
            nonlocal low
            result = self.measured(replace(cell, rate=rate, run=run))
            if plan.hurry and _only_grew(result, rate):
                result = self._once_more(replace(cell, rate=rate, run=run))
            sustained = result["sustained"] and result["throughput"] >= _ANSWERED * rate
            if result["sustained"]:
                self._steps[self._like(cell)] = result["step"]
            if plan.hurry and not sustained and cell.seconds < min(1.5 * result["quickest"], _LONGEST):
                raise _TooShort(result["quickest"], low)
            low = rate if sustained else low
            return Outcome(sustained, result["throughput"])

        power = 2 if cell.asked.joins else 1
        return search(measure, guess, tolerance=plan.tolerance, runs=plan.runs, power=power, hurry=plan.hurry)

    def _guess(self, cell: Cell) -> float:
        if cell.query.startswith("S"):
            return 50_000.0
        return _GUESSES[cell.query[1:]] * _TIMES[cell.side]

    def _begin(self, cell: Cell) -> tuple[float, Cell]:
        """Return where a search in a hurry begins, and the cell, as long as steps ask for.

        It is kept: who goes on meets the same.
        """
        code, key = self._codes[cell.side], replace(cell, rate=0.0).parameters | {"begin": True}
        if (found := self.store.get(code, key)) is None:
            power = 2 if cell.asked.joins else 1
            step = self._steps.get(self._like(cell), 0.0)
            if before := self._before.get((cell.side, cell.asked)):
                # A run had three steps at least.
                step = max(step, before.seconds / 3)
            if (rate := self._near(cell)) is None:
                guess = self._guess(cell)
                rate = guess * _AT_FIRST ** (1 / power)
                done = self._run_warm_up(cell, rate)
                # Of too much, steps take ever longer.
                step = 2 * done["quickest"]
                # If next to nothing was answered, that says nothing.
                if done["throughput"] < _ANSWERED * rate:
                    rate = capacity(rate, done["throughput"], power)
                rate = max(rate * _LATER, guess / 8)
            cell = _longer(cell, step)
            found = {"rate": _rounded(rate), "seconds": cell.seconds, "warm": cell.warm}
            self.store.put(code, key, found)
        return float(found["rate"]), replace(cell, seconds=found["seconds"], warm=found["warm"])

    def _near(self, cell: Cell) -> float | None:
        """Return a rate by what was found with other code, of another form, or of a query like it.

        Queries are alike if they differ in selectivity or windows.
        """
        if before := self._before.get((cell.side, cell.asked)):
            return before.rate
        form, share = _AFTER.get(cell.form, ("", 0.0))
        if cell.asked.joins:
            share = _AFTER_IN_JOINS.get((cell.form, cell.asked.source), share)
        if rate := self._rates_found.get((cell.side, Asked(cell.query, form, cell.tumbling))):
            return rate * share
        for (side, asked), rate in reversed(self._rates_found.items()):
            if (side, asked.form, asked.tumbling) == (cell.side, cell.form, cell.tumbling) and rate:
                if _cost(asked) == _cost(cell.asked):
                    return rate * _ALIKE
                if asked.frames and cell.asked.frames and asked.source == cell.asked.source:
                    # As many comparisons a second.
                    return rate * _ALIKE * sqrt(_pairs(asked.frames) / _pairs(cell.asked.frames))
        return None

    def _run_warm_up(self, cell: Cell, rate: float) -> dict[str, Any]:
        """Let a query run on a side; return what came of it, which is not kept."""
        self.say(f"{cell.query}, {cell.form}, {cell.side}: warm-up")
        frames = cell.asked.frames
        # In a hurry it says what can be done: of a Join a window is complete, and joined.
        seconds = max(self.plan.warm_up, frames.size + 2 if frames and self.plan.hurry else 0.0)
        once = replace(cell, rate=_rounded(rate), warm=0.0, seconds=seconds, bound=5.0)
        found: dict[str, Any] = self._warm_up(self.session, once, self._pools, self._place)
        self._warm.add(self._like(cell))
        return found

    def _like(self, cell: Cell) -> tuple[Any, ...]:
        """Return what is warm once a cell has run: its query; in a hurry, all queries of its kind on such rows."""
        asked = cell.asked
        return (cell.side, asked.form, asked.source, asked.joins) if self.plan.hurry else (cell.side, asked)

    def measured(self, cell: Cell) -> dict[str, Any]:
        """Return what came of a cell: from the store, or by running it."""
        code = self._codes[cell.side]
        if (found := self.store.get(code, cell.parameters)) is not None:
            return found
        result = self._run(cell)
        self.store.put(code, cell.parameters, result)
        return result

    def _once_more(self, cell: Cell) -> dict[str, Any]:
        """Run a cell again, and keep what comes of it instead of what came before."""
        result = self._run(cell) | {"repeated": True}
        self.store.put(self._codes[cell.side], cell.parameters, result)
        return result

    def _run(self, cell: Cell) -> dict[str, Any]:
        """Run a cell on a side that is warm, and again where others on the host took much."""
        if self._like(cell) not in self._warm:
            self._run_warm_up(cell, cell.rate if self.plan.hurry else self._guess(cell) / 2)
        self.say(f"{cell.query}, {cell.form}, {cell.side}: {cell.rate:,.0f} rows a second")
        results: list[dict[str, Any]] = []
        while not results or (results[-1].get("stolen", 0.0) > _STOLEN and len(results) < _TRIES):
            results.append(self._measure(self.session, cell, self._pools, self._place))
        # Where others on the host took much each time, that run counts in which they took least.
        return min(results, key=lambda one: float(one.get("stolen", 0.0)))


def _sustained_in(store: Store) -> dict[tuple[str, Asked], Cell]:
    """Return the cell, with its rate, that the last search of each side and query found; none where it found none."""
    names = [field.name for field in fields(Cell)]
    cells = [
        Cell(**{name: cell[name] for name in names} | {"rate": float(result["rate"])})
        for cell, result in store.results()
        if "runs" in cell
    ]
    return {(cell.side, cell.asked): cell for cell in cells if cell.rate}


def _only_grew(result: Mapping[str, Any], rate: float) -> bool:
    """Whether nearly all that came was answered in time, and latency grew. In a run of two windows that may be chance.

    A run that was repeated has had its chance.
    """
    within = result["exceeded"] <= Rule().times and result["throughput"] >= _ALL * rate
    return within and not result["sustained"] and not result.get("repeated")


def _cost(asked: Asked) -> tuple[str, str]:
    """Return what queries share that differ in selectivity only: cost and kind, or the work of the synthetic Map."""
    return asked.source, asked.query.split("x")[1] if asked.source == "inputs" else asked.query[1:]


def _longer(cell: Cell, step: float) -> Cell:
    """Return a cell that is long enough for steps of that length: some have to end before it counts, and then more."""
    every = frames.every if (frames := cell.asked.frames) else 0.5
    whole = 2 * every
    warm, seconds = min(2 * step, _LONGEST / 2), min(3 * step, _LONGEST)
    return replace(
        cell,
        warm=max(cell.warm, ceil(warm / every) * every),
        seconds=max(cell.seconds, ceil(seconds / whole) * whole),
    )


def _pairs(frames: Frames) -> float:
    """Return how many pairs a second there are at a rate of one row a second."""
    return frames.size**2 / frames.every


def _rounded(rate: float) -> float:
    return float(f"{rate:.3g}")


def names_of(only: str, known: Sequence[str] = tuple(QUERIES)) -> tuple[str, ...]:
    """Return the queries that were asked for, with commas between; all if there are none.

    >>> names_of("AHM, llj"), len(names_of(""))
    (('AHM', 'llj'), 24)
    """
    names = tuple(name.strip() for name in only.split(",") if name.strip()) or tuple(known)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(f"there is no query {unknown[0]!r}; there are: {', '.join(known)}")
    return names
