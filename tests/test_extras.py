"""Extras: what is missing is named in one line, and a job loads nothing that it does not need."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import tidegate as tg
from tidegate.errors import TidegateError
from tidegate.extras import EXTRAS, MissingExtra, require
from tidegate.flow.errors import NotSupported
from tidegate.spark.versions import TRIED, check_version

ROOT = Path(__file__).parents[1]
EXAMPLE = str(ROOT / "examples" / "edits.py")

# Refuses to import some packages, as in an environment that does not have them; then runs the program.
WITHOUT = """
import importlib.abc, sys

class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {absent!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
sys.argv = ["tidegate", *sys.argv[1:]]
"""
COMMAND = "from tidegate.__main__ import main; main()"
FLOW = """
import tidegate as tg

flow = tg.Flow("edits")
edits = flow.source("edits", "ts TIMESTAMP, page STRING", time="ts", watermark=tg.bounded("1 minute"))
flow.sink("n", edits.window("1 hour").aggregate(by="page", n="count(*)"))
"""


def without(extra: str, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a process that has the packages of all extras but one."""
    code = WITHOUT.format(absent=set(EXTRAS[extra])) + program
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize(
    ("extra", "purpose", "arguments"),
    [
        ("cli", "the command tidegate", ["--help"]),
        ("check", "tidegate check", ["check", "batch_op"]),
        ("check", "tidegate verify", ["verify", "progress"]),
        ("prove", "tidegate verify progress --prove", ["verify", "progress", "--prove"]),
        ("spark", "tidegate run", ["run", EXAMPLE, "-i", "edits=in.csv", "-o", "hourly=out"]),
        ("spark", "tidegate demo git", ["demo", "git"]),
    ],
)
def test_a_command_without_its_extra_says_so_in_one_line(extra: str, purpose: str, arguments: list[str]) -> None:
    """The line names what needs which extra, and the command that installs it; there is no traceback."""
    done = without(extra, COMMAND, *arguments)
    line = (
        f"{purpose} needs the extra '{extra}', and {EXTRAS[extra][0]} is not installed: pip install 'tidegate[{extra}]'"
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == line + "\n"


@pytest.mark.parametrize(
    ("extra", "calls"),
    [
        (
            "spark",
            {
                "compute of flow 'edits'": "flow.compute(None, {})",
                "start of flow 'edits'": "flow.start(None, {}, {}, 'checkpoint')",
                "tg.read": "tg.read(None, 'out')",
                "tg.read_stream": "tg.read_stream(None, 'out')",
            },
        ),
        ("prove", {"tidegate.check.proofs": "__import__('tidegate.check.proofs')"}),
        ("check", {"tidegate.check": "__import__('tidegate.check.flows')"}),
        ("postgres", {"tg.postgres": "tg.postgres('hourly')"}),
        ("delta", {"tg.delta": "tg.delta('out')"}),
    ],
)
def test_a_call_without_its_extra_raises_the_same_line(extra: str, calls: dict[str, str]) -> None:
    """The error is a TidegateError and an ImportError, and its text is one line with the command."""
    program = FLOW
    for call in calls.values():
        program += f"\ntry:\n    {call}\nexcept tg.TidegateError as error:\n"
        program += "    assert isinstance(error, ImportError)\n    print(error)"
    done = without(extra, program)
    assert done.stderr == ""
    missing = f"{EXTRAS[extra][0]} is not installed: pip install 'tidegate[{extra}]'"
    assert done.stdout.splitlines() == [f"{purpose} needs the extra '{extra}', and {missing}" for purpose in calls]


def test_the_demo_is_shown_without_spark() -> None:
    """All but the comparison; one line at its end says how to get that."""
    done = without("spark", COMMAND, "demo")
    assert (done.returncode, done.stderr) == (0, "")
    assert "04:00 to 05:00  West Lock       60" in done.stdout
    missing = "the same flow on Spark needs the extra 'spark', and pyspark is not installed"
    assert done.stdout.endswith(f"\n\n   {missing}: pip install 'tidegate[spark]'\n\n")


def test_commands_that_need_no_extra_work_without_it() -> None:
    """Without PySpark and Hypothesis there are still --help and explain."""
    assert "explain" in without("check", COMMAND, "--help").stdout
    assert without("spark", COMMAND, "explain", EXAMPLE).stdout.startswith("flow edits")


def test_flows_run_in_this_process_without_spark() -> None:
    """The local engine needs no PySpark and no Java: nothing of them is loaded, or looked for."""
    program = FLOW + (
        "import pyarrow as pa, sys\n"
        "from datetime import datetime\n"
        "rows = pa.table({'ts': pa.array([datetime(2026, 1, 1)], pa.timestamp('us')), 'page': ['a']})\n"
        "print(flow.compute(tg.local(), {'edits': rows})['n'].fetchall()[0][2:])\n"
        "assert 'pyspark' not in sys.modules and 'tidegate.spark' not in sys.modules\n"
    )
    done = without("spark", program)
    assert (done.returncode, done.stdout) == (0, "('a', 1)\n"), done.stderr


def test_streams_run_from_the_command_line_without_spark(tmp_path: Path) -> None:
    """`tidegate run --engine local --once` loads nothing of PySpark; without the option, the line names the extra."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.csv").write_text("ts,page,bytes\n2026-01-01 00:10:00,a,1\n2026-01-01 02:00:00,b,1\n")
    given = ["run", EXAMPLE, "-i", f"edits={tmp_path / 'in'}", "-o", "hourly=console", "--once", "--checkpoint"]
    done = without("spark", COMMAND, *given, str(tmp_path / "ck"), "--engine", "local")
    assert (done.returncode, "|2026-01-01 00:59:59.999999" in done.stdout) == (0, True), done.stderr
    assert done.stderr.startswith("on the local engine, in this process\nstep 0: 2 rows ")
    assert "the extra 'spark'" in without("spark", COMMAND, *given, str(tmp_path / "other")).stderr


def test_a_package_that_is_broken_is_not_called_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a package is there and fails to import, the line says why."""
    (tmp_path / "deltalake.py").write_text("import nonesuch_of_delta", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "deltalake", raising=False)
    with pytest.raises(MissingExtra, match=r"deltalake cannot be imported \(No module named 'nonesuch_of_delta'\)"):
        require("delta", "tg.delta")


def test_building_a_flow_loads_no_extra() -> None:
    """Building a flow imports neither a package of an extra nor what serves checks and commands."""
    program = FLOW + "\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    assert unneeded(json.loads(done.stdout), [*(m for ms in EXTRAS.values() for m in ms), "tidegate.spark"]) == []


def test_a_run_without_a_page_loads_no_server(tmp_path: Path) -> None:
    """`start` loads no extra, and nothing that serves checks and commands; what serves the page with ``ui`` alone."""
    program = FLOW + (
        "import json, pathlib, sys\n"
        "def start(name, **options):\n"
        "    place = pathlib.Path(sys.argv[1]) / name\n"
        "    inputs, outputs = {'edits': tg.files(place / '*.parquet')}, {'n': tg.parquet(place / 'out')}\n"
        "    return flow.start(tg.local(), inputs, outputs, place / 'checkpoint', **options)\n"
        "with start('one') as run:\n"
        "    print(run.ui, 'http.server' in sys.modules)\n"
        "    print(json.dumps(sorted(sys.modules)))\n"
        "with start('two', ui=0) as run:\n"
        "    print(run.ui.startswith('http://127.0.0.1:'), 'rich' in sys.modules)\n"
    )
    done = without("cli", program, str(tmp_path))
    first, modules, second = done.stdout.splitlines()
    assert (first, second, done.stderr) == ("None False", "True False", "")
    assert unneeded(json.loads(modules), [*(m for ms in EXTRAS.values() for m in ms), "tidegate.spark"]) == []


def unneeded(modules: list[str], packages: list[str]) -> list[str]:
    """Return which modules are of some packages, or of the layers that no job needs."""
    layers = [f"tidegate.{layer}" for layer in ("check", "sim", "testing", "demos", "cli", "ui", "live")]
    return [m for m in modules if any(m == p or m.startswith(f"{p}.") for p in [*packages, *layers])]


def test_a_module_that_is_not_needed_would_be_seen() -> None:
    """The check above finds a package, one of its modules, and nothing whose name only begins alike."""
    assert unneeded(["rich.text", "richer", "tidegate.check", "tidegate.checks", "tidegate.sim.loop"], ["rich"]) == [
        "rich.text",
        "tidegate.check",
        "tidegate.sim.loop",
    ]


def test_extras_are_those_of_the_project_file() -> None:
    """Each extra that errors name is declared, with its packages, and is a part of `all`."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    optional: dict[str, list[str]] = declared["optional-dependencies"]
    names = {extra: tuple(re.match(r"[a-z0-9]+", r)[0] for r in optional[extra]) for extra in EXTRAS}  # type: ignore[index]
    assert names == EXTRAS
    assert set(optional) == {*EXTRAS, "all", "dev", "docs"}
    assert optional["all"] == [f"tidegate[{','.join(sorted(EXTRAS))}]"]
    oldest = ".".join(TRIED[0].split(".")[:2])
    assert optional["spark"] == [f"pyspark>={oldest},<{int(oldest[0]) + 1}"]


@pytest.mark.parametrize("version", ["3.5.9", "5.0.0", "unknown"])
def test_another_major_version_of_pyspark_is_refused(version: str) -> None:
    """A PySpark that is too old or too new is refused with its version, and those that were tried."""
    with pytest.raises(NotSupported, match=rf"got {version}; tried with {', '.join(TRIED)}\n  hint: "):
        check_version(version)


@pytest.mark.spark
def test_the_version_is_looked_at_before_a_run(spark: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Both compute and start refuse it, and name the flow."""
    monkeypatch.setattr("pyspark.__version__", "3.5.9")
    flow = tg.Flow("edits")
    flow.sink("out", flow.source("edits", "t INT", time="t"))
    rows = spark.createDataFrame([(1,)], "t INT")
    with pytest.raises(TidegateError, match=r"got 3.5.9; tried with [\s\S]* at: flow 'edits'"):
        flow.compute(spark, {"edits": rows})
    with pytest.raises(TidegateError, match=r"got 3.5.9; tried with [\s\S]* at: flow 'edits'"):
        flow.start(spark, {"edits": rows}, {"out": tg.parquet(tmp_path / "out")}, tmp_path / "checkpoint")
