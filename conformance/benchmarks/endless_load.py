"""Bulk load that never ends, measured in slices; between them it stands still."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from conformance.benchmarks.bulk import KB, launched
from conformance.benchmarks.load import request
from conformance.benchmarks.sampling import PROPERTIES, create_topic
from conformance.harness.kafkalite import Kafkalite
from conformance.harness.raw import RawConnection
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.codec import decode_response
from kafkalite.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)

# A page asks everything at once when it is opened; a producer that stood still has much to send.
SETTLE_SECONDS: Final = 0.4
TOPIC: Final = "bulk"
PARTITIONS: Final = 4
ENDLESS: Final = 10**12
RETENTION: Final = {"log.retention.check.interval.ms": "500"}
KEPT: Final = {"retention.bytes": str(256 << 20), "segment.bytes": str(128 << 20)}
ENDS_VERSION: Final = 7
ENDS: Final = ListOffsetsRequest(
    topics=[
        ListOffsetsTopic(
            name=TOPIC,
            partitions=[
                ListOffsetsPartition(partition_index=index, timestamp=-1)
                for index in range(PARTITIONS)
            ],
        )
    ]
)


class Loaded:
    """A broker, and a producer to it that never ends; both stand still unless they are measured.

    Old segments are deleted, so that no slice waits for a disk that has to write them.
    """

    def __init__(self, directory: Path, properties: Mapping[str, str]) -> None:
        self.broker = Kafkalite(directory, {**PROPERTIES, **RETENTION, **properties})
        create_topic(self.broker, TOPIC, PARTITIONS, KEPT)
        self._connection = RawConnection(self.broker.bootstrap)
        produced = (TOPIC, 0, PARTITIONS, ENDLESS, KB, "none", 0)
        self._producer = launched(self.broker, "produce", *produced)
        self._pids = (self.broker.pid, self._producer.pid)
        self._measured()
        self._stop()

    @contextmanager
    def going(self) -> Generator[None]:
        """The load goes on meanwhile."""
        for pid in self._pids:
            os.kill(pid, signal.SIGCONT)
        yield
        self._stop()

    def _stop(self) -> None:
        for pid in reversed(self._pids):
            os.kill(pid, signal.SIGSTOP)

    def slice(self, seconds: float) -> float:
        """MB/s."""
        time.sleep(SETTLE_SECONDS)
        began, before = self._measured()
        time.sleep(seconds)
        ended, after = self._measured()
        assert self._producer.poll() is None
        return (after - before) * KB / 1e6 / (ended - began)

    def _measured(self) -> tuple[float, int]:
        """The time, and the records there."""
        self._connection.send(request(ApiKey.LIST_OFFSETS, ENDS_VERSION, ENDS))
        _, found = decode_response(ApiKey.LIST_OFFSETS, ENDS_VERSION, self._connection.receive())
        records = sum(each.offset for each in found.topics[0].partitions)
        return time.perf_counter(), records

    def close(self) -> None:
        self._producer.kill()
        for pid in self._pids:
            os.kill(pid, signal.SIGCONT)
        self._producer.communicate()
        self._connection.socket.close()
        self.broker.stop()
