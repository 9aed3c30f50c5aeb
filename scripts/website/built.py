"""What is checked of the site that was built: it asks nobody for anything, and all that it links to is there."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

__all__ = ["Page", "problems"]

#: What a browser fetches by itself: of each tag the attributes that name it.
_FETCHED = {
    "script": ("src",),
    "img": ("src", "srcset"),
    "iframe": ("src",),
    "source": ("src", "srcset"),
    "audio": ("src",),
    "video": ("src", "poster"),
    "embed": ("src",),
    "object": ("data",),
    "use": ("href", "xlink:href"),
    "image": ("href", "xlink:href"),
    "form": ("action",),
    "base": ("href",),
}
#: Links in the head of a page that tell of others, and fetch nothing.
_TOLD = {"alternate", "author", "canonical", "license", "next", "prev"}
_IN_STYLE = re.compile(r"""(?:url\(\s*|@import\s+)['"]?([^'")\s;]+)""")


class Page(HTMLParser):
    """A page: what it has a browser fetch, where its links lead, and the names in it that links can lead to.

    >>> page = Page('<img src="a.png"><a href="b.html#c">b</a><h1 id="top">t</h1><style>@import "https://e.org/f"</style>')
    >>> page.fetched, page.links, page.names
    (['a.png', 'https://e.org/f'], ['b.html#c'], {'top'})
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.links: list[str] = []
        self.names: set[str] = set()
        self._in_style = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.fetched += [given[name] for name in _FETCHED.get(tag, ()) if given.get(name)]
        if tag == "link" and not _TOLD & set(given.get("rel", "").split()):
            self.fetched.append(given.get("href", ""))
        if tag in ("a", "area") and "href" in given:
            self.links.append(given["href"])
        self.names |= {given[name] for name in ("id", "name") if name in given}
        self.fetched += _IN_STYLE.findall(given.get("style", ""))
        self._in_style = tag == "style"

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002
        self._in_style = False

    def handle_data(self, data: str) -> None:
        if self._in_style:
            self.fetched += _IN_STYLE.findall(data)


def problems(site: Path) -> list[str]:
    """Return what is wrong with a site: requests to others, and links, anchors and files that are not there."""
    pages = {path.resolve(): Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    found = []
    for path, page in pages.items():
        where = path.relative_to(site.resolve()).as_posix()
        found += [f"{where} fetches {target}" for target in page.fetched if _is_outside(target)]
        # A page that is shown in the place of a missing one may be anywhere.
        inside = [t for t in (*page.links, *page.fetched) if not _is_outside(t) and where != "404.html"]
        found += [
            f"{where} links to {target}, which is not there" for target in inside if not _there(path, target, pages)
        ]
    for style in sorted(site.rglob("*.css")):
        fetched = _IN_STYLE.findall(style.read_text(encoding="utf-8"))
        found += [f"{style.relative_to(site).as_posix()} fetches {target}" for target in fetched if _is_outside(target)]
    return found


def _is_outside(target: str) -> bool:
    """Whether a browser would ask another machine for it."""
    parts = urlsplit(target.strip())
    return parts.scheme not in ("", "data") or bool(parts.netloc)


def _there(page: Path, target: str, pages: dict[Path, Page]) -> bool:
    """Whether a link of a page leads to a file of the site, and to a name in it."""
    parts = urlsplit(target)
    if parts.scheme:
        return True  # data, which are there
    to = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if to.is_dir():
        to /= "index.html"
    if not to.exists():
        return False
    name = unquote(parts.fragment)
    return not name or name.startswith("__") or to not in pages or name in pages[to].names
