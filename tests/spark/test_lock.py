"""The lock of a checkpoint: of all that want it one has it, and a run that was taken for dead can't commit any more."""

from __future__ import annotations

import json
import multiprocessing
import os
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest

from tidegate.engine.storage import lock as lock_module
from tidegate.engine.storage import log as log_module
from tidegate.engine.storage.errors import BadCheckpoint, CheckpointInUse, Superseded
from tidegate.engine.storage.files import Files
from tidegate.engine.storage.lock import Lock, holder
from tidegate.engine.storage.log import NOBODY, Token, append, read_log, sweep_log, write_fence

ELSEWHERE = {"host": "elsewhere", "boot": "x", "process": 1, "started": "1", "space": "pid:[1]"}
COMMIT: dict[str, Any] = {
    "format": 1,
    "batch": None,
    "query": "",
    "offsets": "",
    "sources": {},
    "state": {},
    "publish": [],
    "outputs": {},
    "flow": {},
    "ended": False,
    "outlets": {},
}


def dated(path: Path, age: float) -> None:
    os.utime(path, (time.time() - age, time.time() - age))


def leave_dead(path: Path) -> None:
    """Leave a lock behind whose holder, on another host, was not heard of for a day."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(ELSEWHERE))
    dated(path, 86_400)


def commit(files: Files, number: int, step: int, token: Token = NOBODY, *, before: int = -1) -> bool:
    return append(files, number, COMMIT | {"step": step}, token, before=before) == number


def race(directory: Path, starters: int, lock: Callable[[Files], Lock] = Lock) -> int:
    """Let threads take the lock of a dead run at the same time; answer how many have it."""
    leave_dead(directory / "locks" / "7")
    files, start, won = Files(directory), Barrier(starters), []

    def acquire() -> None:
        own = lock(files)
        start.wait()
        try:
            own.acquire()
        except CheckpointInUse:
            return
        won.append(own)

    threads = [Thread(target=acquire) for _ in range(starters)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for own in won:
        own.release()
    return len(won)


def _race_beside(directory: Path, races: int, start: Any, won: Any) -> None:
    """Take part in races of processes; count the wins in each, and hold what is won until the others have tried."""
    for number in range(races):
        own = Lock(Files(directory / str(number)))
        start.wait(60)
        try:
            own.acquire()
            with won.get_lock():
                won[number] += 1
        except CheckpointInUse:
            pass
        start.wait(60)
        own.release()


def test_of_many_processes_one_replaces_a_dead_run(tmp_path: Path) -> None:
    """In forty races of three, one has the lock each time, and writes one fence."""
    races, starters = 40, 3
    for number in range(races):
        leave_dead(tmp_path / str(number) / "locks" / "7")
    spawn = multiprocessing.get_context("spawn")
    start, won = spawn.Barrier(starters), spawn.Array("i", races)
    processes = [spawn.Process(target=_race_beside, args=(tmp_path, races, start, won)) for _ in range(starters)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)
    assert [process.exitcode for process in processes] == [0] * starters
    assert list(won) == [1] * races
    assert all([path.name for path in (tmp_path / str(n) / "commits").iterdir()] == ["0"] for n in range(races))


def test_of_many_threads_one_replaces_a_dead_run(tmp_path: Path) -> None:
    """In two hundred races of four: runs of one process are kept apart as well."""
    assert [race(tmp_path / str(number), 4) for number in range(200)] == [1] * 200


class _Deleting(Lock):
    """A lock that replaces a dead holder in three operations: it reads, deletes and creates, with time between them."""

    def acquire(self) -> None:
        files, name, content = self._files, "locks/7", ELSEWHERE | {"token": self._id}
        if not files.create(name, content):
            with suppress(BadCheckpoint, FileNotFoundError):  # it was given back just now
                if "token" in files.read(name, "a lock", {}):
                    raise CheckpointInUse("in use")
                time.sleep(0.002)
                files.delete(name)
            if not files.create(name, content):
                raise CheckpointInUse("in use")


def test_a_lock_that_is_read_deleted_and_created_is_caught(tmp_path: Path) -> None:
    """The races find the two holders that three operations allow."""
    assert any(race(tmp_path / str(number), 8, _Deleting) > 1 for number in range(50))


class _Hasty(Lock):
    """A lock that does not look once more when it has created its number, which may have been deleted long ago."""

    def _check_still_newest(self) -> None:
        pass


@pytest.mark.parametrize("lock", [Lock, _Hasty])
def test_a_starter_that_slept_through_the_lives_of_others_withdraws(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lock: type[Lock]
) -> None:
    """The number that it found free was taken, given back and forgotten; only a second look shows that."""
    files = Files(tmp_path)
    leave_dead(tmp_path / "locks" / "1")
    late, real = lock(files), lock_module.Lock._refuse_alive

    def sleep(self: Lock, name: str) -> None:
        real(self, name)
        if self is late:
            for _ in range(15):
                other = Lock(files)
                other.acquire()
                other.release()
            living.acquire()

    living = Lock(files)
    monkeypatch.setattr(lock_module.Lock, "_refuse_alive", sleep)
    if lock is _Hasty:
        late.acquire()
        assert living._held
    else:
        with pytest.raises(CheckpointInUse, match=f"process {os.getpid()}"):
            late.acquire()
        assert not (tmp_path / "locks" / "2").exists()
    living.check()
    living.release()


def test_a_lock_is_given_back_and_taken_without_a_fence(tmp_path: Path) -> None:
    """Who has given it back can't commit: nothing has to be kept out; old files go."""
    files = Files(tmp_path)
    for _ in range(30):
        lock = Lock(files)
        lock.acquire()
        with pytest.raises(CheckpointInUse, match=f"in use by process {os.getpid()} on {socket.gethostname()}"):
            Lock(files).acquire()
        assert holder(files) == f"process {os.getpid()} on {socket.gethostname()}"
        lock.release()
        assert holder(files) == ""
        with pytest.raises(Superseded, match="released the lock"), lock.committing():
            pass
    assert read_log(files).number == -1
    assert len(list((tmp_path / "locks").iterdir())) <= 24


