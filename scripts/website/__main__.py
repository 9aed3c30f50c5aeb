"""Build the site: ``python -m scripts.website``, from the root of the repository, with the extra ``docs``."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

from scripts.website.api import api_pages
from scripts.website.built import problems
from scripts.website.configuration import configuration
from scripts.website.navigation import SiteError, navigation
from scripts.website.staging import stage

ROOT = Path(__file__).parents[2]


def build(root: Path, site: Path, sources: Path) -> None:
    """Build the site of a repository; ``sources`` is a directory for what it is made of. Raise if anything is wrong."""
    for directory in (site, sources):
        shutil.rmtree(directory, ignore_errors=True)
    pages = api_pages(root / "src")
    stage(root, sources / "pages")
    for path, (_, text) in pages.items():
        (sources / "pages" / path).parent.mkdir(exist_ok=True)
        (sources / "pages" / path).write_text(text, encoding="utf-8")
    shown = navigation(root, {title: path for path, (title, _) in pages.items()})
    configured = configuration(shown, source=root / "src")
    (sources / "zensical.toml").write_text(configured, encoding="utf-8")
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean", "-f", str(sources / "zensical.toml")]
    done = subprocess.run(command, cwd=root, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        # Where it gives up because of mistakes that it has named, how it came there is of no interest.
        named, _, traceback = done.stderr.partition("Traceback (most recent call last):")
        raise SiteError(named if "--strict" in traceback else done.stderr)
    if found := problems(sources / "site"):
        raise SiteError("\n".join(found))
    shutil.move(sources / "site", site)


def main() -> None:
    """Build the site, or say what is wrong and end with code 1."""
    parser = argparse.ArgumentParser(prog="python -m scripts.website", description=__doc__)
    parser.add_argument("--site", type=Path, default=ROOT / "build" / "site", help="where it goes")
    parser.add_argument("--sources", type=Path, default=ROOT / "build" / "site-sources", help="what it is made of")
    given = parser.parse_args()
    try:
        build(ROOT, given.site.resolve(), given.sources.resolve())
    except SiteError as error:
        sys.exit(f"the documentation was not built:\n{error}")
    print(f"{given.site / 'index.html'}: open it in a browser; it needs no server and no network")


if __name__ == "__main__":
    main()
