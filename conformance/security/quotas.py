"""Quotas of a broker, set until they count and taken away again."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from conformance.security.pair import Client, Secured
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    EntryDataRequest,
    OpData,
)
from kafkalite.wire.messages.describe_client_quotas import DescribeClientQuotasRequest

Entity = Mapping[str, str | None]
# Apache Kafka takes a quota over a little after it tells of it.
_TAKEN_OVER_SECONDS = 0.5
_SECONDS = 30
# By entity and key; None takes one away.
Changes = list[tuple[Entity, str, float | None]]


def alter(broker: Secured, changes: Changes) -> None:
    """Set quotas, or take them away, and wait until that counts."""
    ops: dict[tuple[tuple[str, str | None], ...], list[OpData]] = {}
    for entity, key, value in changes:
        change = OpData(key=key, value=value or 0.0, remove=value is None)
        ops.setdefault(tuple(entity.items()), []).append(change)
    entries = [
        EntryDataRequest(
            entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in parts],
            ops=of_entity,
        )
        for parts, of_entity in ops.items()
    ]
    with Client(broker.address("PLAINTEXT")) as client:
        for told in client.ask(AlterClientQuotasRequest(entries=entries)).entries:
            assert told.error_code == ErrorCode.NONE, told
        deadline = time.monotonic() + _SECONDS
        while not _are_told(client, changes):
            assert time.monotonic() < deadline, changes
            time.sleep(0.05)
    time.sleep(_TAKEN_OVER_SECONDS)


def _are_told(client: Client, changes: Changes) -> bool:
    """True once the broker knows. One request asks for all: this client may have to wait, too."""
    found = {
        frozenset((part.entity_type, part.entity_name) for part in entry.entity): {
            each.key: each.value for each in entry.values
        }
        for entry in client.ask(DescribeClientQuotasRequest(components=[])).entries
    }
    return all(
        found.get(frozenset(entity.items()), {}).get(key) == value for entity, key, value in changes
    )


@contextmanager
def quotas(broker: Secured, key: str, limits: list[tuple[Entity, float]]) -> Iterator[None]:
    """These quotas, for a while."""
    with all_quotas(broker, [(entity, key, value) for entity, value in limits]):
        yield


@contextmanager
def all_quotas(broker: Secured, changes: Changes) -> Iterator[None]:
    """The same for several keys."""
    alter(broker, changes)
    try:
        yield
    finally:
        alter(broker, [(entity, key, None) for entity, key, _ in changes])