def replaced(files: Files, monkeypatch: pytest.MonkeyPatch) -> tuple[Lock, Lock]:
    """Return the lock of a run that lives and was taken for dead, and that of the run which has replaced it."""
    with monkeypatch.context() as patched:
        patched.setattr(lock_module, "_here", lambda: ELSEWHERE)
        old = Lock(files)
        old.acquire()
    dated(Path(files.root.removeprefix("file:")) / "locks" / str(old.token.lock), 86_400)
    new = Lock(files)
    new.acquire()
    return old, new


def test_a_run_that_was_replaced_finds_its_next_number_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when it has looked just before, and however long it slept: a fence is never deleted."""
    files = Files(tmp_path)
    assert commit(files, 0, 0)
    old, new = replaced(files, monkeypatch)
    assert read_log(files).number == 1
    assert read_log(files).token == new.token
    assert read_log(files).commit == COMMIT | {"step": 0, "number": 0, "token": {"lock": 0, "id": ""}}
    monkeypatch.setattr(log_module, "_KEPT", 10)
    for number in range(2, 30):
        assert commit(files, number, number - 1, before=number - 1 if number > 2 else 0)
    assert not commit(files, 1, 1)
    assert len(list((tmp_path / "commits").iterdir())) == 11
    with pytest.raises(Superseded, match=f"process {os.getpid()} on {socket.gethostname()} works on"), old.committing():
        pass
    old.release()
    assert holder(files)
    new.release()
    assert not holder(files)


def test_the_last_commit_outlives_any_number_of_fences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs that die one after the other before they commit anything take nothing away."""
    files = Files(tmp_path)
    assert commit(files, 0, 0)
    monkeypatch.setattr(log_module, "_KEPT", 10)
    for _ in range(12):
        replaced(files, monkeypatch)[1].release()
    found = read_log(files)
    assert (found.number, found.commit and found.commit["step"]) == (12, 0)
    assert commit(files, 13, 1, before=0)
    assert (read_log(files).commit or {})["step"] == 1
    assert not (tmp_path / "commits" / "0").exists()


@pytest.mark.parametrize("damage", ["emptied", "a directory", "kept by the disk"])
def test_what_is_wrong_with_a_commit_that_nobody_needs_fails_no_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    """The new one is committed by then. One that can't be read may be a fence, and stays."""
    monkeypatch.setattr(log_module, "_KEPT", 5)
    files, old = Files(tmp_path), tmp_path / "commits" / "0"
    for number in range(5):
        assert commit(files, number, number, before=number - 1)
    if damage == "kept by the disk":

        def refused(name: str) -> None:
            raise PermissionError(f"Operation not permitted: {name}")

        monkeypatch.setattr(files, "delete", refused)
    else:
        old.unlink()
        old.mkdir() if damage == "a directory" else old.touch()
    assert commit(files, 5, 5, before=4)
    assert old.exists()


