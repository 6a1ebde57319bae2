"""Topics of a running broker, kafkalite or any Kafka, as the pipelines read and write them."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self

from crc32c import crc32c

from kafkalite.spark.client import Client, check
from kafkalite.spark.data_directory import Bounds, Isolation
from kafkalite.spark.errors import BrokerError, UnknownTopic
from kafkalite.spark.network_reader import fetch_partition
from kafkalite.spark.pipelines.errors import PipelineError
from kafkalite.spark.pipelines.sinks import KEEP_FOREVER, Sink
from kafkalite.wire.api_keys import EARLIEST, LATEST
from kafkalite.wire.messages.init_producer_id import InitProducerIdRequest
from kafkalite.wire.record_batch import ATTRIBUTES_POSITION, CRC_POSITION, increment_sequence

# producer id, producer epoch, base sequence: bytes 43 to 57 of a batch.
_PRODUCER: Final = struct.Struct(">qhi")
_PRODUCER_POSITION: Final = 43
_CRC: Final = struct.Struct(">I")


@dataclass(frozen=True, slots=True)
class NetworkReader:
    """Reads by Fetch; each call has a connection of its own."""

    bootstrap: str

    def partitions(self) -> list[tuple[str, int]]:
        with Client(self.bootstrap) as client:
            found = client.partitions()
        return sorted((topic, partition) for topic in found for partition in found[topic])

    def bounds(
        self, topic: str, partition: int, isolation: Isolation, known_end: int = 0
    ) -> Bounds:
        key = (topic, partition)
        with Client(self.bootstrap) as client:
            start = client.list_offsets({key: EARLIEST})[key].offset
            end = client.list_offsets({key: LATEST}, isolation)[key].offset
        return Bounds(start, end)

    def read(
        self, topic: str, partition: int, start: int, end: int, isolation: Isolation
    ) -> Iterator[Any]:
        with Client(self.bootstrap) as client:
            yield from fetch_partition(
                client, (topic, partition), start, end, isolation=isolation, include_headers=True
            )


class NetworkSink(Sink):
    """Sends batches as an idempotent producer: one that is sent again is not there twice."""

    def __init__(
        self,
        bootstrap: str,
        topic: str,
        partition_count: int,
        *,
        configs: Mapping[str, str] | None = None,
    ) -> None:
        self._client = Client(bootstrap)
        self._topic = topic
        self._partition_count = partition_count
        self._configs = {**KEEP_FOREVER, **(configs or {})}
        self._ends: list[int] = []
        self._sequences = [0] * partition_count
        self._producer = (-1, -1)

    def __enter__(self) -> Self:
        try:
            self._open()
        except (BrokerError, OSError) as error:
            self._client.close()
            raise PipelineError(str(error)) from error
        except BaseException:
            self._client.close()
            raise
        return self

    def _open(self) -> None:
        try:
            count = len(self._client.partitions([self._topic])[self._topic])
        except UnknownTopic:
            self._client.create_topic(self._topic, self._partition_count, configs=self._configs)
            count = self._partition_count
        if count != self._partition_count:
            raise PipelineError(
                f"topic {self._topic} has {count} partitions, not {self._partition_count}"
            )
        keys = [(self._topic, i) for i in range(count)]
        ends = self._client.list_offsets(dict.fromkeys(keys, LATEST))
        self._ends = [ends[key].offset for key in keys]
        self._producer = self._client.retry("a producer id", self._init_producer_id)

    def _init_producer_id(self) -> tuple[int, int]:
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=2**31 - 1)
        answer = self._client.ask(request)
        check(answer.error_code, "a producer id")
        return int(answer.producer_id), int(answer.producer_epoch)

    def end_offset(self, partition: int) -> int:
        return self._ends[partition]

    def append(self, partition: int, batch: bytearray, record_count: int) -> int:
        sequence = self._sequences[partition]
        batch[:8] = bytes(8)  # a producer's batch begins at 0: the broker numbers it
        _PRODUCER.pack_into(batch, _PRODUCER_POSITION, *self._producer, sequence)
        _CRC.pack_into(batch, CRC_POSITION, crc32c(memoryview(batch)[ATTRIBUTES_POSITION:]))
        try:
            offset = self._client.produce((self._topic, partition), bytes(batch))
        except (BrokerError, OSError) as error:
            raise PipelineError(str(error)) from error
        self._sequences[partition] = increment_sequence(sequence, record_count)
        self._ends[partition] = offset + record_count
        return offset

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._client.close()
