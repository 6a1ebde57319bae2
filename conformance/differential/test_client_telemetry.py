"""Client telemetry (KIP-714): both APIs, which brokers without a receiver serve unasked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID, uuid4

import pytest

from conformance.differential.comparison import Pair
from kafkalite.telemetry.client_instances import subscription_id
from kafkalite.telemetry.subscriptions import Wanted
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.compression import Compression, compress
from kafkalite.wire.messages.api_versions import ApiVersionsRequest
from kafkalite.wire.messages.get_telemetry_subscriptions import GetTelemetrySubscriptionsRequest
from kafkalite.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kafkalite.wire.messages.list_config_resources import ListConfigResourcesRequest
from kafkalite.wire.messages.push_telemetry import PushTelemetryRequest

CLIENT_METRICS = 16
SET, DELETE = 0, 1
NEW = UUID(int=0)
API = ApiKey.GET_TELEMETRY_SUBSCRIPTIONS


class Client:
    """One client instance on both sides, on a connection of its own."""

    def __init__(self, pair: Pair, name: str, instance_id: UUID | None = None) -> None:
        self.pair, self.name = pair, name
        self.instance_id = uuid4() if instance_id is None else instance_id
        self.subscription_id = 0
        asked = ApiVersionsRequest(client_software_name="a-client", client_software_version="1.2.3")
        for side in pair.sides:
            side.ask(ApiKey.API_VERSIONS, 3, asked, name)

    def get(self) -> Any:
        request = GetTelemetrySubscriptionsRequest(client_instance_id=self.instance_id)
        answer, _ = self.pair.ask(API, 0, request, connection=self.name)
        self.subscription_id = answer.subscription_id or self.subscription_id
        return answer

    def push(self, metrics: bytes = b"", **fields: Any) -> int:
        values = {
            "client_instance_id": self.instance_id,
            "subscription_id": self.subscription_id,
            "metrics": metrics,
        }
        request = PushTelemetryRequest(**values | fields)
        answer, _ = self.pair.ask(ApiKey.PUSH_TELEMETRY, 0, request, connection=self.name)
        code: int = answer.error_code
        return code

    def hang_up(self) -> None:
        for side in self.pair.sides:
            side.hang_up(self.name)


def alter(pair: Pair, name: str, operation: int, **configs: str | None) -> Any:
    resource = AlterConfigsResource(
        resource_type=CLIENT_METRICS,
        resource_name=name,
        configs=[
            AlterableConfig(name=key.replace("_", "."), config_operation=operation, value=value)
            for key, value in configs.items()
        ],
    )
    request = IncrementalAlterConfigsRequest(resources=[resource])
    answer, _ = pair.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, request)
    pair.settle()
    return answer


@pytest.fixture
def subscribe(pair: Pair, unique: Callable[[str], str]) -> Iterator[Callable[..., str]]:
    """Make a subscription for the time of the test: `subscribe(metrics="a")`; its name."""
    made: dict[str, set[str]] = {}

    def make(name: str | None = None, **configs: str) -> str:
        name = unique("subscription") if name is None else name
        made.setdefault(name, set()).update(configs)
        assert alter(pair, name, SET, **configs).responses[0].error_code == 0
        return name

    yield make
    for name, configs in made.items():
        alter(pair, name, DELETE, **dict.fromkeys(configs))


def test_asking_and_pushing(pair: Pair) -> None:
    client = Client(pair, "a")
    client.get()
    client.get()
    client.push()
    client.push()
    client.get()
    client.push(terminating=True)
    client.push(terminating=True)
    client.push()
    client.push()


def test_a_new_client_is_given_an_id(pair: Pair) -> None:
    request = GetTelemetrySubscriptionsRequest(client_instance_id=NEW)
    answers = [side.ask(API, 0, request) for side in pair.sides]
    for answer in answers:
        assert answer.client_instance_id != NEW
        # It depends on the id.
        nothing = Wanted([], answer.push_interval_ms, 0)
        assert answer.subscription_id == subscription_id(answer.client_instance_id, nothing)
        answer.subscription_id = 0
    pair.compare(f"{API.name} v0", *answers, api=API, version=0)


@pytest.mark.parametrize("number", [0, 1])
def test_reserved_ids(pair: Pair, number: int) -> None:
    Client(pair, "a", UUID(int=number)).push()
    if number:
        Client(pair, "a", UUID(int=number)).get()


def test_a_push_of_an_unknown_client(pair: Pair) -> None:
    client = Client(pair, "a")
    client.push()
    client.get()
    client.get()
    client.push()


@pytest.mark.parametrize(
    "fields",
    [
        {"subscription_id": 1},
        {"compression_type": 5},
        {"compression_type": -1},
        {"metrics": b"x" * 1_048_577},
        {"metrics": b"x" * 1_048_576},
        {"metrics": b"no metrics"},
        {"subscription_id": 1, "terminating": True},
        {"subscription_id": 1, "compression_type": 7},
        {"compression_type": 7, "metrics": b"x" * 1_048_577},
        *({"compression_type": codec, "metrics": b"not compressed"} for codec in (1, 2, 3, 4)),
        *({"compression_type": codec} for codec in (1, 2, 3, 4)),
    ],
    ids=lambda fields: ",".join(
        f"{name}={len(value) if isinstance(value, bytes) else value}"
        for name, value in fields.items()
    ),
)
def test_pushes_that_are_odd(pair: Pair, fields: dict[str, Any]) -> None:
    client = Client(pair, "a")
    client.get()
    client.push(**fields)
    client.get()
    client.push()
    client.push()


@pytest.mark.parametrize("codec", [each for each in Compression if each])
def test_what_unfolds_to_too_much(pair: Pair, codec: Compression) -> None:
    for size in (1_048_576, 1_048_577):
        client = Client(pair, f"a {size}")
        client.get()
        client.push(compress(codec, bytes(size)), compression_type=codec)
        client.get()


def test_subscriptions_are_put_together(pair: Pair, subscribe: Callable[..., str]) -> None:
    subscribe(metrics="org.apache.kafka.producer.,b", interval_ms="60000")
    Client(pair, "one").get()
    subscribe(metrics="b,c,d,e,f", interval_ms="30000", match="client_software_name=a-.*")
    Client(pair, "two").get()
    subscribe(metrics="g", interval_ms="100", match="client_software_name=b-.*")
    Client(pair, "three").get()
    subscribe(interval_ms="3600000", metrics=",".join(f"metric.{i}" for i in range(40)))
    Client(pair, "four").get()
    subscribe(metrics="*,b")
    Client(pair, "five").get()


@pytest.mark.parametrize(
    "match",
    [
        "client_id=referee",
        "client_id=ref",
        "client_id=ref.*",
        "client_software_version=1\\.2\\.[0-9]",
        "client_software_name=a-client,client_software_version=2.*",
        "client_source_address=127\\.0\\.0\\.1",
        "client_source_port=[0-9]+",
        "client_source_port=1",
        "client_instance_id=[A-Za-z0-9_-]{22}",
        " client_id = referee ",
        "client_id=x,client_id=referee",
        "client_id=(?i)REFEREE",
    ],
)
def test_selectors(pair: Pair, subscribe: Callable[..., str], match: str) -> None:
    subscribe(metrics="a", match=match)
    Client(pair, "a").get()


def test_a_changed_subscription_is_told_at_once(pair: Pair, subscribe: Callable[..., str]) -> None:
    name = subscribe(metrics="a")
    client = Client(pair, "a")
    client.get()
    client.push(terminating=True)
    subscribe(name, metrics="b")
    client.push()
    client.get()
    client.push()
    alter(pair, name, DELETE, metrics=None)
    client.get()
    client.push()


def test_a_client_is_forgotten_with_its_connection(pair: Pair) -> None:
    client = Client(pair, "a")
    client.get()
    other = Client(pair, "b", client.instance_id)
    other.get()
    client.hang_up()
    # Until both have seen that it is closed.
    for side in pair.sides:
        request = GetTelemetrySubscriptionsRequest(client_instance_id=client.instance_id)
        side.until(API, 0, request, lambda a: a.error_code == 0)
    other.get()


@pytest.mark.parametrize(
    "configs",
    [
        {"match": "client_id"},
        {"match": "client_id="},
        {"match": "=a"},
        {"match": "a=b"},
        {"match": "client_id=a=b"},
        {"match": "client_id=a="},
        {"match": "client_id=("},
        {"match": "client_id=a,,client_id=b"},
        {"match": ""},
        {"metrics": ""},
        {"metrics": "a,a"},
        {"metrics": "a,"},
        {"interval_ms": "99"},
        {"interval_ms": "3600001"},
        {"interval_ms": "x"},
        {"no_such": "1"},
    ],
    ids=str,
)
def test_configs(pair: Pair, unique: Callable[[str], str], configs: dict[str, str]) -> None:
    name = unique("subscription")
    alter(pair, name, SET, **configs)
    request = ListConfigResourcesRequest(resource_types=[CLIENT_METRICS])
    pair.ask(ApiKey.LIST_CONFIG_RESOURCES, 1, request)
    alter(pair, name, DELETE, **dict.fromkeys(configs))
