"""The sources of the site: a copy of the pages in which every link leads to a page of the site.

Pages keep their places, so that links between them stay as they are. A link to a file or a directory of code leads to a
page that shows it, which is made here.
"""

from __future__ import annotations

import ast
import re
import shutil
from pathlib import Path
from posixpath import normpath, relpath

from scripts.website.navigation import OTHERS, SiteError

__all__ = ["stage", "staged_pages"]

_LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)\s#]+)(#[^)\s]*)?(?=\))")
_FENCE = re.compile(r"^```([^\n]*)(\n.*?^```$)", re.DOTALL | re.MULTILINE)
_BLANK = re.compile(r"^<BLANKLINE>\n(?=```)|(?<=\n)<BLANKLINE>(?=\n)", re.MULTILINE)
_LANGUAGES = {".py": "python", ".toml": "toml", ".sh": "sh"}


def staged_pages(root: Path) -> list[str]:
    """Return the pages of the repository that the site has."""
    return ["README.md", *OTHERS, *sorted(path.relative_to(root).as_posix() for path in root.glob("docs/**/*.md"))]


def stage(root: Path, to: Path) -> None:
    """Copy the pages and figures to an empty directory, with a page for each file of code that they link to."""
    shown: set[str] = set()
    for page in staged_pages(root):
        _write(to / page, _linked(root, page, (root / page).read_text(encoding="utf-8"), shown))
    shutil.copytree(root / "docs/figures", to / "docs/figures")
    shutil.copytree(Path(__file__).parent / "assets", to / "assets/site")
    for path in sorted(shown):
        _write(to / f"{path}.md", _shown_directory(root, path) if (root / path).is_dir() else _shown_file(root, path))


def _linked(root: Path, page: str, text: str, shown: set[str]) -> str:
    """Return the text of a page whose links to code lead to pages that show it; ``shown`` gets their names."""

    def linked(match: re.Match[str]) -> str:
        target = normpath(f"{page}/../{match[1]}")
        if target.startswith("..") or not (root / target).exists():
            raise SiteError(f"{page} links to {match[1]}, which is not in the repository")
        if target.endswith(".md") or target.startswith("docs/figures/"):
            return match[0]
        shown.add(target)
        if (root / target).is_dir():
            shown.update(child.relative_to(root).as_posix() for child in (root / target).glob("*.py"))
        return relpath(f"{target}.md", normpath(f"{page}/.."))

    # There are no links in examples. Of the words behind a fence, as `pycon spark`, a site knows the first. What says
    # that an empty line is printed is for the test.
    parts: list[str] = []
    at = 0
    for fence in _FENCE.finditer(text):
        language = "pycon" if "\n>>> " in fence[2] else (fence[1].split() or ["text"])[0]
        body = _BLANK.sub("", fence[2])
        parts += [_LINK.sub(linked, text[at : fence.start()]), f"```{language}{body}"]
        at = fence.end()
    return "".join([*parts, _LINK.sub(linked, text[at:])])


def _shown_file(root: Path, path: str) -> str:
    """Return a page that shows a file of the repository."""
    text = (root / path).read_text(encoding="utf-8")
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall(r"`{3,}", text)), 3)
    return f"# {path}\n\n{fence}{_LANGUAGES.get(Path(path).suffix, 'text')}\n{text.rstrip()}\n{fence}\n"


def _shown_directory(root: Path, path: str) -> str:
    """Return a page that lists the modules of a directory, each with its first sentence."""
    rows = []
    for child in sorted((root / path).glob("*.py")):
        said = ast.get_docstring(ast.parse(child.read_text(encoding="utf-8"))) or ""
        first = " ".join(said.split("\n\n")[0].split())
        rows.append(f"| [{child.name}]({Path(path).name}/{child.name}.md) | {first} |")
    return "\n".join([f"# {path}", "", "| module | |", "|---|---|", *rows, ""])


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
