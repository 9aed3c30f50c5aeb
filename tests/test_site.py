"""The documentation site: it has every page and every public name, its links lead somewhere, and it asks nobody."""

from __future__ import annotations

import doctest
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name
from scripts.website import built, navigation
from scripts.website.api import pages_there, public_names
from scripts.website.built import Page, problems
from scripts.website.fences import fenced
from scripts.website.navigation import SiteError, sections
from scripts.website.staging import stage, staged_pages

import tidegate as tg
from tests.test_setup import pinned

ROOT = Path(__file__).parents[1]
#: What `make docs` installs its tools into: beside the environment of the tests.
TOOLS = Path(f"{sys.prefix}-docs")


def repository(root: Path, **pages: str) -> Path:
    """Write a repository with a map, and pages in docs/ (``a_md`` is docs/a.md)."""
    for name in ("README.md", *navigation.OTHERS):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("# Page\n")
    (root / "docs" / "figures").mkdir(parents=True)
    rows = "".join(f"| [{name}]({name.replace('_', '.')}) | about |\n" for name in pages)
    (root / "docs" / "README.md").write_text(f"# Map\n\n## Start here\n\n| page | |\n|---|---|\n{rows}")
    for name, text in pages.items():
        (root / "docs" / name.replace("_", ".")).write_text(text)
    return root


@pytest.mark.parametrize("module", [built, navigation], ids=lambda module: module.__name__)
def test_examples_of_the_builder_run(module: object) -> None:
    """What docstrings of the builder show is so."""
    found = doctest.testmod(module)  # type: ignore[arg-type]
    assert found.attempted
    assert not found.failed


def test_the_navigation_is_the_map() -> None:
    """Sections of docs/README.md in its order, with the headings of pages as titles; the API follows the reference."""
    shown = navigation.navigation(ROOT, {"Flow": "api/flow.md"})
    listed = sections((ROOT / "docs/README.md").read_text(encoding="utf-8"))
    names = [name for entry in shown for name in entry]
    assert names == ["Tidegate", "Start here", "How to", "Reference", "API", "Inside", "Papers", "The project"]
    assert list(listed) == ["Start here", "How to", "Reference", "Inside", "Papers"]
    start = shown[1]["Start here"]
    assert isinstance(start, list)
    assert start[0] == {"Ten minutes with Tidegate": "docs/ten-minutes.md"}
    assert {"Your withWatermark query as a flow": "docs/from-structured-streaming.md"} in start


def test_a_page_without_a_place_is_refused(tmp_path: Path) -> None:
    """A page that is not on the map, one that is not there, and one that is there twice are named, all at once."""
    root = repository(tmp_path, a_md="# A\n", b_md="# B\n")
    (root / "docs" / "new.md").write_text("# New\n")
    (root / "docs" / "b.md").unlink()
    with (root / "docs" / "README.md").open("a") as file:
        file.write("| [again](a.md) | |\n")
    with pytest.raises(SiteError) as refused:
        navigation.navigation(root, {})
    assert str(refused.value).splitlines() == [
        "docs/new.md is on no page of the navigation: add a row to docs/README.md",
        "docs/README.md lists docs/b.md, which is not there",
        "docs/README.md lists docs/a.md more than once",
    ]


def test_links_to_code_lead_to_pages_that_show_it(tmp_path: Path) -> None:
    """A file is shown as it is, a directory as a list of its modules; links in examples stay."""
    links = "[file](../x/one.py) [all](../x) [b](b.md#b) [out](https://example.org)"
    page = f"# A\n\n{links}\n\n```pycon spark\n>>> [1](x)\n1\n<BLANKLINE>\n2\n<BLANKLINE>\n```\n"
    root = repository(tmp_path / "root", a_md=page, b_md="# B\n")
    (root / "x").mkdir()
    (root / "x" / "one.py").write_text('"""One thing.\n\nMore."""\nfence = "```"\n')
    stage(root, tmp_path / "to")
    staged = (tmp_path / "to/docs/a.md").read_text()
    assert "[file](../x/one.py.md) [all](../x.md) [b](b.md#b) [out](https://example.org)" in staged
    assert "```pycon\n>>> [1](x)\n1\n\n2\n```" in staged
    assert (tmp_path / "to/x/one.py.md").read_text().startswith('# x/one.py\n\n````python\n"""One thing.')
    assert "| [one.py](x/one.py.md) | One thing. |" in (tmp_path / "to/x.md").read_text()


