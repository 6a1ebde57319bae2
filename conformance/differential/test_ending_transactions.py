"""Transactions whose end is decided and not yet complete: every request, of every generation and version.

The brokers are this file's own: in the end the level of transaction.version is lowered on both.
"""

import shutil
import time
from collections.abc import Iterator

import pytest

from conformance.conftest import starter
from conformance.differential.pair import Pair
from conformance.differential.prepared import ENDINGS, LIVING, PROPERTIES, Ending, prepare
from conformance.differential.side import Side
from conformance.differential.test_transactions import PRODUCERS, REQUESTS, STATES
from conformance.differential.transactional import SECONDS, Transactions
from conformance.harness.apache_kafka import ApacheKafka
from conformance.harness.broker import Broker
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.api_versions import ApiVersionsRequest
from kafkalite.wire.messages.describe_transactions import DescribeTransactionsRequest
from kafkalite.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest


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
    ids = prepare(directory / "data")
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
    yield Ended(Pair(*sides), ids)
    for side in sides:
        side.close()
    for broker in (reference, *brokers):
        broker.kill()
    _living.remove(brokers[0])


@pytest.mark.parametrize("request_name", REQUESTS)
@pytest.mark.parametrize("ending", ENDINGS, ids=lambda ending: ending.transactional_id)
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
