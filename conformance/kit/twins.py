"""A fault as kafkalite's rules have it, and as it is on the wire: and a place where it happens, in
kafkalite by the rule and in front of Apache Kafka by a proxy.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from conformance.harness.apache_kafka import ApacheKafka
from conformance.harness.broker import Broker
from conformance.kit.faulting_proxy import FaultingProxy, WireFault
from conformance.kit.twice_clients import PATIENCE_SECONDS, Outcome, read_by_librdkafka
from kafkalite.client.connecting import Client
from kafkalite.control.faults.matching import API_NAMES
from kafkalite.control.faults.rule import Action
from kafkalite.faults import cut, delay, dribble, drop, silence, throttle
from kafkalite.wire.api_keys import ApiKey

# So many clients meet their faults at the same time.
_AT_ONCE: Final = 24


@dataclass(frozen=True)
class Twin:
    """One fault as kafkalite has it, and as it is on the wire."""

    name: str
    rule: Action
    wire: WireFault


def throttled(body: Any) -> Any:
    return replace(body, throttle_time_ms=300)


# These are the same for every API.
ON_BOTH_WAYS: Final = (
    Twin("drop before", drop.before, WireFault(drop="before")),
    Twin("drop after", drop.after, WireFault(drop="after")),
    Twin("silence before", silence.before, WireFault(silence="before")),
    Twin("silence after", silence.after, WireFault(silence="after")),
    Twin("cut", cut(7), WireFault(cut_bytes=7)),
    Twin("delay", delay("300ms"), WireFault(delay_seconds=0.3)),
    Twin("dribble", dribble(5, "10ms"), WireFault(piece_bytes=5)),
    Twin("throttle", throttle("300ms"), WireFault(change=throttled)),
)


class Place:
    """A topic of one fault at one broker, and the way to it.

    The fault is for requests about the topic, or by the client of its name, which asks
    coordinators.
    """

    def __init__(self, broker: Broker, twin: Twin, api_key: ApiKey, *, partitions: int = 1) -> None:
        self._broker, self._twin, self._api_key = broker, twin, api_key
        self.topic = f"twice-{uuid.uuid4().hex[:8]}"
        self._proxy: FaultingProxy | None = None
        self.bootstrap = broker.bootstrap
        if isinstance(broker, ApacheKafka):
            self._proxy = FaultingProxy(broker.bootstrap, api_key, twin.wire)
            self.bootstrap = self._proxy.bootstrap
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        topic = NewTopic(self.topic, partitions, 1)
        admin.create_topics([topic])[self.topic].result(PATIENCE_SECONDS)

    def close(self) -> None:
        """The way to it is closed."""
        if self._proxy is not None:
            self._proxy.close()

    def write(self, *values: str) -> None:
        """Have records in the topic, past the way to it."""
        producer = Producer({"bootstrap.servers": self._broker.bootstrap})
        for value in values:
            producer.produce(self.topic, value)
            producer.flush(PATIENCE_SECONDS)

    def arm(self, **criteria: Any) -> None:
        """The next request of the API has the fault. kafkalite's rule has more `criteria`."""
        if self._proxy is not None:
            self._proxy.arm()
            return
        ready = json.loads((Path(self._broker.directory) / "ready.json").read_text())["control"]
        client = Client(ready["url"], ready["token"])
        of_topic = self._api_key in (ApiKey.PRODUCE, ApiKey.FETCH)
        who: dict[str, Any] = {"topic" if of_topic else "client_id": self.topic}
        self._fault = client.fault(API_NAMES[self._api_key], do=self._twin.rule, **who, **criteria)

    @property
    def was_done(self) -> bool:
        """Tells whether the fault came to pass, once."""
        if self._proxy is not None:
            return self._proxy.done == 1
        return self._fault.show().applied == 1

    def log(self, partition: int = 0) -> list[str]:
        """The values in the log."""
        told = read_by_librdkafka(self._broker.bootstrap, self.topic, partition=partition)
        values: list[str] = told["values"]
        return values


def until(holds: Callable[[], object]) -> None:
    """Ask again and again, until it holds."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < deadline


def both(
    brokers: tuple[Broker, Broker], tellers: Mapping[str, Callable[[Broker], Outcome]]
) -> tuple[dict[str, Outcome], ...]:
    """The outcomes of every fault at either broker, by name, all at the same time."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        told = [
            {name: pool.submit(tell, broker) for name, tell in tellers.items()}
            for broker in brokers
        ]
        return tuple({name: each.result() for name, each in side.items()} for side in told)
