"""A data directory with transactional ids whose producers have few epochs left, or none.

To ask for 32766 epochs would take a minute for each: kafkalite makes the directory, and whoever is
started on a copy of it reads the epochs back from `__transaction_state`.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from msgspec.structs import replace

from conformance.differential.broker_side import Side
from conformance.differential.prepared import Ids, ask, fence
from conformance.differential.wait_ready import make_ready
from conformance.harness.broker import SMALL
from kafkalite.coordinators.transaction_coordinator.transaction import LAST_EPOCH_OF_CLIENTS
from kafkalite.testing import broker
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.init_producer_id import InitProducerIdRequest

# The epochs that are left, for one id after the other.
LEFT = (0, 1, 2, 3, 0, 5, 1)
LONGEST_MS = 900_000


def prepare(data_dir: Path, count: int) -> Ids:
    """Make the directory; the producer id and epoch of each transactional id."""
    ids: Ids = {}
    with broker(SMALL, data_dir=data_dir) as running:
        side = Side(running)
        make_ready(side)
        coordinator = running._running.services.transaction_coordinator
        for number in range(count):
            name = f"worn-{number}"
            request = InitProducerIdRequest(
                transactional_id=name, transaction_timeout_ms=LONGEST_MS
            )
            ask(side, ApiKey.INIT_PRODUCER_ID, 5, request)
            node = coordinator.node_of(name)
            known = coordinator.describe(name, node)
            epoch = LAST_EPOCH_OF_CLIENTS - LEFT[number % len(LEFT)]
            coordinator._shards.put(replace(known, producer_epoch=epoch - 1))
            made = ask(side, ApiKey.INIT_PRODUCER_ID, 5, request)
            ids[name] = made.producer_id, made.producer_epoch
        side.close()
        fence(running, 1)
    return ids


def place(data_dir: Path, directory: Path, kind: str) -> None:
    """Copies where both brokers look for their directories (conftest.py)."""
    home = directory / "tested" / "broker-1"
    for copy in (directory / "reference" / "node-1", home / "node-1" if kind == "kafka" else home):
        shutil.copytree(data_dir, copy / "data")
