"""The wheel: what is inside, and that it works where nothing else is installed and no clone is near.

An environment begins empty. It gets the wheel by pip, and of this environment exactly the packages that the wheel's
metadata asks for, as links: a requirement that the metadata forgets is missing there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from email import message_from_string
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.test_extras import unneeded
from tidegate import __version__

ROOT = Path(__file__).parents[1]
EDITS = (ROOT / "examples" / "edits.py").read_text(encoding="utf-8")


#: Runs a flow on the local engine, first without a page and then with one.
PAGED = """
import sys, tidegate as tg
from urllib.request import urlopen
from edits import flow

def start(name, **options):
    outputs = {"hourly": tg.parquet(f"{name}/out")}
    return flow.start(tg.local(), {"edits": tg.files("none/*.parquet")}, outputs, f"{name}/checkpoint", **options)

with start("one"):
    loaded = "tidegate.live" in sys.modules
with start("two", ui=0) as run:
    address = run.ui.partition("#")[0]
    with urlopen(address + "api/run/0") as found, urlopen(address + "static/main.js") as script:
        import json
        print(loaded, "tidegate.live" in sys.modules, json.load(found)["state"], script.status)
"""


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a command that knows this machine's programs and its Java, and nothing else of this process."""
    known = {name: os.environ[name] for name in ("PATH", "JAVA_HOME") if name in os.environ}
    environment = {**known, "HOME": str(cwd), "SPARK_LOCAL_IP": "127.0.0.1", "COLUMNS": "120"}
    # A short run: to compile well takes longer than it saves.
    environment["JDK_JAVA_OPTIONS"] = "-XX:TieredStopAtLevel=1"
    arguments = list(map(str, command))
    return subprocess.run(arguments, capture_output=True, text=True, timeout=600, check=False, cwd=cwd, env=environment)


def build(source: Path, target: str, into: Path) -> Path:
    """Build the source archive or the wheel of a directory, as `make dist` does."""
    done = run(sys.executable, "-m", "hatchling", "build", "-t", target, "-d", into, cwd=source)
    assert done.returncode == 0, done.stderr
    (built,) = into.iterdir()
    return built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that is built from the source archive: so the archive has all that it takes."""
    place = tmp_path_factory.mktemp("dist")
    archive = build(ROOT, "sdist", place / "archive")
    with tarfile.open(archive) as file:
        file.extractall(place / "source", filter="data")
    return build(place / "source" / f"tidegate-{__version__}", "wheel", place / "wheel")


@dataclass(frozen=True, slots=True)
class Environment:
    """A virtual environment, and the directory that it is used from."""

    root: Path
    place: Path
    wheel: Path

    def add(self, *extras: str) -> None:
        """Link the packages that the wheel asks for with some extras, and those that they ask for."""
        with zipfile.ZipFile(self.wheel) as file:
            metadata = message_from_string(file.read(f"tidegate-{__version__}.dist-info/METADATA").decode())
        self.link([(Requirement(text), extra) for text in metadata.get_all("Requires-Dist", []) for extra in extras])

    def link(self, pending: list[tuple[Requirement, str]]) -> None:
        """Link packages, each as some extra asks for it, and those that they ask for."""
        seen = set()
        while pending:
            requirement, extra = pending.pop()
            applies = requirement.marker is None or requirement.marker.evaluate({"extra": extra})
            if not applies or (str(requirement), extra) in seen:
                continue
            seen.add((str(requirement), extra))
            found = distribution(requirement.name)
            assert requirement.specifier.contains(found.version, prereleases=True), requirement
            for name in {file.parts[0] for file in found.files or ()} - {"..", "__pycache__"}:
                link = self.packages / name
                if not link.exists():
                    link.symlink_to(found.locate_file(name))  # type: ignore[arg-type]
            pending += [(Requirement(text), e) for text in found.requires or () for e in ("", *requirement.extras)]

    @property
    def packages(self) -> Path:
        return self.root / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"

    def python(self, program: str) -> subprocess.CompletedProcess[str]:
        return run(self.root / "bin" / "python", "-c", program, cwd=self.place)

    def tidegate(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return run(self.root / "bin" / "tidegate", *arguments, cwd=self.place)


@pytest.fixture
def environment(wheel: Path, tmp_path: Path) -> Environment:
    """An environment with the wheel and what its base needs."""
    root, place = tmp_path / "environment", tmp_path / "elsewhere"
    place.mkdir()
    (place / "edits.py").write_text(EDITS, encoding="utf-8")
    assert run(sys.executable, "-m", "venv", "--without-pip", root, cwd=place).returncode == 0
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", root / "bin" / "python"]
    done = run(*pip, "install", "--no-index", "--no-deps", wheel, cwd=place)
    assert done.returncode == 0, done.stderr
    made = Environment(root, place, wheel)
    made.add("")
    assert "No broken requirements found" in run(*pip, "check", cwd=place).stdout
    return made


def test_the_wheel_has_the_package_and_nothing_else(wheel: Path) -> None:
    """Every file is a module of the package, or about it; its types can be used, and its license is there."""
    with zipfile.ZipFile(wheel) as file:
        names = file.namelist()
        about = f"tidegate-{__version__}.dist-info"
        metadata = message_from_string(file.read(f"{about}/METADATA").decode())
    others = {name for name in names if not (name.startswith("tidegate/") and name.endswith(".py"))}
    parts = ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE")
    examples = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src").rglob("*.json")}
    page = {f"tidegate/live/page/{path.name}" for path in (ROOT / "src" / "tidegate" / "live" / "page").iterdir()}
    assert {"tidegate/live/page/index.html", "tidegate/live/page/main.js", "tidegate/live/page/page.css"} <= page
    assert others == {"tidegate/py.typed", *examples, *page, *(f"{about}/{part}" for part in parts)}
    modules = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src").rglob("*.py")}
    assert {name for name in names if name.endswith(".py")} == modules
    assert not [name for name in modules if "test" in Path(name).name or "bench" in name]
    assert (metadata["Version"], wheel.name) == (__version__, f"tidegate-{__version__}-py3-none-any.whl")


def test_each_extra_adds_what_it_is_for(environment: Environment) -> None:
    """Without extras, a flow on timestamps runs on the specification; `cli` adds the command, and `check` one more."""
    done = environment.python("""
