"""`python -m conformance.ui.screenshots`: the pictures of docs/window.md."""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import Producer
from playwright.sync_api import Browser, sync_playwright

from conformance.ui.conftest import chromium_path, started
from conformance.ui.shop import open_shop
from kafkalite.client.connecting import Client

DOCS = Path(__file__).parent.parent.parent / "docs"
SIZE = {"width": 1180, "height": 700}


@contextmanager
def trade(k: Client) -> Iterator[None]:
    """Orders come in bursts."""
    producer = Producer({"bootstrap.servers": k.describe().bootstrap, "client.id": "shop"})
    ended = threading.Event()

    def produce() -> None:
        turn = 0
        while not ended.wait(0.12):
            turn += 1
            for number in range(40 if turn % 9 < 5 else 900):
                producer.produce("orders", f"order {turn}-{number}", key=f"customer-{number}")
            producer.flush(10)

    thread = threading.Thread(target=produce, daemon=True)
    thread.start()
    yield
    ended.set()
    thread.join()


def take(
    browser: Browser, url: str, name: str, view: str, text: str, scheme: str, wait_seconds: float
) -> None:
    """A picture of a view that shows this text, some time after it came."""
    page = browser.new_page(color_scheme=scheme, viewport=SIZE)
    page.goto(url)
    page.wait_for_selector(".frame")
    page.evaluate("view => { location.hash = `#/default/${view}` }", view)
    page.get_by_text(text).first.wait_for()
    page.wait_for_timeout(wait_seconds * 1000)
    page.screenshot(path=DOCS / f"{name}.png")
    page.close()


def take_all(browser: Browser, k: Client, url: str) -> None:
    """The quiet shop first, then the one at work."""
    topic = "topics/orders?from=oldest&q=oslo&at=1-1"
    take(browser, url, "window-topic", topic, "trace-id", "light", 2)
    with trade(k):
        k.ask("requests.clear")
        time.sleep(1.5)
        k.group("billing").rebalance()
        time.sleep(2.5)
        refused = k.ask("requests.list", error="COORDINATOR_LOAD_IN_PROGRESS")[-1].seq
        k.clock.advance("10s")
        time.sleep(0.4)
        k.ask("spy.set", mode="off")
        view = f"requests?on={refused}"
        take(browser, url, "window-requests", view, "Make a fault", "light", 3)
        take(browser, url, "window-group", "groups/billing", "Session ends in", "dark", 30)


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        process, told = started(Path(folder), "--nodes", "3")
        try:
            k = Client(told["control"]["url"], told["control"]["token"])
            with open_shop(k), sync_playwright() as driver:
                browser = driver.chromium.launch(executable_path=chromium_path())
                take_all(browser, k, told["ui"])
        finally:
            process.terminate()
            process.wait(60)
    return 0


if __name__ == "__main__":
    sys.exit(main())
