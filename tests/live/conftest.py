"""A real browser for the tests of the page: one for each worker of pytest, started when the first test needs it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

#: It runs as root in containers, and talks to this machine only.
_OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def browser_path() -> str | None:
    """Return the browser that is installed, or None."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A browser without a window."""
    path = browser_path()
    if path is None:
        pytest.skip("no browser: only root can install it: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        found = playwright.chromium.launch(
            executable_path=path, args=_OPTIONS, env={"HOME": str(tmp_path_factory.mktemp("home"))}
        )
        yield found
        found.close()


class Screen:
    """A window of the browser, and what went wrong in it."""

    def __init__(self, context: Any, page: Any) -> None:
        self.context = context
        self.page = page
        self.wrong: list[str] = []
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        # What the policy of the page does not allow is said here, too.
        page.on("console", lambda said: self.wrong.append(said.text) if said.type in ("error", "warning") else None)
        page.on("dialog", lambda dialog: (self.wrong.append(f"a dialog: {dialog.message}"), dialog.dismiss()))

    def open(self, address: str) -> Any:
        """Go to a page, and wait until it has shown its run."""
        self.page.goto(address)
        self.page.locator("#head .figures").wait_for()
        return self.page

    def texts(self, selector: str) -> list[str]:
        """Return the texts of all that a selector finds."""
        return [text.strip() for text in self.page.locator(selector).all_text_contents()]

    def cells(self, table: str) -> list[list[str]]:
        """Return the cells of a table, row by row."""
        rows = self.page.locator(f"{table} tbody tr").all()
        return [row.locator("th, td").all_text_contents() for row in rows]


@pytest.fixture
def screen(browser: Any, request: pytest.FixtureRequest) -> Iterator[Screen]:
    """A window of its own; it must have had nothing to complain of."""
    options = getattr(request, "param", {})
    context = browser.new_context(**({"viewport": {"width": 1280, "height": 900}} | options))
    found = Screen(context, context.new_page())
    yield found
    wrong = found.wrong
    context.close()
    assert wrong == []
