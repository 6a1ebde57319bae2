"""A shop's cluster to look at: topics with records, groups with members, a transaction, faults."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from confluent_kafka import Consumer, Producer

from kafkalite.client.connecting import Client
from kafkalite.faults import drop, error, hold

ORDERS = 1200
_CITIES = ("Bern", "Zürich", "Łódź", "Porto", "Oslo")


def fill(k: Client) -> None:
    """Topics and their records."""
    k.create_topic("orders", 3)
    k.create_topic("payments", 2, configs={"cleanup.policy": "compact"})
    k.create_topic("invoices", 1, configs={"retention.ms": 604_800_000})
    k.create_topic("audit.log", 6)
    producer = Producer({"bootstrap.servers": k.describe().bootstrap, "client.id": "shop"})
    for number in range(ORDERS):
        order = {
            "order": number,
            "city": _CITIES[number % len(_CITIES)],
            "total": round(9.9 + number * 1.37 % 200, 2),
            "items": [{"sku": f"A-{number % 17:03}", "count": 1 + number % 3}],
            "paid": number % 4 != 0,
        }
        headers: list[tuple[str, str | bytes | None]] = [("trace-id", f"{number:08x}")]
        if number == 700:
            headers.append(("kind", "poison"))
        producer.produce(
            "orders",
            json.dumps(order, ensure_ascii=False),
            key=f"customer-{number % 40}",
            partition=number % 3,
            headers=headers,
        )
    for number in range(60):
        producer.produce("payments", bytes([0, number]) + b"\xff\x10pay", key=f"order-{number}")
    producer.produce("payments", None, key="order-7")
    producer.produce("invoices", "invoice for order 1")
    producer.flush(20)


class Member:
    """A consumer polled by a thread, as an application does."""

    def __init__(self, k: Client, group: str, client_id: str, topic: str) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": k.describe().bootstrap,
                "group.id": group,
                "client.id": client_id,
                "auto.offset.reset": "earliest",
                "auto.commit.interval.ms": 200,
            }
        )
        self._consumer.subscribe([topic])
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._poll, daemon=True)
        self._thread.start()

    def _poll(self) -> None:
        while not self._ended.is_set():
            self._consumer.poll(0.05)

    def close(self) -> None:
        self._ended.set()
        self._thread.join()
        self._consumer.close()


@contextmanager
def open_shop(k: Client) -> Iterator[None]:
    """The shop at work: all of it is there when this is entered."""
    k.ask("spy.set", mode="on")
    fill(k)
    with ExitStack() as stack:
        for client_id in ("billing-1", "billing-2"):
            stack.callback(Member(k, "billing", client_id, "orders").close)
        k.wait.group("billing", members=2, assigned=True)
        k.wait.lag("billing")
        k.group("reporting").seek("orders", 100)
        k.produce("orders", "a late one", key="customer-1")
        producer = Producer(
            {
                "bootstrap.servers": k.describe().bootstrap,
                "transactional.id": "checkout-0",
                "transaction.timeout.ms": 900_000,
            }
        )
        producer.init_transactions(20)
        producer.begin_transaction()
        producer.produce("invoices", "not yet")
        producer.flush(20)
        k.fault("Produce", topic="invoices", do=drop.after, times=2, id="lost-ack")
        k.fault("EndTxn", transactional_id="billing-*", do=hold, id="held-commit")
        k.fault(
            "OffsetCommit",
            group="billing",
            times=None,
            every=3,
            do=error("COORDINATOR_LOAD_IN_PROGRESS"),
            id="loading",
            optional=True,
        )
        yield


def main(ready_file: str) -> None:
    """Fill a broker that runs, and keep its members alive: `python -m conformance.ui.shop FILE`."""
    with open_shop(Client.of_ready_file(ready_file)):
        while True:
            time.sleep(1)


if __name__ == "__main__":
    import sys

    main(sys.argv[1])
