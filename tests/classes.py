"""An archive of the classes that Spark loads: a JVM that starts with it is ready in half the time.

    python -m tests.classes .venv/classes.jsa

This runs some flows and lets the JVM write, when it ends, the classes that it has loaded and checked. ``make test``
does it once for an environment. Without the archive, or with one of another Java or Spark, the JVM loads them as ever.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

__all__ = ["ARCHIVE", "java_options"]

ARCHIVE = Path(sys.prefix) / "classes.jsa"


def java_options(*, archive: Path = ARCHIVE, write: bool = False) -> str:
    """Return options for a JVM that lives for seconds or minutes, and is not worth compiling well.

    What is compiled so has little room by default, and a thread would spend a tenth of the time on looking for code to
    drop.
    """
    options = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
    options += ["-XX:ReservedCodeCacheSize=256m", "-XX:-UseCodeCacheFlushing", "-Xmn300m"]
    if write or (archive.exists() and archive.stat().st_size):
        use = "ArchiveClassesAtExit" if write else "SharedArchiveFile"
        # The path may have blanks. Java would name each class that it leaves out, and say why it takes no archive.
        options += [f'"-XX:{use}={archive}"', "-Xlog:disable", "-Xlog:all=error:stderr"]
    return " ".join(options)


def write_archive(path: Path) -> None:
    """Run flows of several kinds in a session, and write the classes that it needed; an empty file if it can't."""
    part = path.with_suffix(".part")
    for old in (path, part):
        old.unlink(missing_ok=True)
    os.environ["SPARK_SUBMIT_OPTS"] = java_options(archive=part, write=True)
    from tests.flow.case import in_two_steps, run_case
    from tests.flow.test_cases import TABLES
    from tests.spark.place import Place, counts
    from tests.spark.sessions import local_options
    from tidegate.spark.session import local_session
    from tidegate.testing import Engine

    spark = local_session("classes", master="local[2]", **local_options())
    with tempfile.TemporaryDirectory() as directory:
        for table in ("joined", "process"):
            case = next(case for case in TABLES[table] if "spark" not in case.except_on)
            run_case(case, Engine("spark", spark, Path(directory)), in_two_steps)
        place = Place(spark, Path(directory))
        place.feed.add((1, "a", 1), (2, "b", 2), (5, "a", 3))
        place.run(counts())
        assert place.rows()
    gateway = spark.sparkContext._gateway
    spark.stop()
    gateway.shutdown()
    # The JVM ends when nobody can tell it anything any more.
    gateway.proc.stdin.close()
    gateway.proc.wait()
    part.rename(path) if part.exists() else path.touch()


if __name__ == "__main__":
    write_archive(Path(sys.argv[1]))
