"""The server of the page: it tells what the run tells, it only reads, and it lets nobody in who should not be."""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import tidegate as tg
from tests.local_engine.place import Place
from tests.spark.place import DDL
from tidegate.cli import app
from tidegate.flow.errors import BadArgument
from tidegate.live import Page, shared_page
from tidegate.live.access import access_to

#: What a page must show as it is: markup, quotes, what turns a text around, a line of its own, and much of it.
HOSTILE = "<script>alert('1')</script>\"&amp;\u202e\x00\r\n" + "x" * 5000


def ask(page: Page, path: str, *, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
    """Ask a page for something, as a browser would that has been told its address."""
    host, port = page.address.removeprefix("http://").rstrip("/").rsplit(":", 1)
    connection = http.client.HTTPConnection(host.strip("[]"), int(port), timeout=30)
    try:
        connection.putrequest(method, path, skip_host="Host" in headers)
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders()
        found = connection.getresponse()
        return found.status, {name.lower(): value for name, value in found.getheaders()}, found.read()
    finally:
        connection.close()


def answer(page: Page, path: str, **headers: str) -> Any:
    status, _, content = ask(page, path, **headers)
    assert status == 200, content
    return json.loads(content)


@pytest.fixture
def page() -> Iterator[Page]:
    """A page on a free port."""
    found = Page(port=0)
    yield found
    found.close()


def counts() -> tg.Flow:
    flow = tg.Flow("counts")
    rows = flow.source("s", DDL, time="t", watermark=tg.bounded(2))
    flow.sink("out", rows.where("x > 0").aggregate(by="k", n="count(*)"))
    flow.sink("moved", rows.at("t + 10"))
    return flow


def test_a_page_tells_what_the_run_tells(page: Page, tmp_path: Path) -> None:
    """Of a run that has ended: its state, rows, frontiers, reasons, late and rejected rows, held rows and steps."""
    place = Place(tmp_path)
    place.feed.add((1, "a", 1), (9, "b", 2), (None, "n", 3))
    place.feed.add((2, "late", 4), (12, "c", 5))
    run = place.run(counts())
    status = run.status()
    page.add(tmp_path / "checkpoint")
    found = answer(page, "/api/run/0")
    assert (found["flow"], found["state"], found["engine"], found["step"]) == ("counts", "stopped", "local", 1)
    assert found["problems"] == []
    assert {s["name"]: s["frontier"] for s in found["sinks"]} == status.frontiers == {"out": "10", "moved": "20"}
    assert [(s["id"], s["rows"], s["late"], s["rejected"]) for s in found["sources"]] == [("s", 5, 1, 1)]
    assert found["sources"][0]["promises"].startswith("bounded by 2")
    assert [(s["operator"], s["rows"]) for s in found["states"] if s["operator"]] == [("aggregate#1", 1)]
    assert found["states"][0]["bytes"] > 0
    assert {name: p["frontier"] for name, p in found["places"].items()} == {
        "s": "10", "where#1": "10", "aggregate#1": "10", "at#1": "20", "sink out": "10", "sink moved": "20"
    }  # fmt: skip
    steps = run.metrics()
    assert [(s["step"], s["rows"], s["late"]) for s in found["steps"]] == [
        (m["step"], m["rows"], sum(m["late"].values())) for m in steps
    ]
    (why,) = answer(page, "/api/run/0/why?sink=moved&time=25")["reasons"]
    assert [(p["box"], p["time"]) for p in why["path"]] == [("s", "10"), ("at#1", "20"), ("sink moved", "20")]
    assert [tuple(map(str, step)) for step in run.why(25, sink="moved")[0].path] == [
        (p["name"], p["time"]) for p in why["path"]
    ]
    assert answer(page, "/api/run/0/why?sink=moved&time=19") == {"complete": True, "reasons": []}
    assert "expected the name of a sink" in answer(page, "/api/run/0/why?sink=nonesuch&time=1")["error"]
    assert "expected a time of type INT" in answer(page, "/api/run/0/why?sink=out&time=soon")["error"]
    rows = answer(page, "/api/run/0/aside?name=s")["rows"]
    assert [(r["step"], r["time"], r["reason"], dict(r["row"])["k"]) for r in rows] == [
        (1, "2", "late", "late"),
        (0, "null", "null time in t", "n"),
    ]
    pictures = answer(page, "/api/run/0/pictures")
    assert all(f'data-id="{name}"' in pictures["flow"] for name in found["places"])
    assert "<style" not in pictures["flow"]


def test_values_of_rows_are_texts(page: Page, tmp_path: Path) -> None:
    """Whatever a row has in it: it is cut, nothing turns what is around it, and JSON carries it as a text."""
    place = Place(tmp_path)
    place.feed.add((1, "a", 1), (None, HOSTILE, 3))
    place.run(counts())
    page.add(tmp_path / "checkpoint")
    status, headers, content = ask(page, "/api/run/0/aside?name=s")
    (row,) = json.loads(content)["rows"]
    told = dict(row["row"])["k"]
    assert told.startswith("<script>alert('1')</script>\"&amp;\\u202e\\x00\\r\\nxxx")
    assert len(told) < 400
    assert (status, headers["content-type"]) == (200, "application/json; charset=utf-8")
    assert headers["x-content-type-options"] == "nosniff"


def test_signs_that_are_passed_on_would_be_seen(page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above can fail: with values that are told as they are."""
    monkeypatch.setattr("tidegate.live.set_aside.printable", lambda text: text)
    with pytest.raises(AssertionError):
        test_values_of_rows_are_texts(page, tmp_path)


def test_a_run_that_is_alive_dead_failed_or_not_there_is_shown_as_such(page: Page, tmp_path: Path) -> None:
    """By its lock, its last commit, and what it said last; several runs are shown at once."""
    live = Place(tmp_path / "live") if not (tmp_path / "live").mkdir() else None
    assert live is not None
    live.feed.add((1, "a", 1))
    run = live.start(counts(), trigger={"processingTime": "0 seconds"}, ui=0)
    assert run.ui is not None
    assert run.ui.startswith("http://127.0.0.1:")
    shared_page._PAGES.pop(0).close()
    (tmp_path / "failed").mkdir()
    failed = Place(tmp_path / "failed")
    failed.feed.add((1, "a", 1), (9, "b", 2))
    failed.feed.add((1, "late", 1))
    flow = tg.Flow("strict")
    flow.sink("out", flow.source("s", DDL, time="t", watermark=tg.bounded(0), late="fail"))
    with pytest.raises(tg.TidegateError):
        failed.run(flow)
    for name in ("live", "failed", "nothing"):
        page.add(tmp_path / name / "checkpoint")
    assert page.add(tmp_path / "live" / "checkpoint").endswith("#run=0")
    assert [r["state"] for r in answer(page, "/api/runs")] == ["running", "failed", "empty"]
    assert "expected no row of s below 9, got 1" in answer(page, "/api/run/1")["failure"]
    assert "no run has begun there yet" in answer(page, "/api/run/2")["problems"][0]
    run.stop()
    assert answer(page, "/api/run/0")["state"] == "stopped"
    # What a killed run leaves: a lock that nobody gave back, of a process that is gone.
    gone = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    lock = tmp_path / "live" / "checkpoint" / "locks" / "1"
    left = json.loads(lock.read_text())
    left.pop("crc")
    lock.with_name("99").write_text(json.dumps(left | {"process": int(gone.stdout), "started": "1"}))
    assert answer(page, "/api/run/0")["state"] == "dead"


@pytest.mark.parametrize(
    ("file", "harm", "problem"),
    [
        ("commits/1", lambda path: path.write_text("{"), "expected a commit"),
        ("commits/1", lambda path: path.write_text(path.read_text().replace('"step": 1', '"step": 7')), "checksum"),
        ("trace/flow", lambda path: path.write_text(path.read_text()[:200]), "expected the description of a flow"),
        ("trace/flow", lambda path: path.write_text("[]"), "expected the description of a flow"),
        ("trace/flow", lambda path: path.unlink(), "no run has written down what its flow looks like"),
        ("trace/now", lambda path: path.write_bytes(b"\xff\x00"), "expected what a run does"),
        ("trace/steps", lambda path: path.write_text("\n{]\n" + '{"step": 1}'), ""),
        ("trace/steps", lambda path: (path.unlink(), path.mkdir()), "the last steps can't be read"),
        ("locks/1", lambda path: path.write_text("[1, 2"), ""),
    ],
)
def test_what_is_damaged_is_reported_and_the_rest_is_shown(
    page: Page, tmp_path: Path, file: str, harm: Any, problem: str
) -> None:
    """Whatever file it is: the page answers, says which one is wrong, and shows what the others have."""
    place = Place(tmp_path)
    place.feed.add((1, "a", 1), (9, "b", 2), (None, "n", 3))
    place.feed.add((2, "late", 4), (12, "c", 5))
    place.run(counts())
    page.add(tmp_path / "checkpoint")
    harm(tmp_path / "checkpoint" / file)
    found = answer(page, "/api/run/0")
    assert [p for p in found["problems"] if problem in p] if problem else found["problems"] == []
    if file != "commits/1":
        assert [s["rows"] for s in found["sources"]] == [5]
    if file != "trace/flow":
        assert found["flow"] == "counts"
        assert answer(page, "/api/run/0/pictures")["flow"]
    answer(page, "/api/run/0/aside?name=s")
    answer(page, "/api/run/0/why?sink=out&time=1")
    answer(page, "/api/runs")


def test_rows_set_aside_that_are_damaged_are_reported(page: Page, tmp_path: Path) -> None:
    """The rows of other steps are shown, and the step whose rows can't be read is named."""
    place = Place(tmp_path)
    place.feed.add((1, "a", 1), (None, "n", 3))
    place.feed.add((None, "m", 3), (12, "c", 5))
    place.run(counts())
    page.add(tmp_path / "checkpoint")
    (parquet,) = (tmp_path / "checkpoint" / "late" / "s" / "step=1").glob("*.parquet")
    parquet.write_bytes(parquet.read_bytes()[:60])
    found = answer(page, "/api/run/0/aside?name=s")
    assert [dict(row["row"])["k"] for row in found["rows"]] == ["n"]
    assert found["problems"][0].startswith("the rows of step 1 can't be read")


def test_nothing_is_written_while_somebody_looks(page: Page, tmp_path: Path) -> None:
    """All files are as they were, to the nanosecond, and none was added."""
    place = Place(tmp_path)
    place.feed.add((1, "a", 1), (9, "b", 2), (None, "n", 3))
    place.run(counts())
    checkpoint = tmp_path / "checkpoint"

    def all_of_it() -> dict[Path, tuple[int, int]]:
        return {p: (p.stat().st_mtime_ns, p.stat().st_size) for p in [checkpoint, *checkpoint.rglob("*")]}

    before = all_of_it()
    page.add(checkpoint)
    for path in ("/", "/api/runs", "/api/run/0", "/api/run/0/pictures", "/api/run/0/aside?name=s"):
        assert ask(page, path)[0] == 200
    assert all_of_it() == before


def test_only_what_belongs_to_the_page_is_served(page: Page, tmp_path: Path) -> None:
    """No path of a request leads to a file; there are no methods but GET; what a browser may do is said."""
    status, headers, content = ask(page, "/")
    policy = headers["content-security-policy"]
    assert (status, b"<script type=" in content) == (200, True)
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert b"style=" not in content
    assert b" on" not in content.replace(b" one", b"").replace(b" only", b"")
    for path in ("/static/../server.py", "/static/%2e%2e/server.py", "/server.py", "/static/", "/api/run/7", "/api/x",
                 "/api/run/0/aside/x", "/api/run/-1", "/etc/passwd", "//etc/passwd"):  # fmt: skip
        assert ask(page, path)[0] == 404, path
    page.add(tmp_path)
    assert answer(page, "/api/run/0/aside?name=../../../etc")["rows"] == []
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
        assert ask(page, "/", method=method)[0] == 405
    assert ask(page, "/", method="HEAD")[2] == b""


def test_a_name_that_others_have_given_this_address_is_refused(page: Page) -> None:
    """A page from elsewhere whose name leads here by now is told nothing; this machine's own names are."""
    port = page.address.rstrip("/").rsplit(":", 1)[1]
    assert ask(page, "/api/runs", Host=f"evil.example:{port}")[0] == 421
    assert ask(page, "/api/runs", Host="127.0.0.1")[0] == 421
    assert ask(page, "/api/runs", Host="")[0] == 421
    assert ask(page, "/api/runs", Host=f"LOCALHOST:{port}")[0] == 200


def test_another_address_needs_a_token() -> None:
    """It is in the printed link, becomes a cookie that scripts can't read, and works as a header; nothing else does."""
    page = Page(host="0.0.0.0", port=0)
    try:
        token = page.access.token
        assert len(token) >= 32
        page.address = page.address.replace("0.0.0.0", "127.0.0.1")
        assert ask(page, "/")[0] == ask(page, "/api/runs")[0] == ask(page, "/static/main.js")[0] == 401
        assert ask(page, "/?token=wrong")[0] == ask(page, "/api/runs", Cookie="tidegate=x")[0] == 401
        status, headers, _ = ask(page, f"/?token={token}")
        cookie = headers["set-cookie"]
        assert (status, headers["location"]) == (303, "/")
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        assert answer(page, "/api/runs", Cookie=cookie.partition(";")[0]) == []
        assert answer(page, "/api/runs", Authorization=f"Bearer {token}") == []
        assert page.link.endswith(f"?token={token}")
    finally:
        page.close()
    with pytest.raises(BadArgument, match="expected a token of at least 16 signs"):
        Page(port=0, token="short")


def test_without_the_check_of_a_token_anybody_would_get_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above can fail: with a comparison that takes every text for the token."""
    monkeypatch.setattr("tidegate.live.access.Access.is_token", lambda self, given: True)
    with pytest.raises(AssertionError):
        test_another_address_needs_a_token()


def test_cookies_of_others_do_not_hide_the_token() -> None:
    """A browser sends the cookies of all servers on this machine, and some are not as they should be."""
    access = access_to("0.0.0.0", 7070, "")
    for other in ('x={"a": "b c"}', "a/b@c=1", "é=1", "=", "x", 'y="'):
        assert access.admits("", f"{other}; tidegate-7070={access.token}"), other
        assert not access.admits("", f"{other}; tidegate-7071={access.token}; tidegate-7070=x"), other


def test_a_request_that_is_no_request_is_refused_in_silence(page: Page, capfd: pytest.CaptureFixture[str]) -> None:
    """The terminal belongs to the run: nobody can write to it by asking."""
    port = page.port
    for line, status in (("GET http://[ HTTP/1.1", b"400"), (f"GET /{'x' * 70_000} HTTP/1.1", b"414")):
        with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
            connection.sendall(f"{line}\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
            assert connection.recv(100).split()[1] == status
    assert capfd.readouterr().err == ""


def test_connections_that_say_nothing_do_not_pile_up(page: Page) -> None:
    """Beyond so many, one more is closed at once: the process of the run keeps its files for itself."""
    held = [socket.create_connection(("127.0.0.1", page.port), timeout=30) for _ in range(64)]
    try:
        with socket.create_connection(("127.0.0.1", page.port), timeout=20) as more:
            assert more.recv(1) == b""
    finally:
        for connection in held:
            connection.close()


def test_a_directory_that_cannot_be_read_is_reported(page: Page, tmp_path: Path) -> None:
    """The other runs are shown all the same."""
    page.add(tmp_path / ("x" * 300))
    page.add(tmp_path)
    first, second = answer(page, "/api/runs")
    assert "File name too long" in first["problems"][0]
    assert second["problems"] == []


def test_a_checkpoint_with_a_scheme_is_the_same(page: Page, tmp_path: Path) -> None:
    """However its directory is written, as `start` takes it, it is one run."""
    links = {page.add(name) for name in (tmp_path, f"{tmp_path}", f"file:{tmp_path}", f"file://{tmp_path}")}
    assert links == {f"{page.address}#run=0"}


def test_the_page_of_a_process_is_found_by_its_port_and_has_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment gives the token, as for the command; the same port is the same page; a fork has none of it."""
    monkeypatch.setattr(shared_page, "_PAGES", {})
    monkeypatch.setenv("TIDEGATE_UI_TOKEN", "0123456789abcdef")
    page = shared_page.open_page(True)
    try:
        assert ask(page, "/api/runs")[0] == 401
        assert answer(page, "/api/runs", Authorization="Bearer 0123456789abcdef") == []
        assert shared_page.open_page(page.port) is page
    finally:
        page.close()


FORKED = """
import os
from tidegate.live import open_page
page = open_page(0)
child = os.fork()
if child == 0:
    os._exit(0 if open_page(0).port != page.port else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_process_that_was_forked_has_a_page_of_its_own() -> None:
    """The threads that serve the first are not in it, so that nobody would answer for its runs."""
    done = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("0\n", "")


def test_a_port_that_is_taken_is_named() -> None:
    """By the command and by `start`, before anything runs; without a port, the next one is taken."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(BadArgument, match=rf"got {port} on 127.0.0.1, which is in use\n  hint: port 0"):
            Page(port=port)
        done = CliRunner().invoke(app, ["ui", "checkpoint", "--port", str(port)])
        assert (done.exit_code, f"got {port} on 127.0.0.1, which is in use" in done.output) == (1, True)
        with pytest.raises(BadArgument, match="which is in use"):
            counts().start(tg.local(), {}, {}, "nowhere", ui=port)
    with pytest.raises(BadArgument, match="expected ui=True, or the number of a port, got ui='yes'"):
        counts().start(tg.local(), {}, {}, "nowhere", ui="yes")  # type: ignore[arg-type]
    first, second = Page(), Page()
    assert first.address != second.address
    first.close()
    second.close()


def test_the_other_loopback_address_needs_no_token() -> None:
    """On ::1, the page is found by that name, and by no other."""
    try:
        page = Page(host="::1", port=0)
    except BadArgument:
        pytest.skip("this machine has no IPv6")
    try:
        port = page.address.rstrip("/").rsplit(":", 1)[1]
        assert (page.access.token, page.address) == ("", f"http://[::1]:{port}/")
        assert ask(page, "/api/runs", Host=f"[::1]:{port}")[0] == 200
        assert ask(page, "/api/runs", Host=f"[::2]:{port}")[0] == 421
    finally:
        page.close()


def test_a_checkpoint_that_is_elsewhere_is_refused(page: Page) -> None:
    """On HDFS or in a store of objects: the page reads disks of this machine."""
    page.add("hdfs://namenode/checkpoints/edits")
    found = answer(page, "/api/run/0")
    assert "expected a checkpoint on a disk of this machine, got hdfs://namenode" in found["problems"][0]


def test_the_command_serves_until_it_is_interrupted(tmp_path: Path) -> None:
    """It prints the address, answers there, and ends cleanly; the run that it shows may be over."""
    place = Place(tmp_path)
    place.feed.add((1, "a", 1))
    place.run(counts())
    command = [sys.executable, "-m", "tidegate", "ui", str(tmp_path / "checkpoint"), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().split()[0]
            host, port = address.removeprefix("http://").rstrip("/").split(":")
            connection = http.client.HTTPConnection(host, int(port), timeout=30)
            connection.request("GET", "/api/runs")
            (run,) = json.loads(connection.getresponse().read())
            connection.close()
            assert (run["flow"], run["state"]) == ("counts", "stopped")
            process.send_signal(2)
            _, errors = process.communicate(timeout=30)
            assert (process.returncode, errors) == (0, "")
        finally:
            process.kill()
