"""What is where on the site: the sections are those of the map, ``docs/README.md``, and a section of the API."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

__all__ = ["MAP", "OTHERS", "SiteError", "navigation", "sections", "title_of"]

#: The page that lists all others.
MAP = "docs/README.md"
#: Pages outside of ``docs/`` that have a place on the site, too.
OTHERS = ("CONTRIBUTING.md", "CHANGELOG.md", "bench/README.md")
_SECTION = re.compile(r"^## (.+)$")
_ROW = re.compile(r"^\| \[[^]]*\]\(([^)#\s]+)\)")


class SiteError(Exception):
    """What is wrong with the site, in a sentence for each mistake."""


def sections(text: str) -> dict[str, list[str]]:
    r"""Return the pages that a map lists, by section: the first link of each row of its tables.

    >>> sections("## Start here\n| page | about |\n|---|---|\n| [a.md](a.md) | [see](b.md) |\n")
    {'Start here': ['docs/a.md']}
    """
    found: dict[str, list[str]] = {}
    section = ""
    for line in text.splitlines():
        if heading := _SECTION.match(line):
            section = heading[1]
        elif row := _ROW.match(line):
            found.setdefault(section, []).append(f"docs/{row[1]}")
    return found


def title_of(page: Path) -> str:
    """Return the first heading of a page, without marks."""
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            return line.removeprefix("# ").replace("`", "")
    raise SiteError(f"{page.name} has no heading: expected a line that begins with '# '")


def navigation(root: Path, api: Mapping[str, str]) -> list[dict[str, object]]:
    """Return the navigation: sections in the order of the map, then the API (pages by title), then the rest.

    Raise if a page is not on the map, or the map lists one that is not there.
    """
    listed = sections((root / MAP).read_text(encoding="utf-8"))
    _check(listed, {path.relative_to(root).as_posix() for path in root.glob("docs/**/*.md")} - {MAP})
    found: list[dict[str, object]] = [{"Tidegate": "README.md"}]
    for section, pages in listed.items():
        found.append({section: [{title_of(root / page): page} for page in pages]})
        if section == "Reference":
            found.append({"API": [{title: page} for title, page in api.items()]})
    found.append({"The project": [{title_of(root / page): page} for page in (MAP, *OTHERS)]})
    return found


def _check(listed: Mapping[str, Iterable[str]], pages: set[str]) -> None:
    known = [page for section in listed.values() for page in section]
    wrong = [f"{page} is on no page of the navigation: add a row to {MAP}" for page in sorted(pages - set(known))]
    wrong += [f"{MAP} lists {page}, which is not there" for page in sorted(set(known) - pages)]
    wrong += [f"{MAP} lists {page} more than once" for page in sorted(set(known)) if known.count(page) > 1]
    if wrong:
        raise SiteError("\n".join(wrong))
