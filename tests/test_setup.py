"""The set-up: its scripts are well formed, say what is missing, and install versions that are pinned."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
SCRIPTS = ["scripts/setup", "scripts/pythons", ".ci/run"]
# What the set-up installs: Tidegate with its tools, and what packages are built with.
INSTALLED = ["tidegate[dev]", "editables", "hatchling", "setuptools"]


def pinned() -> dict[str, str]:
    """Return the version of each package in constraints.txt."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    return {canonicalize_name(name): version for name, version in (line.split("==") for line in lines)}


def needed(roots: list[str]) -> dict[str, str]:
    """Return the version of each package in this environment that is there because of the roots, Tidegate excepted."""
    found: dict[str, str] = {}
    seen: set[tuple[str, str]] = set()
    open_ends = [Requirement(root) for root in roots]
    while open_ends:
        requirement = open_ends.pop()
        name = canonicalize_name(requirement.name)
        try:
            package = distribution(name)
        except PackageNotFoundError:
            continue  # another system's, or not needed by this Python
        found[name] = package.version
        for extra in {"", *requirement.extras} - {extra for known, extra in seen if known == name}:
            seen.add((name, extra))
            for line in package.requires or []:
                further = Requirement(line)
                if further.marker is None or further.marker.evaluate({"extra": extra}):
                    open_ends.append(further)
    del found["tidegate"]
    return found


def differing(constraints: dict[str, str]) -> set[str]:
    """Return the packages that are installed in a version that the constraints do not name."""
    return {name for name, version in needed(INSTALLED).items() if constraints.get(name) != version}


@pytest.mark.parametrize("script", SCRIPTS)
def test_scripts_are_well_formed(script):
    """Bash can read each script to its end, and each may be called by name."""
    subprocess.run(["bash", "-n", ROOT / script], check=True)
    assert os.access(ROOT / script, os.X_OK)


def test_constraints_are_names_and_versions():
    """The constraints are names and exact versions, each package once, in order, and nothing else."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][A-Za-z0-9.]*", line)] == []
    names = [canonicalize_name(line.split("==")[0]) for line in lines]
    assert len(names) == len(set(names))


def test_everything_installed_is_pinned():
    """Each package that Tidegate and its tools bring along is installed in the version of the constraints."""
    assert differing(pinned()) == set()


def test_a_missing_or_other_pin_is_found():
    """The check above notices a package without a pin, and one with another version."""
    for name in ("pyspark", "py4j", "mdurl", "hypothesis", "execnet", "setuptools", "pathspec"):
        constraints = pinned()
        del constraints[name]
        assert differing(constraints) == {name}
        assert differing(constraints | {name: "0.0"}) == {name}


@pytest.fixture
def bare(tmp_path):
    """Variables of a shell that finds no Python, no package manager, and no environment that exists."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("bash", "dirname", "head", "id", "readlink", "sed"):
        (programs / name).symlink_to(shutil.which(name) or pytest.skip(f"no {name} here"))
    return {"PATH": str(programs), "HOME": str(tmp_path), "VENV": str(tmp_path / "venv")}


def complaint(variables: dict[str, str]) -> str:
    """Return what the set-up says when it gives up, having made nothing."""
    done = subprocess.run([ROOT / "scripts/setup"], env=variables, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert not Path(variables["VENV"]).exists()
    return done.stderr


def test_a_missing_python_is_named(bare):
    """Without a Python, the set-up names the package, and what to do without root."""
    said = complaint(bare)
    assert "Python 3.11 or newer" in said
    assert "apt-get install python3 python3-venv" in said
    assert "PYTHON=/path/to/python" in said


def test_an_unfit_python_is_refused(bare):
    """A PYTHON that does not serve is refused by name; no other is taken in its place."""
    unfit = shutil.which("true") or pytest.skip("no true here")
    (Path(bare["PATH"]) / "python3").symlink_to(shutil.which("python3") or pytest.skip("no python3 here"))
    for named in (bare["HOME"] + "/python", unfit.replace("true", "false")):
        assert f"PYTHON={named} is no Python 3.11 or newer" in complaint(bare | {"PYTHON": named})


def test_a_missing_java_is_named(bare):
    """With a Python and without Java, the set-up asks for Java alone, and says what to do without root."""
    said = complaint(bare | {"PYTHON": sys.executable, "JVMS": bare["HOME"]})
    assert "Java 17 or newer" in said
    assert "JAVA_HOME=/path/to/jdk" in said
    assert said.rstrip().endswith("apt-get install default-jre-headless")


# Stands for Python, pip and Java, so that nothing is fetched: it makes an environment with itself in it, writes down
# what it is asked for, and kills the set-up where the file `killed_at` says.
STAND_IN = """#!/bin/bash
echo "$*" >> "$LOG"
case "$*" in
  *"-m venv --clear "*) rm -rf "${@: -1}"; mkdir -p "${@: -1}/bin"; cp "$0" "${@: -1}/bin/python" ;;
  *"-m pip install"*) case "$*" in *"$(cat "$KILLED_AT")") kill -9 $PPID; exit 1 ;; esac ;;
  -version*) echo 'openjdk version "17.0.1"' >&2 ;;
esac
"""


def test_a_set_up_that_was_interrupted_begins_anew(bare, tmp_path):
    """A set-up that was killed leaves nothing that counts as whole: the next one clears it, and only that one."""
    for name in ("cat", "cp", "kill", "mkdir", "rm", "tail", "tee", "touch"):
        if found := shutil.which(name):
            (Path(bare["PATH"]) / name).symlink_to(found)
    java, killed_at, log = tmp_path / "jdk" / "bin" / "java", tmp_path / "killed_at", tmp_path / "log"
    java.parent.mkdir(parents=True)
    for program in (java, tmp_path / "python"):
        program.write_text(STAND_IN, encoding="utf-8")
        program.chmod(0o755)
    venv = tmp_path / "an environment"
    variables = bare | {"PYTHON": str(tmp_path / "python"), "JAVA_HOME": str(tmp_path / "jdk"), "VENV": str(venv)}
    variables |= {"KILLED_AT": str(killed_at), "LOG": str(log)}

    def set_up(kill: str) -> list[str]:
        killed_at.write_text(kill, encoding="utf-8")
        log.write_text("", encoding="utf-8")
        subprocess.run([ROOT / "scripts/setup", "tools"], env=variables, capture_output=True, timeout=60)
        return log.read_text(encoding="utf-8").splitlines()

    for last in ("setuptools", "pyspark", ".[dev]"):
        set_up(last)
        assert not (venv / "environment").exists()
        assert not (venv / "tools").exists()
        assert any("-m venv --clear" in line for line in set_up("nothing"))
        assert (venv / "environment").exists()
        assert (venv / "tools").exists()
        again = set_up("nothing")
        assert not any("-m venv" in line for line in again)
        assert any(line.endswith("-e .[dev]") for line in again)
        (venv / "environment").unlink()


@pytest.mark.parametrize("name", ["duckdb", "sqlglot"])
def test_what_expressions_are_translated_by_is_pinned_to_a_minor_version(name: str) -> None:
    """Users get the minor version for which agreement with Spark was shown, and no later one."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (found,) = (r for r in map(Requirement, project["dependencies"]) if r.name == name)
    major, minor, *_ = map(int, pinned()[name].split("."))
    assert pinned()[name] in found.specifier
    assert f"{major}.{minor}.999" in found.specifier
    assert f"{major}.{minor + 1}.0" not in found.specifier
    assert f"{major}.{minor - 1}.999" not in found.specifier if minor else f"{major - 1}.999" not in found.specifier