def test_commits_that_a_killed_run_has_left_are_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It died between its commit and the deletion of an old one; fences stay."""
    files = Files(tmp_path)
    assert commit(files, 0, 0)
    write_fence(files, Token(1, "a"))
    for number in range(2, 9):
        assert commit(files, number, number - 1)
    monkeypatch.setattr(log_module, "_KEPT", 5)
    sweep_log(files, 8)
    assert files.numbers("commits") == [8, 7, 6, 5, 4, 1]


def test_a_run_that_is_not_fenced_is_not_taken_for_given_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who dies between the lock and the fence leaves the fence to the next."""
    files = Files(tmp_path)
    leave_dead(tmp_path / "locks" / "1")
    with monkeypatch.context() as patched:
        patched.setattr(lock_module, "write_fence", lambda files, token: None)
        patched.setattr(lock_module, "_here", lambda: ELSEWHERE)
        Lock(files).acquire()
    dated(tmp_path / "locks" / "2", 86_400)
    after = Lock(files)
    after.acquire()
    assert (read_log(files).number, read_log(files).token.lock) == (0, 3)
    after.release()


@pytest.mark.parametrize("died", [False, True])
@pytest.mark.parametrize("step", ["write_fence", "_forget"])
def test_a_run_that_could_not_take_the_lock_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, *, died: bool
) -> None:
    """Its process goes on, and nobody waits for it. A fence that was due is still due."""
    files = Files(tmp_path)
    if died:
        leave_dead(tmp_path / "locks" / "1")

    def full(*given: Any) -> None:
        raise OSError("No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(lock_module if step == "write_fence" else Lock, step, full)
        lock = Lock(files)
        if died or step == "_forget":
            with pytest.raises(OSError, match="No space left"):
                lock.acquire()
        lock.release()
    assert holder(files) == ("process 1 on elsewhere" if died else "")
    before = read_log(files).number
    after = Lock(files)
    after.acquire()
    assert read_log(files).number == before + died
    after.release()


def test_a_starter_that_was_replaced_before_its_fence_withdraws_and_keeps_nobody_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its fence comes after the commits of the other, which goes on behind it."""
    files = Files(tmp_path)
    leave_dead(tmp_path / "locks" / "1")
    new = Lock(files)

    def slept(files: Files, token: Token) -> None:
        with monkeypatch.context() as patched:
            patched.setattr(lock_module, "write_fence", write_fence)
            dated(tmp_path / "locks" / "2", 86_400)
            new.acquire()
        assert commit(files, 1, 0, new.token)
        write_fence(files, token)

    with monkeypatch.context() as patched:
        patched.setattr(lock_module, "write_fence", slept)
        patched.setattr(lock_module.Lock, "_dead", lambda self, found, name: self is new or name == "locks/1")
        with pytest.raises(CheckpointInUse, match=f"process {os.getpid()}"):
            Lock(files).acquire()
    assert (read_log(files).number, read_log(files).token.lock) == (2, 2)
    assert append(files, 2, COMMIT | {"step": 1}, new.token, before=1) == 3
    assert append(files, 3, COMMIT | {"step": 1}, new.token, before=1) is None
    new.check()
    new.release()


def test_a_heartbeat_finds_out_that_the_run_was_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that has no steps to do learns it too; the file of the other is not touched."""
    monkeypatch.setattr(lock_module, "_BEAT", 0.01)
    files = Files(tmp_path)
    old, new = replaced(files, monkeypatch)
    deadline = time.monotonic() + 30
    while old.lost is None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert isinstance(old.lost, Superseded)
    assert new.lost is None
    new.release()
    old.release()


def test_a_heartbeat_finds_out_although_the_file_of_the_run_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a run that slept through the lives of many others, which have forgotten it."""
    old, new = replaced(Files(tmp_path), monkeypatch)
    (tmp_path / "locks" / str(old.token.lock)).unlink()
    monkeypatch.setattr(lock_module, "_BEAT", 0.01)
    beating = Thread(target=old._beat, daemon=True)
    beating.start()
    beating.join(30)
    old._stop.set()
    assert isinstance(old.lost, Superseded)
    new.release()
    old.release()


def test_the_lock_of_an_earlier_version_is_honoured(tmp_path: Path) -> None:
    """A single file ``lock``: its holder is left alone while it lives, and replaced when it is dead."""
    files, single = Files(tmp_path), tmp_path / "lock"
    single.write_text(json.dumps(ELSEWHERE))
    with pytest.raises(CheckpointInUse, match="process 1 on elsewhere"):
        Lock(files).acquire()
    assert holder(files) == "process 1 on elsewhere"
    leave_dead(single)
    lock = Lock(files)
    lock.acquire()
    assert not single.exists()
    assert read_log(files).number == 0
    lock.release()


#: A number that no process has.
NO_PROCESS = 2**22 + 1


@pytest.mark.parametrize(
    ("holder", "hidden"),
    [
        pytest.param({"process": NO_PROCESS, "space": "pid:[1]"}, "", id="in another container"),
        pytest.param({"process": NO_PROCESS, "boot": "another"}, "", id="on another machine of the same name"),
        pytest.param({"process": 1}, "/proc/1/", id="of a user whose processes are hidden"),
        pytest.param({"process": 1, "boot": "", "started": "", "space": ""}, "/proc/", id="where nothing is known"),
    ],
)
def test_a_holder_that_can_not_be_seen_from_here_lives_while_it_touches_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, holder: dict[str, Any], hidden: str
) -> None:
    """A number of a process says nothing in another container, and may be another's; a heartbeat does."""
    real = {name: getattr(lock_module, name) for name in ("_read", "_link")}
    for name, function in real.items():
        shown = lambda path, f=function: "" if hidden and path.startswith(hidden) else f(path)  # noqa: E731
        monkeypatch.setattr(lock_module, name, shown)
    files, path = Files(tmp_path), tmp_path / "locks" / "1"
    files.create("locks/1", lock_module._here() | holder)
    with pytest.raises(CheckpointInUse, match=f"in use by process {holder['process']} on {socket.gethostname()}"):
        Lock(files).acquire()
    dated(path, 61)
    lock = Lock(files)
    lock.acquire()
    assert read_log(files).token == lock.token
    lock.release()


@pytest.mark.parametrize(
    "holder", [{"process": NO_PROCESS}, {"process": 1, "started": "1"}, {"process": 1, "boot": "another"}]
)
def test_a_holder_that_was_here_and_is_dead_is_replaced_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, holder: dict[str, Any]
) -> None:
    """Its process is gone, or its number is another's by now, or the machine was started since."""
    files = Files(tmp_path)
    files.create("locks/1", lock_module._here() | holder)
    if "boot" in holder:
        monkeypatch.setattr(lock_module, "_booted", lambda: time.time() + 1)
    lock = Lock(files)
    lock.acquire()
    assert read_log(files).token == lock.token
    lock.release()


