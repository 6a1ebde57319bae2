"""The first and the next offsets of partitions, asked for in portions."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any, Final

from confluent_kafka import KafkaException, TopicPartition

from kafkalite.terminal.kafka import Kafka, library
from kafkalite.terminal.output import Output

Place = tuple[str, int]
# Partitions that one request asks for.
AT_ONCE: Final = 500
_ANSWER_SECONDS: Final = 30.0


def earliest(kafka: Kafka, places: Sequence[Place], out: Output) -> dict[Place, int | None]:
    """The first offset of each partition; None where Kafka does not say."""
    return _asked(kafka, places, out, library.OffsetSpec.earliest())


def latest(kafka: Kafka, places: Sequence[Place], out: Output) -> dict[Place, int | None]:
    """The offset that the next record gets; None where Kafka does not say."""
    return _asked(kafka, places, out, library.OffsetSpec.latest())


def since(
    kafka: Kafka, places: Sequence[Place], out: Output, timestamp_ms: int
) -> dict[Place, int | None]:
    """The first record that is not older, -1 if all are older; None if Kafka does not say."""
    return _asked(kafka, places, out, library.OffsetSpec.for_timestamp(timestamp_ms))


def _asked(
    kafka: Kafka, places: Sequence[Place], out: Output, spec: Any
) -> dict[Place, int | None]:
    found: dict[Place, int | None] = {}
    portions = [places[start : start + AT_ONCE] for start in range(0, len(places), AT_ONCE)]
    for portion in out.track(portions, "offsets"):
        asked = {TopicPartition(topic, index): spec for topic, index in portion}
        answers = kafka.admin.list_offsets(asked, request_timeout=_ANSWER_SECONDS)
        for partition, answer in answers.items():
            found[partition.topic, partition.partition] = _offset(answer)
    return found


def _offset(answer: Future[Any]) -> int | None:
    try:
        offset: int = answer.result(_ANSWER_SECONDS).offset
        return offset
    except (KafkaException, TimeoutError):
        return None


def difference(end: int | None, start: int | None) -> int | None:
    """The records between two offsets; None if one of them is not known."""
    return None if end is None or start is None else max(end - start, 0)


def total(counts: Sequence[int | None]) -> int | None:
    """The sum of what is known; None if nothing is."""
    known = [count for count in counts if count is not None]
    return sum(known) if known or not counts else None
