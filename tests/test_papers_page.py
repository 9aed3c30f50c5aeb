"""docs/papers.md: every module, name and command that it mentions is there, and nothing of the papers' is left out."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import tidegate as tg
from tidegate import progress, spec
from tidegate.cli import app
from tidegate.engine.tracking import Tracking
from tidegate.flow.plan import Iterate
from tidegate.spec import aggregate
from tidegate.time import Antichain

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
STATED = "tidegate.spec.aggregate.statements"
HEAD = ["in the paper", "here", "specification", "simulation", "Spark", "local engine", "more"]


def rows() -> list[list[str]]:
    """The rows of all tables of the page, as cells."""
    lines = [line for line in PAGE.splitlines() if line.startswith("|") and not line.startswith("|---")]
    found = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [row for row in found if row != HEAD]


def names(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


def lookup(name: str) -> Any:
    """What a name of a module, or of something in one, stands for; an error if there is nothing."""
    first, *parts = name.split(".")
    found: Any = import_module({"tg": "tidegate"}.get(first, first))
    for part in parts:
        found = getattr(found, part) if hasattr(found, part) else import_module(f"{found.__name__}.{part}")
    return found


def check_command(command: str) -> None:
    """Fail unless the command line has this command, with these options."""
    words = command.split()[1:]
    shown = CliRunner().invoke(app, [w for w in words if not w.startswith("--")] + ["--help"], env={"COLUMNS": "200"})
    assert shown.exit_code == 0, command
    assert all(w in shown.output for w in words if w.startswith("--")), command


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_everything_in_the_tables_is_there(row: list[str]) -> None:
    """Each cell says something; its names can be imported, its commands run, and parameters belong to what it names."""
    assert len(row) == len(HEAD)
    assert all(row)
    for cell in row[2:6]:
        found: list[Any] = []
        parameters: list[str] = []
        for name in names(cell):
            if name.startswith("tidegate "):
                check_command(name)
            elif name.startswith("python -m "):
                assert (ROOT / name.split()[-1].replace(".", "/") / "__main__.py").exists()
            elif "." in name:
                found.append(lookup(name))
            else:
                parameters.append(name)
        for parameter in parameters:
            assert any(parameter in inspect.signature(f).parameters for f in found if callable(f)), parameter


def test_everything_in_the_text_is_there() -> None:
    """The same for what the explanation names: modules, and tests."""
    tests = "".join(p.read_text(encoding="utf-8") for p in (ROOT / "tests").rglob("test_*.py"))
    text = PAGE.partition("## One tracker is enough")[2]
    mentioned = [name for name in names(text) if name.startswith(("tidegate.", "test_"))]
    assert len(mentioned) > 5
    for name in mentioned:
        if name.startswith("test_"):
            assert f"def {name}(" in tests
        else:
            lookup(name)


def numbers(kind: str, text: str) -> set[int]:
    """The numbers that a text gives of figures or listings: in lists, and from one to another."""
    found: set[int] = set()
    for part in re.findall(rf"{kind}s? ((?:\d+(?:, | and | to )?)+)", text):
        for first, last in re.findall(r"(\d+)(?: to (\d+))?", part):
            found |= set(range(int(first), int(last or first) + 1))
    return found


def test_no_number_is_left_out() -> None:
    """Each statement, figure, listing, lemma and definition of the three papers is on the page, with its name here."""
    part = " ".join(PAGE.partition("## By number")[2].partition("\n## ")[0].split())
    streams, rest = part.split("*Verified Progress Tracking for Timely Dataflow*")
    progress_part, overlap = rest.split("*On the Semantic Overlap of Operators in Stream Processing Engines*")
    for name in re.findall(r"`((?:tidegate|bench)\.[^`]+)`", part):
        lookup(name)
    stated = set(re.findall(r"\((\d+)\)", streams))
    spans = re.findall(r"\((\d+)\) to \((\d+)\)", streams)
    assert stated | {str(n) for a, b in spans for n in range(int(a), int(b))} == {str(n) for n in range(1, 32)}
    assert numbers("Figure", streams) == set(range(1, 11))
    assert numbers("Figure", progress_part) == set(range(1, 8))
    assert numbers("Figure", overlap) == set(range(1, 15))
    assert numbers("Listing", overlap) == set(range(1, 7))
    # How many of each kind there are, and that each is a function.
    kinds = {"definition_": 4, "observation_": 1, "claim_": 2, "lemma_": 5, "theorem_": 3, "p": 3, "c": 3}
    assert all(callable(lookup(f"{STATED}.{kind}{n}")) for kind, most in kinds.items() for n in range(1, most + 1))
    assert all(lookup(f"tidegate.spec.statements.s{n}") for n in (5, 6, 7, *range(10, 25), *range(26, 32)))


def test_what_the_solver_does_not_do_is_said_wherever_proofs_are_told_of() -> None:
    """Proofs for any size rest on an induction by hand: this page, that of the proofs, and the command say it alike."""
    clause = "the induction over workers, edges, paths and queues is by hand"
    shown = CliRunner().invoke(app, ["verify", "progress", "--help"], env={"COLUMNS": "250"}).output
    printed = (ROOT / "src/tidegate/cli/proofs.py").read_text(encoding="utf-8")
    proofs = (ROOT / "docs/progress.md").read_text(encoding="utf-8")
    assert [clause in " ".join(text.split()) for text in (PAGE, proofs, printed, shown)] == [True] * 4


def test_a_name_that_is_not_there_is_found() -> None:
    """The checks themselves can fail."""
    with pytest.raises(ImportError):
        lookup("tidegate.spec.nonesuch")
    with pytest.raises(AssertionError):
        check_command("tidegate verify progress --nonesuch")
    with pytest.raises(AssertionError):
        check_command("tidegate nonesuch")


def test_all_operators_and_protocols_are_on_the_page() -> None:
    """Every operator of the specification, every protocol, and every Aggregate has a row."""
    operators = [name for name in spec.__all__ if name.endswith("_op")]
    assert len(operators) > 10
    protocols = [name for name in progress.__all__ if f"{name}Conf" in progress.__all__]
    assert protocols == ["Clocks", "Exchange", "Propagation", "Tracker"]
    aggregates = ["A", "A_plus", "M", "F", "J", "A_infinity", "composed_M", "composed_F", "composed_J"]
    assert set(aggregates) <= set(aggregate.__all__)
    known = {name.rpartition(".")[2] for row in rows() for name in names(row[2])}
    assert [n for n in (*operators, *protocols, *aggregates) if n not in known] == []


# What the page says of the one tracker.

LINE = st.lists(st.integers(0, 9), max_size=1)
PAIRS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=3)


def flow_of(time: tuple[str, ...]) -> tg.Flow:
    """Two sources that meet, and a loop over one of them."""
    flow = tg.Flow("two")
    schema = ", ".join(f"{name} INT" for name in (*time, "x", "y"))
    left, right = (flow.source(name, schema, time=time) for name in ("left", "right"))
    flow.sink("both", left.aggregate(by="x", n="count(*)").join(right.aggregate(by="x", m="count(*)"), on="x"))
    step = "SELECT e.y AS node, k.label FROM known k JOIN input e ON e.x = k.node"
    loop = left.iterate(
        start="SELECT x AS node, x AS label FROM input", step=step, key="node", keep="min(label) AS label"
    )
    flow.sink("reached", loop)
    return flow


@pytest.mark.parametrize(("time", "times"), [(("t",), LINE), (("t", "v"), PAIRS)])
@given(data=st.data())
def test_the_tracker_holds_nothing_that_is_not_in_the_commit(
    time: tuple[str, ...], times: Any, data: st.DataObject
) -> None:
    """Moved from step to step, it is the tracker that a new run makes from the frontiers of the last commit alone."""
    plan = flow_of(time).plan

    def drawn() -> dict[str, Antichain[Any]]:
        return {s.id: Antichain.minimal(s.schema.order, data.draw(times)) for s in plan.sources}

    last = drawn()
    moved = Tracking(plan, last)
    [loop] = [operator for operator in plan if isinstance(operator, Iterate)]
    for _ in range(data.draw(st.integers(1, 4))):
        last = drawn()
        moved.begin_round(loop, 1 if len(time) == 1 else (1, 1), 2)
        moved.move(last)
        moved.begin_round(loop, None, 3)
    fresh = Tracking(plan, last)
    for location in moved.progress.graph.locations:
        assert moved.progress.frontier(location) == fresh.progress.frontier(location)
        assert moved.progress.pointstamps(location) == fresh.progress.pointstamps(location)


def test_only_sources_hold_pointstamps_between_steps() -> None:
    """No operator, loop or sink holds any: workers have nothing to tell a tracker of."""
    plan = flow_of(("t",)).plan
    tracking = Tracking(plan, {s.id: Antichain(s.schema.order, [3]) for s in plan.sources})
    held = [l for l in tracking.progress.graph.locations if len(tracking.progress.pointstamps(l))]
    assert held == [s.id for s in plan.sources]