@pytest.mark.parametrize("target", ["gone.md", "../../outside.md", "../x/gone.py"])
def test_a_link_to_nothing_is_refused(tmp_path: Path, target: str) -> None:
    """Also one that leads out of the repository, whatever is there."""
    (tmp_path / "outside.md").write_text("# Outside\n")
    root = repository(tmp_path / "root", a_md=f"# A\n\n[x]({target})\n")
    with pytest.raises(SiteError, match=re.escape(f"docs/a.md links to {target}, which is not in the repository")):
        stage(root, tmp_path / "to")


def test_examples_in_docstrings_become_blocks() -> None:
    """Each up to a blank line; examples that follow each other are one block, and prose is prose."""
    text = "Return it.\n\n>>> f(1)\n1\n\n>>> f(2)\n2\n\nAnd more.\n\n>>> g()"
    assert fenced(text) == (
        "Return it.\n\n```pycon\n>>> f(1)\n1\n\n>>> f(2)\n2\n```\n\nAnd more.\n\n```pycon\n>>> g()\n```"
    )


def test_every_public_name_is_on_a_page_of_the_api() -> None:
    """All that `import tidegate as tg` brings, by the lists of names that pages are made from."""
    assert public_names(ROOT / "src", "tidegate") == tg.__all__
    pages = pages_there(ROOT / "src")
    names = {name.rpartition(".")[2] for page in pages for name in page.all_names(ROOT / "src")}
    modules = {module.rpartition(".")[2] for page in pages for module in (*page.modules, page.under)}
    assert set(tg.__all__) - names - modules == {"__version__"}


GOOD = '<link rel="stylesheet" href="a.css"><h1 id="top">x</h1><a href="#top">y</a><a href="https://example.org">z</a>'


def test_a_good_site_has_no_problems(tmp_path: Path) -> None:
    """Links out of the site that a reader may click are fine, and so are data in a style."""
    (tmp_path / "index.html").write_text(GOOD)
    (tmp_path / "a.css").write_text("a { background: url(data:image/png;base64,AA==) } b { cursor: url('a.css') }")
    assert problems(tmp_path) == []


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ('<script src="https://unpkg.com/x"></script>', "fetches https://unpkg.com/x"),
        ('<script src="//unpkg.com/x"></script>', "fetches //unpkg.com/x"),
        ('<link rel="preconnect" href="https://fonts.gstatic.com">', "fetches https://fonts.gstatic.com"),
        ('<img src="http://example.org/a.png">', "fetches http://example.org/a.png"),
        ("<style>@import 'https://example.org/a.css'</style>", "fetches https://example.org/a.css"),
        ('<p style="background: url(https://example.org/b)">', "fetches https://example.org/b"),
        ('<a href="gone.html">x</a>', "links to gone.html, which is not there"),
        ('<a href="#gone">x</a>', "links to #gone, which is not there"),
        ('<img src="gone.png">', "links to gone.png, which is not there"),
    ],
)
def test_a_bad_page_is_found(tmp_path: Path, bad: str, said: str) -> None:
    """Whatever a browser would fetch from elsewhere, and whatever leads nowhere."""
    (tmp_path / "a.css").touch()
    (tmp_path / "index.html").write_text(GOOD + bad)
    assert problems(tmp_path) == [f"index.html {said}"]


def test_a_bad_style_is_found(tmp_path: Path) -> None:
    """A font that a style sheet has from elsewhere is a request, too."""
    (tmp_path / "a.css").write_text("@font-face { src: url('https://example.org/f.woff') }")
    assert problems(tmp_path) == ["a.css fetches https://example.org/f.woff"]


