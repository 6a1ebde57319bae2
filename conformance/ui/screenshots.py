"""`python -m conformance.ui.screenshots`: the pictures of docs/window.md."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from conformance.ui.conftest import NAMES, started
from conformance.ui.shop import open_shop
from kafkalite.client.connecting import Client

DOCS = Path(__file__).parent.parent.parent / "docs"
# File, view, theme, and the text to wait for.
PICTURES = (
    ("window-topic", "topics/orders?from=oldest&q=oslo&at=1-1", "light", "trace-id"),
    ("window-group", "groups/billing", "dark", "Session ends in"),
    ("window-faults", "faults?on=loading", "light", "The rule"),
)


def take(page: Page, url: str, name: str, view: str, text: str) -> None:
    page.goto(url)
    page.wait_for_selector(".frame")
    page.evaluate("view => { location.hash = `#/default/${view}` }", view)
    page.get_by_text(text).first.wait_for()
    page.wait_for_timeout(4000)
    page.screenshot(path=DOCS / f"{name}.png")


def main() -> int:
    browser_path = next(filter(None, map(shutil.which, NAMES)), None)
    with tempfile.TemporaryDirectory() as folder:
        process, told = started(Path(folder), "--nodes", "3")
        try:
            k = Client(told["control"]["url"], told["control"]["token"])
            with open_shop(k), sync_playwright() as driver:
                browser = driver.chromium.launch(executable_path=browser_path)
                for name, view, scheme, text in PICTURES:
                    size = {"width": 1180, "height": 700}
                    page = browser.new_page(color_scheme=scheme, viewport=size)
                    take(page, told["ui"], name, view, text)
        finally:
            process.terminate()
            process.wait(60)
    return 0


if __name__ == "__main__":
    sys.exit(main())
