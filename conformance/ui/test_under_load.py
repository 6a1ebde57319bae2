"""The page can be used while more comes than it can show."""

from __future__ import annotations

import statistics
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Producer

from conformance.ui.conftest import Open, started
from conformance.ui.shop import open_shop
from conformance.ui.test_views import rows
from kafkalite.client.connecting import Client

HAMMERS = 4
# Notes how long a key that is pressed would wait, again and again.
_NOTE_WAITS = """() => {
  window.waits = [];
  const look = (began) => {
    window.waits.push(performance.now() - began);
    setTimeout(() => setTimeout(look, 0, performance.now()), 50);
  };
  look(performance.now());
}"""
# With room for a machine that has much else to do.
_MOST_MS_A_KEY = 200


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """The ready file of a shop of its own: the requests of the other one would not stay."""
    process, told = started(tmp_path_factory.mktemp("hammered"), "--nodes", "3")
    try:
        with open_shop(Client(told["control"]["url"], told["control"]["token"])):
            yield told
    finally:
        process.terminate()
        assert process.wait(60) == 0


@pytest.fixture
def hammered(k: Client) -> Iterator[str]:
    """A topic that producers write to as fast as each is answered."""
    k.create_topic("hammered")
    ended = threading.Event()

    def hammer() -> None:
        settings = {"bootstrap.servers": k.describe().bootstrap, "client.id": "hammer"}
        producer = Producer(settings | {"linger.ms": 0})
        while not ended.is_set():
            producer.produce("hammered", "v")
            producer.flush()

    threads = [threading.Thread(target=hammer) for _ in range(HAMMERS)]
    for thread in threads:
        thread.start()
    yield "hammered"
    ended.set()
    for thread in threads:
        thread.join()


def test_the_page_can_be_used_while_clients_hammer_the_broker(
    opened: Open, k: Client, hammered: str
) -> None:
    page = opened("requests?q=hammer")
    count = page.get_by_role("status").filter(has_text=" of ")
    count.wait_for()
    before = k.ask("spy.show").last
    page.evaluate(_NOTE_WAITS)
    page.wait_for_timeout(5000)
    came = k.ask("spy.show").last - before
    page.get_by_role("button", name="Pause").click()
    page.get_by_label("Filter requests").fill("billing-1 fetch")
    rows(page, "Requests").get_by_text("hammer").first.wait_for(state="detached")
    page.keyboard.press("Escape")
    page.keyboard.press("2")
    page.get_by_role("heading", name="Topics", exact=True).wait_for()
    rows(page, "Topics").get_by_role("link", name=hammered).wait_for()
    waits: list[float] = page.evaluate("window.waits")
    assert came > 500, came
    assert statistics.median(waits) < _MOST_MS_A_KEY, (came, sorted(waits)[-5:])