@pytest.mark.parametrize("name", ["lock", "locks/3"])
@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"host": 3, "process": 1}', '{"host": "a", "process": "x"}'])
def test_a_lock_that_can_not_be_read_is_no_proof_of_death(tmp_path: Path, name: str, content: str) -> None:
    """It is refused by name; when nobody has touched it for a while, it is replaced, with a fence.

    Nobody is told to delete it: whoever did so wrongly would have taken the fence away.
    """
    files, path = Files(tmp_path), tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(content)
    with pytest.raises(
        CheckpointInUse, match=f"(?s)expected the holder of a lock in .*{name}.*hint: .*{name}"
    ) as error:
        Lock(files).acquire()
    assert "delete" not in error.value.hint
    assert holder(files) == "another run"
    dated(path, 3600)
    lock = Lock(files)
    lock.acquire()
    assert read_log(files).number == 0
    lock.release()


def test_a_lock_that_is_deleted_under_its_run_is_told(tmp_path: Path) -> None:
    """Nobody else has it, and nobody can know."""
    lock = Lock(Files(tmp_path))
    lock.acquire()
    (tmp_path / "locks" / "1").unlink()
    with pytest.raises(BadCheckpoint, match="locks/1, the lock of this run, is gone"), lock.committing():
        pass
    lock.release()


def test_a_number_that_another_run_was_given_is_not_ones_own(tmp_path: Path) -> None:
    """Someone has deleted the file of a run that lives: it stops, and does not give back what the other has."""
    files = Files(tmp_path)
    old, new = Lock(files), Lock(files)
    old.acquire()
    (tmp_path / "locks" / "1").unlink()
    new.acquire()
    assert old.token.lock == new.token.lock
    with pytest.raises(Superseded, match=f"process {os.getpid()} on .* works on"), old.committing():
        pass
    old.release()
    assert holder(files)
    with new.committing():
        pass
    new.release()
    assert not holder(files)
