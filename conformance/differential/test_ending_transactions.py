"""Transactions whose end is decided and not yet complete: every request, of every generation and
version.

The brokers are this file's own: in the end the level of transaction.version is lowered on both.
"""

import shutil
import time
from collections.abc import Iterator

import pytest

from conformance.conftest import starter
from conformance.differential.broker_side import Side
from conformance.differential.comparison import Pair
from conformance.differential.group_requests import SUBSCRIBED, joining
from conformance.differential.prepared import (
    ENDINGS,
    LAST_EPOCH,
    LIVING,
    PROPERTIES,
    Ending,
    prepare,
)
from conformance.differential.summary import PAIRS
from conformance.differential.test_transactions import (
    PRODUCERS,
    REQUEST_NAMES,
    REQUESTS,
    STATES,
)
from conformance.differential.transactional import SECONDS, Transactions
from conformance.harness.apache_kafka import ApacheKafka
from conformance.harness.broker import Broker
from conformance.harness.ports import held_port
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.api_versions import ApiVersionsRequest
from kafkalite.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from kafkalite.wire.messages.describe_transactions import DescribeTransactionsRequest
from kafkalite.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkalite.wire.messages.init_producer_id import InitProducerIdRequest
from kafkalite.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafkalite.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from kafkalite.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest

# One way to end by each version is enough for `make test`, and one end by another producer.
SOON = (Ending(4, True), Ending(5, False), Ending(5, False, is_fenced=True))
CASES = [
    pytest.param(
        ending, id=ending.transactional_id, marks=() if ending in SOON else pytest.mark.long
    )
    for ending in ENDINGS
]


class Ended(Transactions):
    """The transactions that both brokers found in their directories."""

    def __init__(self, pair: Pair, ids: dict[str, tuple[int, int]]) -> None:
        self.pair = pair
        self.topic, self.id = LIVING, ""
        self.producers_of = ids
        self.ids, self.sequences = {}, {}
        for side in self.sides:
            side.topic_id(LIVING)

    def go_on_as(self, transactional_id: str) -> None:
        if transactional_id != self.id:
            self.be(transactional_id)
        self.ids = dict.fromkeys(self.sides, self.producers_of[transactional_id])

    def see(self) -> str:
        """The state on both, compared."""
        request = DescribeTransactionsRequest(transactional_ids=[self.id])
        answer, _ = self.ask(ApiKey.DESCRIBE_TRANSACTIONS, 0, lambda _: request)
        return str(answer.transaction_states[0].transaction_state)


@pytest.fixture(scope="module")
def ended(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory, _living: list[Broker]
) -> Iterator[Ended]:
    directory = tmp_path_factory.mktemp("ended")
    # An answer at the lost node's port, by another test's mock server, would end Apache Kafka.
    lost_port = held_port()
    ids = prepare(directory / "data", lost_port.getsockname()[1])
    kind = pytestconfig.getoption("--broker")
    brokers: list[Broker] = []
    start = starter(kind, directory / "tested", brokers)
    home = directory / "tested" / "broker-1"
    copies = [directory / "reference" / "node-1", home / "node-1" if kind == "kafka" else home]
    for copy in copies:
        shutil.copytree(directory / "data", copy / "data")
    reference = ApacheKafka(directory / "reference", PROPERTIES)
    sides = Side(reference), Side(start(PROPERTIES))
    _living += brokers
    pair = Pair(*sides)
    pair.count_for("scripts")
    pytestconfig.stash[PAIRS].append(pair)
    yield Ended(pair, ids)
    for side in sides:
        side.close()
    for broker in (reference, *brokers):
        broker.kill()
    _living.remove(brokers[0])
    lost_port.close()


@pytest.mark.parametrize("request_name", REQUEST_NAMES)
@pytest.mark.parametrize("ending", CASES)
def test_every_request_while_the_end_is_not_complete(
    ended: Ended, ending: Ending, request_name: str
) -> None:
    ended.go_on_as(ending.transactional_id)
    for who in PRODUCERS.values():
        if who and request_name in ("InitProducerId v0", "InitProducerId v1", "InitProducerId v2"):
            continue
        REQUESTS[request_name](ended, **who)
    # Nothing of it is an end, or a beginning.
    assert ended.see() == ("PrepareCommit" if ending.commit else "PrepareAbort")


def test_what_can_be_seen_of_them(ended: Ended) -> None:
    for ending in ENDINGS:
        ended.go_on_as(ending.transactional_id)
        ended.see()
        ended.producers()
        ended.offsets(require_stable=False)
        ended.offsets(require_stable=True)


