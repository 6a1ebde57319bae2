"""Answers that are lost on their way: what a client does again is done once."""

import random
import time
from collections import Counter
from pathlib import Path

import pytest

from conformance.exactly_once_soak.__main__ import PARTITIONS, Worker, compare_offsets, make_topics
from conformance.exactly_once_soak.feeder import Feeder
from conformance.exactly_once_soak.judge import Judge
from conformance.harness.broker import Broker
from conformance.harness.proxy import LossyProxy
from kafkalite.wire.api_keys import ApiKey

SECONDS = 90
RECORDS = 1000
LOSSY = {
    ApiKey.ADD_PARTITIONS_TO_TXN: 0.1,
    ApiKey.ADD_OFFSETS_TO_TXN: 0.1,
    ApiKey.PRODUCE: 0.1,
    ApiKey.END_TXN: 0.2,
    ApiKey.TXN_OFFSET_COMMIT: 0.1,
}


@pytest.mark.parametrize(
    "client",
    [
        "librdkafka",
        pytest.param("aiokafka", marks=pytest.mark.long),
        pytest.param("java", marks=pytest.mark.long),
    ],
)
def test_a_copy_in_transactions(
    broker: Broker, client: str, unique: object, tmp_path: Path
) -> None:
    assert callable(unique)
    name = unique(client)
    chance = random.Random(name)
    proxy = LossyProxy(broker.bootstrap, lambda key: chance.random() < LOSSY.get(key, 0))
    inputs, outputs = [f"input-{name}"], [f"output-{name}"]
    make_topics(broker, inputs + outputs)
    feeder = Feeder(broker.bootstrap, inputs, PARTITIONS)
    judge = Judge(broker.bootstrap, outputs, PARTITIONS)
    feeder.start()
    judge.start()
    count = 1 if client == "java" else PARTITIONS
    workers = [Worker(client, i, name) for i in range(count)]
    events: Counter[str] = Counter()
    try:
        deadline = time.monotonic() + SECONDS
        while sum(judge.next.values()) < RECORDS and judge.verdict is None:
            assert time.monotonic() < deadline, (judge.next, proxy.lost, events)
            for worker in workers:
                worker.keep_one(proxy.bootstrap, tmp_path, events)
            time.sleep(0.2)
        feeder.enough.set()
        feeder.join()
        written = {(outputs[0], partition): n for (_, partition), n in feeder.written.items()}
        while judge.next != written and judge.verdict is None:
            assert time.monotonic() < deadline, (judge.next, written, proxy.lost, events)
            for worker in workers:
                worker.keep_one(proxy.bootstrap, tmp_path, events)
            time.sleep(0.2)
    finally:
        judge.enough.set()
        feeder.enough.set()
        for worker in workers:
            for process in worker.processes:
                process.kill()
        judge.join()
        proxy.close()
    assert judge.verdict is None
    assert feeder.failure is None
    assert compare_offsets(broker, feeder) is None
    assert proxy.lost[ApiKey.PRODUCE] > 0
    assert proxy.lost[ApiKey.END_TXN] > 0
