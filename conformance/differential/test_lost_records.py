"""A disk loses what was not flushed, of a partition or of its coordinators, and both are killed.

A transaction of which its coordinator knows nothing hangs in both, until it is ended by hand or
its producer commits again. The brokers are this file's own.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from conformance.conftest import starter
from conformance.differential.broker_side import Side
from conformance.differential.comparison import Pair
from conformance.differential.summary import PAIRS
from conformance.differential.transactional import Transactions
from conformance.differential.wait_ready import ONE_NODE, PROPERTIES, make_ready
from conformance.harness.apache_kafka import ApacheKafka
from conformance.harness.broker import Broker

STATES: Final = "__transaction_state-0"
OFFSETS: Final = "__consumer_offsets-0"
RECORDS: Final = "records"  # of the transaction's own topic
OWN_PROPERTIES: Final = {
    **PROPERTIES,
    **ONE_NODE,
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    # A killed broker is let in again when its old session is over.
    "broker.session.timeout.ms": "4000",
    "broker.heartbeat.interval.ms": "500",
}
PATIENT_MS: Final = 800_000
# The log that loses something, and whether that is the transaction's beginning or its end.
CASES = [
    pytest.param(STATES, True),
    pytest.param(RECORDS, False),
    pytest.param(RECORDS, True, marks=pytest.mark.long),
    pytest.param(OFFSETS, True, marks=pytest.mark.long),
    pytest.param(OFFSETS, False, marks=pytest.mark.long),
]


class Losing:
    """Both brokers, and copies of their logs."""

    def __init__(self, pair: Pair, brokers: list[Broker], roots: list[Path], copies: Path) -> None:
        self.pair = pair
        self._brokers = brokers
        self._roots = roots
        self._copies = copies

    def keep(self, name: str) -> None:
        """The disk has what is in a log now, and nothing later."""
        for number, root in enumerate(self._roots):
            (log,) = (path for path in root.rglob(name) if path.is_dir())
            shutil.copytree(log, self._copies / f"{number}-{name}")

    def lose(self, name: str) -> None:
        """Kill both brokers, and start them with what was kept of the log."""
        for side in self.pair.sides:
            side.close()
        for number, (root, broker) in enumerate(zip(self._roots, self._brokers, strict=True)):
            broker.kill()
            (log,) = (path for path in root.rglob(name) if path.is_dir())
            shutil.rmtree(log)
            (self._copies / f"{number}-{name}").rename(log)
            broker.start()
        for side in self.pair.sides:
            make_ready(side)


@pytest.fixture(scope="module")
def losing(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory, _living: list[Broker]
) -> Iterator[Losing]:
    directory = tmp_path_factory.mktemp("losing")
    brokers: list[Broker] = []
    start = starter(pytestconfig.getoption("--broker"), directory / "tested", brokers)
    reference = ApacheKafka(directory / "reference", OWN_PROPERTIES)
    pair = Pair(Side(reference), Side(start(OWN_PROPERTIES)))
    _living += brokers
    pair.count_for("scripts")
    pytestconfig.stash[PAIRS].append(pair)
    for side in pair.sides:
        make_ready(side)
    both: list[Broker] = [reference, *brokers]
    roots = [directory / "reference", directory / "tested"]
    yield Losing(pair, both, roots, directory / "copies")
    for side in pair.sides:
        side.close()
    for broker in both:
        broker.kill()
    _living.remove(brokers[0])


def begin(t: Transactions, generation: int) -> None:
    if generation == 1:
        t.add(3)
        t.add_offsets(3)
    t.produce(11 if generation == 1 else 12)
    t.commit_offsets(3 if generation == 1 else 5)


@pytest.mark.parametrize(("lost", "is_beginning"), CASES)
@pytest.mark.parametrize("generation", [1, 2])
def test_what_becomes_of_a_transaction(
    losing: Losing, generation: int, lost: str, is_beginning: bool
) -> None:
    topic = f"t-{generation}-{lost.strip('_')}-{is_beginning}".lower()
    losing.pair.create_topic(topic, 2)
    t = Transactions(losing.pair, topic)
    t.init(timeout_ms=PATIENT_MS)
    log = f"{topic}-0" if lost == RECORDS else lost
    if is_beginning:
        losing.keep(log)
    begin(t, generation)
    if not is_beginning:
        losing.keep(log)
        t.end(3 if generation == 1 else 5, commit=True)
        t.state()
    losing.lose(log)
    t.be(t.id)
    t.see_all()
    t.end(3 if generation == 1 else 5, commit=True)
    t.see_all()
    t.init(timeout_ms=PATIENT_MS)
    t.see_all()
    begin(t, generation)
    t.see_all()
    t.end(3 if generation == 1 else 5, commit=True)
    t.see_all()