def build(root: Path, site: Path) -> subprocess.CompletedProcess[str]:
    """Build the site of a repository as `make docs` does."""
    if not (TOOLS / "docs").exists():
        pytest.skip("the tools of the documentation are not installed: make docs installs them")
    command = [TOOLS / "bin/python", "-m", "scripts.website", "--site", site, "--sources", site.with_name("sources")]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=600)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of this repository."""
    to = tmp_path_factory.mktemp("site") / "site"
    done = build(ROOT, to)
    assert done.returncode == 0, done.stdout + done.stderr
    return to


@pytest.mark.slow
def test_the_site_asks_nobody_and_its_links_lead_somewhere(site: Path) -> None:
    """No page fetches anything from elsewhere, and every link and anchor is there; nobody left the check out."""
    assert problems(site) == []
    assert len(list(site.rglob("*.html"))) > 60


@pytest.mark.slow
def test_the_search_knows_every_page(site: Path) -> None:
    """Each page of the repository and of the API is in the index, which a page that is opened as a file can read."""
    index = json.loads((site / "search.json").read_text(encoding="utf-8"))
    found = {item["location"].partition("#")[0] for item in index["items"]}
    pages = {re.sub(r"README\.html$", "index.html", page.replace(".md", ".html")) for page in staged_pages(ROOT)}
    assert pages | {path.relative_to(site).as_posix() for path in site.glob("api/*.html")} <= found
    assert any("withWatermark" in item["text"] for item in index["items"])
    assert (site / "search.js").read_text(encoding="utf-8").startswith("var __index = {")


@pytest.mark.slow
def test_every_public_name_can_be_linked_to(site: Path) -> None:
    """Pages of the API have a heading for each name, and the overview a row for it with what it is."""
    names = {name for page in site.glob("api/*.html") for name in Page(page.read_text(encoding="utf-8")).names}
    modules = {"errors", "graph", "testing", "__version__"}
    assert not [name for name in set(tg.__all__) - modules if not any(n.endswith(f".{name}") for n in names)]
    overview = (site / "api/tidegate.html").read_text(encoding="utf-8")
    assert not [name for name in tg.__all__ if f"tg.{name}</code>" not in overview]
    assert {"tidegate.Stream.window_join", "tidegate.Run.why", "tidegate.errors.UnknownColumn"} <= names


@pytest.mark.slow
def test_examples_are_shown_as_code(site: Path) -> None:
    """Neither the pages nor docstrings have a prompt outside of a block of code."""
    for page in ("api/stream.html", "docs/flows.html", "docs/from-structured-streaming.html"):
        text = (site / page).read_text(encoding="utf-8")
        assert '<span class="gp">' in text
        assert "&gt;&gt;&gt;" not in re.sub(r"<pre.*?</pre>", "", text, flags=re.DOTALL)


@pytest.mark.slow
def test_what_builds_the_site_is_pinned(site: Path) -> None:
    """Every package in the environment of the documentation has the version of the constraints."""
    program = "from importlib.metadata import distributions as d; print(*(f'{p.name}=={p.version}' for p in d()))"
    done = subprocess.run([TOOLS / "bin/python", "-I", "-c", program], capture_output=True, text=True, check=True)
    found = dict(line.split("==") for line in done.stdout.split())
    wrong = {name for name, version in found.items() if pinned().get(canonicalize_name(name)) != version}
    assert wrong <= {"pip", "setuptools"}
    assert "zensical" in found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "old", "new", "said"),
    [
        ("docs/install.md", "# Installing", "# Installing\n\n[x](flows.md#nowhere)", "anchor does not exist"),
        ("src/tidegate/flow/watermarks.py", "Follow the frontier", "Follow [it][tidegate.nowhere]", "tidegate.nowhere"),
        ("scripts/website/configuration.py", "font = false", 'font = {{ text = "Inter" }}', "fonts.googleapis.com"),
    ],
    ids=["an anchor", "a name in a docstring", "a font"],
)
def test_mistakes_fail_the_build(tmp_path: Path, page: str, old: str, new: str, said: str) -> None:
    """A heading that is not there, a reference in a docstring that leads nowhere, and a font from elsewhere."""
    root = tmp_path / "root"
    for name in ("docs", "src", "scripts", "examples", "bench", "tests/spec"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        shutil.copy(ROOT / name, root)
    text = (root / page).read_text(encoding="utf-8")
    assert old in text
    (root / page).write_text(text.replace(old, new, 1), encoding="utf-8")
    done = build(root, tmp_path / "site")
    assert done.returncode == 1
    assert said in done.stdout + done.stderr
    assert not (tmp_path / "site").exists()
