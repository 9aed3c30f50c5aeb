"""A PostgreSQL server for tests: in a temporary directory, on a Unix socket only, gone when it is not needed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import tidegate as tg

__all__ = ["PASSWORD", "Database", "binaries", "server"]

#: Not a word of anything else, so that it can be looked for.
PASSWORD = "xyzzy-Pa55/w:rd"


class Database:
    """A server, and what is in it."""

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn

    def sql(self, statement: str) -> list[tuple[Any, ...]]:
        import psycopg

        with psycopg.connect(self.dsn, password=PASSWORD) as connection:
            done = connection.execute(statement)
            return sorted(done.fetchall(), key=repr) if done.description else []

    def output(self, table: str, **options: Any) -> Any:
        return tg.postgres(table, dsn=self.dsn, password=lambda: PASSWORD, **options)


def binaries() -> Path | None:
    """Return the directory of the server's programs, or None if none is installed."""
    found = shutil.which("initdb")
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    path = Path(found) if found else versions[-1] if versions else None
    return path.resolve().parent if path else None


@contextmanager
def server() -> Iterator[str]:
    """Start a server, answer how to connect to it without the password, and stop it in the end."""
    programs = binaries()
    assert programs is not None
    # It refuses to run as root. The path is short: that of a socket may have 107 bytes.
    user = _other_user() if os.getuid() == 0 else None
    home = Path(tempfile.mkdtemp(prefix="tg-pg-", dir="/tmp"))
    try:
        if user:
            shutil.chown(home, user)
        secret = home / "password"
        secret.write_text(PASSWORD)
        secret.chmod(0o644)
        data, log = home / "data", home / "log"
        options = [
            "-U",
            "tidegate",
            "-A",
            "scram-sha-256",
            f"--pwfile={secret}",
            "-E",
            "UTF8",
            "--locale=C",
            "--no-sync",
        ]
        command = [str(programs / "initdb"), "-D", str(data), *options]
        subprocess.run(command, user=user, cwd=home, check=True, capture_output=True)
        settings = ["-k", str(home), "-c", "listen_addresses=", "-c", "fsync=off"]
        with log.open("w") as out:
            command = [str(programs / "postgres"), "-D", str(data), *settings]
            process = subprocess.Popen(command, user=user, cwd=home, stdout=out, stderr=out)
        try:
            dsn = f"host={home} user=tidegate dbname=postgres"
            _wait(process, dsn, log)
            yield dsn
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(30)
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _other_user() -> str:
    import pwd

    return "postgres" if any(entry.pw_name == "postgres" for entry in pwd.getpwall()) else "nobody"


def _wait(process: subprocess.Popen[bytes], dsn: str, log: Path) -> None:
    import psycopg

    for _ in range(300):
        try:
            psycopg.connect(dsn, password=PASSWORD).close()
            return
        except psycopg.OperationalError:
            if process.poll() is not None:
                break
            time.sleep(0.1)
    raise AssertionError(f"the server did not start: {log.read_text()}")
