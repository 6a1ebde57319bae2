"""Chromium, a broker with a page, and what its shop has; left out where Chromium is not there."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from conformance.harness.process import start_process
from conformance.ui.shop import open_shop
from kafkalite.client.connecting import Client
from tests.kafkalite.schema_registry import SchemaRegistry, serving

playwright = pytest.importorskip("playwright.sync_api", reason="left out: pip install playwright")

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Answers of the broker to a verb that was refused on purpose.
_REFUSED = "Failed to load resource: the server responded with a status of 4"


def started(folder: Path, *flags: str) -> tuple[subprocess.Popen[bytes], dict[str, Any]]:
    """A broker with a page, and its ready file."""
    ready = folder / "ready.json"
    command = [sys.executable, "-m", "kafkalite", "--port", "0", "--temporary", "--ui"]
    settings = ["--profile", "test", "--log-level", "warning", "--ready-file", str(ready)]
    process = start_process([*command, *settings, *flags])
    deadline = time.monotonic() + 60
    while not ready.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    return process, json.loads(ready.read_text())


def chromium_path() -> str | None:
    """The browser's program; None where there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


@pytest.fixture(scope="package")
def chromium() -> Iterator[Any]:
    """The browser."""
    found = chromium_path()
    if found is None:
        pytest.skip("left out: no Chromium here (apt-get install chromium)")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=found)
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def registry() -> Iterator[SchemaRegistry]:
    """The schema registry of the shop."""
    with serving() as running:
        yield running


@pytest.fixture(scope="package")
def ready(
    tmp_path_factory: pytest.TempPathFactory, registry: SchemaRegistry
) -> Iterator[dict[str, Any]]:
    """The ready file of the shop's broker, whose three nodes all tests share."""
    schemas = f"kafkalite.schema.registry.url={registry.url}"
    process, told = started(tmp_path_factory.mktemp("ui"), "--nodes", "3", "--set", schemas)
    try:
        with open_shop(Client(told["control"]["url"], told["control"]["token"])):
            yield told
    finally:
        process.terminate()
        assert process.wait(60) == 0


@pytest.fixture
def k(ready: dict[str, Any]) -> Client:
    """The verbs of the shop's broker."""
    return Client(ready["control"]["url"], ready["control"]["token"])


Open = Callable[..., Any]


def go(page: Any, view: str, grid: str) -> None:
    """Have an open page show another view, and wait for its grid, and for what is opened in it."""
    page.evaluate("view => { location.hash = `#/default/${view}` }", view)
    page.get_by_role("grid", name=grid, exact=True).wait_for()
    beside = page.get_by_role("complementary")
    beside.wait_for(state="visible" if "on=" in view or "at=" in view else "hidden")


@pytest.fixture
def opened(chromium: Any, ready: dict[str, Any]) -> Iterator[Open]:
    """Opens a view of the page; in the end there was no error, and no request to elsewhere."""
    contexts: list[Any] = []
    wrong: list[str] = []
    own = ready["control"]["url"]

    def heard(message: Any) -> None:
        if message.type in ("error", "warning") and not message.text.startswith(_REFUSED):
            wrong.append(message.text)

    def asked(request: Any) -> None:
        if not request.url.startswith((own, "blob:", "data:")):
            wrong.append(f"asked {request.url}")

    def open_view(view: str = "overview", scheme: str = "light", **options: Any) -> Any:
        size = {"width": 1280, "height": 800}
        context = chromium.new_context(color_scheme=scheme, viewport=size, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("console", heard)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", asked)
        page.goto(f"{ready['ui']}&to={quote(f'/default/{view}')}")
        page.wait_for_selector("h1")
        return page

    yield open_view
    for context in contexts:
        context.close()
    assert wrong == []
