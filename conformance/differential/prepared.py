"""A data directory in which transactions are being ended: decided, and a marker cannot be written.

A running broker leaves such a state too quickly to be asked anything. Here one partition of every
transaction is on a node that is no more: kafkalite makes the directory with two nodes, and writes
no markers; whoever is started on a copy of it is the first node, alone. It reads PREPARE_COMMIT or
PREPARE_ABORT back from `__transaction_state`, and tries for good to have the other node write a
marker.

Apache Kafka must believe that node to be alive: 4.3 takes a partition without a leader for a
deleted one, and does without its marker (KAFKA-20734). kafkalite waits for the leader.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch
from uuid import uuid4

from msgspec.structs import replace

from conformance.differential.broker_side import Side
from conformance.differential.comparison import error_codes
from conformance.harness.broker import SMALL
from kafkalite.cluster.cluster import Endpoint
from kafkalite.cluster.sole_controller import SoleController
from kafkalite.coordinators.transaction_coordinator.coordinator import TransactionCoordinator
from kafkalite.coordinators.transaction_coordinator.transaction import LAST_EPOCH_OF_CLIENTS
from kafkalite.requests.slices import Steps
from kafkalite.testing import broker
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from kafkalite.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from kafkalite.wire.messages.end_txn import EndTxnRequest
from kafkalite.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkalite.wire.messages.init_producer_id import InitProducerIdRequest
from kafkalite.wire.messages.stored.broker_registration_change_record import (
    BrokerRegistrationChangeRecord,
)
from kafkalite.wire.messages.stored.register_broker_record import RegisterBrokerRecord

LIVING, LOST = "living", "lost"
LAST_EPOCH = "last-epoch"
# One coordinator for all of them; and node 1 is the only one when the internal topics are made.
PROPERTIES = {
    **SMALL,
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "broker.session.timeout.ms": "3600000",
    # what only a broker's own configs lead to
    "delete.topic.enable": "false",
    "group.max.size": "1",
    # A Produce waits in vain; how long it does is looked at in tests/kafkalite/.
    "add.partitions.to.txn.retry.backoff.max.ms": "1",
    "add.partitions.to.txn.retry.backoff.ms": "1",
}


class Ending(NamedTuple):
    """The way a transaction came to its end: by that version of EndTxn, or of InitProducerId."""

    version: int
    commit: bool
    is_fenced: bool = False

    @property
    def transactional_id(self) -> str:
        outcome = "fenced" if self.is_fenced else "commit" if self.commit else "abort"
        return f"{outcome}-v{self.version}"


ENDINGS = [
    Ending(4, True),
    Ending(4, False),
    Ending(5, True),
    Ending(5, False),
    Ending(5, False, is_fenced=True),
]
Ids = dict[str, tuple[int, int]]


def prepare(data_dir: Path, lost_port: int) -> Ids:
    """Make the directory; the producer id and epoch of each transactional id when its end began.

    Both brokers try to reach the lost node at its port, again and again.
    """
    with broker(PROPERTIES, data_dir=data_dir) as running:
        side = Side(running)
        for key_type in (0, 1):
            request = FindCoordinatorRequest(key_type=key_type, key="any")
            ask(side, ApiKey.FIND_COORDINATOR, 3, request)
        running.create_topic(LIVING, partitions=2)
        side.close()
    with second_node_apart(lost_port), broker(PROPERTIES, nodes=2, data_dir=data_dir) as running:
        side = Side(running)
        assignment = CreatableReplicaAssignment(partition_index=0, broker_ids=[2])
        lost = CreatableTopic(
            name=LOST, num_partitions=-1, replication_factor=-1, assignments=[assignment]
        )
        ask(side, ApiKey.CREATE_TOPICS, 7, CreateTopicsRequest(topics=[lost]))
        coordinator = running._running.services.transaction_coordinator
        # The state after a crash between the decision and the first marker.
        coordinator._endings.begin = lambda _: None
        ids = {
            ending.transactional_id: end(side, ending, *begin(side, ending)) for ending in ENDINGS
        }
        ids[LAST_EPOCH] = run_out_of_epochs(side, coordinator)
        side.close()
        fence(running, 1)
    return ids


def fence(running: broker, node_id: int) -> None:
    """Else Apache Kafka would wait until the session of the node before is over."""
    cluster = running._running.services.cluster
    epoch = cluster.image.brokers[node_id].broker_epoch
    cluster.write([BrokerRegistrationChangeRecord(broker_id=node_id, broker_epoch=epoch, fenced=1)])


@contextmanager
def second_node_apart(port: int) -> Iterator[None]:
    """The second node is registered with this port, and a directory of its own: kafkalite's nodes
    share theirs, which Apache Kafka's controller takes for a mistake."""
    registration = SoleController._registration

    def apart(
        cluster: SoleController, node_id: int, endpoints: Mapping[str, Endpoint]
    ) -> Steps[Sequence[object]]:
        records = yield from registration(cluster, node_id, endpoints)
        for record in records:
            if isinstance(record, RegisterBrokerRecord) and node_id != 1:
                record.log_dirs = [uuid4()]
                for end_point in record.end_points:
                    end_point.port = port
        return records

    with patch.object(SoleController, "_registration", apart):
        yield


def begin(side: Side, ending: Ending) -> tuple[int, int]:
    """Twice, so that there is an epoch before; and with a partition that will be lost."""
    request = InitProducerIdRequest(
        transactional_id=ending.transactional_id, transaction_timeout_ms=60_000
    )
    for _ in range(2):
        made = ask(side, ApiKey.INIT_PRODUCER_ID, 5, request)
    topics = [AddPartitionsToTxnTopic(name=LOST, partitions=[0])]
    add = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=ending.transactional_id,
        v3_and_below_producer_id=made.producer_id,
        v3_and_below_producer_epoch=made.producer_epoch,
        v3_and_below_topics=topics,
    )
    ask(side, ApiKey.ADD_PARTITIONS_TO_TXN, 3, add)
    return made.producer_id, made.producer_epoch


def run_out_of_epochs(side: Side, coordinator: TransactionCoordinator) -> tuple[int, int]:
    """A producer with one epoch left: to ask for 32766 of them would take a minute."""
    request = InitProducerIdRequest(transactional_id=LAST_EPOCH, transaction_timeout_ms=60_000)
    ask(side, ApiKey.INIT_PRODUCER_ID, 5, request)
    [known] = [each for each in coordinator.all() if each.transactional_id == LAST_EPOCH]
    coordinator._shards.put(replace(known, producer_epoch=LAST_EPOCH_OF_CLIENTS - 1))
    made = ask(side, ApiKey.INIT_PRODUCER_ID, 5, request)
    assert made.producer_epoch == LAST_EPOCH_OF_CLIENTS
    return made.producer_id, made.producer_epoch


def end(side: Side, ending: Ending, producer_id: int, producer_epoch: int) -> tuple[int, int]:
    transactional_id = ending.transactional_id
    if ending.is_fenced:
        request = InitProducerIdRequest(
            transactional_id=transactional_id, transaction_timeout_ms=60_000
        )
        side.ask(ApiKey.INIT_PRODUCER_ID, ending.version, request)
        return producer_id, producer_epoch + 1
    answer = ask(
        side,
        ApiKey.END_TXN,
        ending.version,
        EndTxnRequest(
            transactional_id=transactional_id,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            committed=ending.commit,
        ),
    )
    return producer_id, max(producer_epoch, answer.producer_epoch)


def ask(side: Side, api: ApiKey, version: int, request: Any) -> Any:
    answer = side.ask(api, version, request)
    assert error_codes(answer) <= {0}, answer
    return answer