from datetime import datetime
from importlib.metadata import version
import duckdb, tidegate
from edits import flow

t = datetime(2026, 1, 1, 0, 10)
events = [tidegate.DT(t, {"ts": t, "page": "home", "bytes": 120}), tidegate.WM(t.replace(hour=2))]
print(flow.reference({"edits": events}).rows("hourly")[0]["bytes"])
print(duckdb.sql("SELECT TIMESTAMPTZ '2026-01-01 00:00:00+00'").fetchall()[0][0].year)
print(version("tidegate"), tidegate.__version__, tidegate.__file__)
""")
    assert done.stderr == ""
    inside = environment.packages / "tidegate" / "__init__.py"
    assert done.stdout.split() == ["120", "2026", __version__, __version__, str(inside)]
    done = environment.python(PAGED)
    assert (done.stdout, done.stderr) == ("False True running 200\n", "")
    done = environment.tidegate("--help")
    expected = "the command tidegate needs the extra 'cli', and rich is not installed: pip install 'tidegate[cli]'\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", expected)
    environment.add("cli")
    assert "Time-aware stream processing" in environment.tidegate("--help").stdout
    assert environment.tidegate("--version").stdout == f"tidegate {__version__}\n"
    assert environment.tidegate("explain", "edits.py").stdout.startswith("flow edits")
    assert "t5" in environment.tidegate("demo", "operators").stdout
    assert "pip install 'tidegate[spark]'" in environment.tidegate("demo").stdout
    environment.add("check")
    done = environment.tidegate("check", "batch_op", "--examples", "3")
    assert done.returncode == 0, done.stdout + done.stderr


def test_pytest_knows_the_kit_without_any_extra(environment: Environment) -> None:
    """The plugin comes with the wheel: a test runs on two engines, and for Spark the extra is named."""
    environment.link([(Requirement("pytest"), "")])
    (environment.place / "test_edits.py").write_text(
        """
import sys
import tidegate.testing as tt
from edits import flow

def test_hourly(engine):
    test = tt.trial(flow, engine)
    test.send("edits", {"ts": "2026-01-01 00:10:00", "page": "home", "bytes": 120})
    test.advance("edits", "2026-01-01 01:00:00")
    assert test.rows("hourly")[0]["bytes"] == 120
    assert not {"hypothesis", "pyspark", "rich"} & set(sys.modules)
""",
        encoding="utf-8",
    )
    done = run(environment.root / "bin" / "python", "-m", "pytest", "-q", cwd=environment.place)
    assert "2 passed" in done.stdout, done.stdout + done.stderr
    done = run(environment.root / "bin" / "python", "-m", "pytest", "--tidegate-engines=spark", cwd=environment.place)
    assert "--tidegate-engines=spark needs the extra 'spark', and pyspark is not installed" in done.stdout


@pytest.mark.slow
def test_a_flow_runs_on_spark(environment: Environment) -> None:
    """With `spark` alone, an example runs bounded and as a stream, and loads nothing of checks and commands."""
    environment.add("spark")
    done = environment.python("""
import json, runpy, sys
runpy.run_path("edits.py", run_name="__main__")
print(json.dumps(sorted(sys.modules)))
""")
    assert done.returncode == 0, done.stderr
    printed = done.stdout.splitlines()
    assert len([line for line in printed if line.startswith("|2026")]) == 6
    assert "tidegate.spark.streaming.engine" in json.loads(printed[-1])
    assert unneeded(json.loads(printed[-1]), ["hypothesis", "rich", "typer", "psycopg", "deltalake"]) == []
