"""Damaged files: a start refuses with an error of ours, or gives the rows of an undisturbed run."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.deaths import Died, Killer
from tests.local_engine.test_crashes import CUTS, found_in, go_on, through
from tests.spark.damages import DAMAGES, flipped
from tests.spark.place import Feed
from tidegate.engine.steps import publishing, recovery
from tidegate.engine.storage import manifest
from tidegate.errors import TidegateError
from tidegate.local_engine.streaming import parts

#: What is damaged: a checkpoint whose last step is committed and not published, and one whose run was stopped.
MOMENTS = {"committed": ("after commit", 1), "stopped": ("begin", 2)}
_PLACES = ("checkpoint", "windows", "most")
HARMS: dict[str, Callable[[Path], None]] = {
    **DAMAGES,
    "a bit flipped in the middle": lambda file: flipped(file, file.stat().st_size // 2),
    "deleted with its directory": lambda file: shutil.rmtree(file.parent),
}


class Recorded:
    """A run that died at a moment, which can be put back."""

    def __init__(self, home: Path, moment: str) -> None:
        self.home, self._copy = home / moment, home / f"{moment} as it was"
        self.home.mkdir()
        feed = Feed(self.home / "in")
        for cut in CUTS:
            feed.add(*cut)
        with pytest.raises(Died):
            go_on(self.home, Killer(*MOMENTS[moment]))
        shutil.copytree(self.home, self._copy)
        self.files = sorted(
            str(path.relative_to(self.home))
            for place in _PLACES
            for path in (self.home / place).rglob("*")
            if path.is_file()
        )

    def put_back(self) -> None:
        for place in _PLACES:
            shutil.rmtree(self.home / place, ignore_errors=True)
            shutil.copytree(self._copy / place, self.home / place)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> list[Recorded]:
    """A run at each moment."""
    home = tmp_path_factory.mktemp("recorded")
    return [Recorded(home, moment) for moment in MOMENTS]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """What a run gives that nothing happens to."""
    return through(tmp_path_factory.mktemp("undisturbed"))


def verdicts(recorded: list[Recorded], undisturbed: Any, *, each: int) -> Iterator[tuple[str, str]]:
    """Damage one file after the other, in one way after the other, and say what came of it; one of so many is tried."""
    trials = [(run, file, harm) for run in recorded for file in run.files for harm in HARMS]
    for run, file, harm in trials[::each]:
        run.put_back()
        path = run.home / file
        if not path.stat().st_size:
            continue
        HARMS[harm](path)
        where = f"{run.home.name}: {file}, {harm}"
        try:
            go_on(run.home, lambda point, step: None)
            yield where, "right" if found_in(run.home) == undisturbed else "WRONG ROWS"
        except TidegateError:
            yield where, "refused"
        except Exception as error:
            yield where, f"ODD ERROR {type(error).__name__}: {error}"


@pytest.mark.parametrize("each", [23, pytest.param(1, marks=pytest.mark.slow)])
def test_damaged_files_are_refused_or_do_not_matter(recorded: list[Recorded], undisturbed: Any, each: int) -> None:
    """Every file of a checkpoint and its outputs, damaged in every way: no wrong rows, and no error of another's."""
    found = dict(verdicts(recorded, undisturbed, each=each))
    assert {where: said for where, said in found.items() if said not in ("right", "refused")} == {}
    assert "refused" in found.values()


@pytest.mark.slow
def test_a_start_that_does_not_look_is_caught(
    recorded: list[Recorded], undisturbed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the checks of parts and files, some damages change what comes out, or are told by DuckDB."""
    for module in (parts, publishing, recovery):
        monkeypatch.setattr(module, "check_part", lambda *given, **options: None)
    monkeypatch.setattr(
        manifest, "_difference", lambda files, path, entry, size, **options: "is missing" if size is None else ""
    )
    said = {said.split()[0] for _, said in verdicts(recorded, undisturbed, each=5)}
    assert said & {"WRONG", "ODD"}