def test_the_epochs_of_a_producer_id_run_out(ended: Ended) -> None:
    """The last epochs: the producer id changes with the end of a transaction."""
    ended.go_on_as(LAST_EPOCH)
    anybodys = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1)
    for side in ended.sides:  # Apache Kafka's first producer id comes a little later
        side.until_no_error(ApiKey.INIT_PRODUCER_ID, 5, anybodys)
    for commit in (True, False):
        ended.produce(12)
        ended.end(5, commit)
        ended.state()


def test_epochs_of_before_the_start(ended: Ended) -> None:
    """Both have become the leader of what they found, and those who believe in the one before hear
    so."""
    for epoch in (0, 1, 9):
        partition = FetchPartition(
            partition=0, current_leader_epoch=epoch, partition_max_bytes=1 << 20
        )
        topics = [FetchTopic(topic=LIVING, partitions=[partition])]
        request = FetchRequest(max_wait_ms=0, session_epoch=-1, topics=topics)
        answers = [side.ask(ApiKey.FETCH, 12, request) for side in ended.sides]
        codes = [answer.responses[0].partitions[0].error_code for answer in answers]
        assert codes[0] == codes[1], epoch
        ended.pair.tally.errors[ApiKey.FETCH, codes[0]] += 1
        of_time = ListOffsetsPartition(timestamp=-2, current_leader_epoch=epoch)
        listing = ListOffsetsRequest(
            replica_id=-1, topics=[ListOffsetsTopic(name=LIVING, partitions=[of_time])]
        )
        ended.pair.ask(ApiKey.LIST_OFFSETS, 10, listing)
        of_epoch = OffsetForLeaderPartition(current_leader_epoch=epoch, leader_epoch=0)
        about = OffsetForLeaderEpochRequest(
            replica_id=-2, topics=[OffsetForLeaderTopic(topic=LIVING, partitions=[of_epoch])]
        )
        ended.pair.ask(ApiKey.OFFSET_FOR_LEADER_EPOCH, 4, about)


@pytest.mark.parametrize("version", range(1, 7))
def test_topics_that_may_not_be_deleted(ended: Ended, version: int) -> None:
    for name in (LIVING, "unknown"):
        topics = [DeleteTopicState(name=name)]
        request = DeleteTopicsRequest(topics=topics, topic_names=[name], timeout_ms=5000)
        ended.pair.ask(ApiKey.DELETE_TOPICS, version, request)


@pytest.mark.parametrize("version", range(10))
def test_a_group_that_is_full(ended: Ended, version: int) -> None:
    group = f"full-{version}"
    first = joining(group, protocols={"range": SUBSCRIBED})
    answers = ended.pair.ask(ApiKey.JOIN_GROUP, version, first)
    if version >= MEMBER_ID_REQUIRED_SINCE:
        ids = {s: a.member_id for s, a in zip(ended.sides, answers, strict=True)}
        ended.pair.ask(ApiKey.JOIN_GROUP, version, lambda side: joining(group, ids[side]))
    ended.pair.ask(ApiKey.JOIN_GROUP, version, first, connection="second")


def lower(side: Side, level: int) -> None:
    """And wait until the broker has heard of it."""
    update = FeatureUpdateKey(
        feature="transaction.version", max_version_level=level, upgrade_type=SAFE_DOWNGRADE
    )
    request = UpdateFeaturesRequest(timeout_ms=SECONDS * 1000, feature_updates=[update])
    asking = ApiVersionsRequest(client_software_name="referee", client_software_version="1")
    assert side.ask(ApiKey.UPDATE_FEATURES, 1, request).error_code == 0
    deadline = time.monotonic() + SECONDS
    while True:
        answer = side.ask(ApiKey.API_VERSIONS, 3, asking)
        levels = {each.name: each.max_version_level for each in answer.finalized_features}
        if levels.get("transaction.version", 0) == level:
            return
        assert time.monotonic() < deadline, levels


MEMBER_ID_REQUIRED_SINCE = 4
SAFE_DOWNGRADE = 2
CHANGING = [
    name for name in REQUESTS if name.split()[1].rstrip(",") in ("v4", "v5", "v11", "v12", "v13")
]


def test_lower_levels_of_transaction_version(ended: Ended) -> None:
    for level in (1, 0):
        for side in ended.sides:
            lower(side, level)
        for state in ("Empty", "Ongoing v1", "CompleteCommit v1"):
            for name in CHANGING:
                ended.be(f"{level} {state} {name}")
                ended.init()
                ended.init()
                STATES[state](ended)
                ended.state()
                REQUESTS[name](ended)
                ended.state()
