"""`kafkalite produce`: lines of the standard input or of a file as the records of a topic."""

from __future__ import annotations

import time
from collections.abc import Iterator
from io import BufferedReader
from typing import Any, Final

import click
from confluent_kafka import KafkaError, KafkaException, Message, Producer

from kafkalite.terminal.kafka import Kafka, Refused, refused
from kafkalite.terminal.options import asks_kafka, topic_argument
from kafkalite.terminal.output import Output

_CREATED_WITHIN_SECONDS: Final = 5.0
_PAUSE_SECONDS: Final = 0.1
_READ_BYTES: Final = 65536
_CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
_COLUMNS = {
    "partition": "PARTITION",
    "first": "FIRST-OFFSET",
    "last": "LAST-OFFSET",
    "records": "RECORDS",
}


class _Delivered:
    """The offsets of what has arrived, by partition, and the first error."""

    def __init__(self) -> None:
        self.count = 0
        self.offsets: dict[int, list[int]] = {}
        self.error: KafkaError | None = None

    def __call__(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.error = self.error or error
            return
        self.count += 1
        offset = message.offset() or 0
        first, last, count = self.offsets.setdefault(message.partition() or 0, [offset, offset, 0])
        self.offsets[message.partition() or 0] = [min(first, offset), max(last, offset), count + 1]


@click.command("produce")
@topic_argument
@click.option(
    "-l", "--lines-of", "file", type=click.File("rb"), default="-", help="Else the standard input."
)
@click.option("-K", "--key-separator", metavar="TEXT", help="The key stands before this.")
@click.option("-k", "--key", help="The key of all records.")
@click.option("-D", "--delimiter", default="\n", help="Stands between records; else line ends.")
@click.option("-H", "--header", "headers", multiple=True, metavar="NAME=VALUE", help="Repeatable.")
@click.option("-p", "--partition", type=click.IntRange(0), help="The partition of all records.")
@click.option("-z", "--compression", type=click.Choice(_CODECS), help="How batches are packed.")
@click.option("-Z", "--null", "is_null", is_flag=True, help="An empty value is none: a tombstone.")
@asks_kafka
def produce(
    kafka: Kafka,
    out: Output,
    topic: str,
    file: BufferedReader,
    key_separator: str | None,
    key: str | None,
    delimiter: str,
    headers: tuple[str, ...],
    partition: int | None,
    compression: str | None,
    is_null: bool,
) -> None:
    """Write a record for each line, and say where they are once all are acknowledged."""
    if key is not None and key_separator is not None:
        raise click.UsageError("--key and --key-separator exclude each other")
    settings: dict[str, Any] = {"compression.codec": compression} if compression else {}
    producer = kafka.producer(**settings)
    _wait_for(producer, topic, partition)
    delivered = _Delivered()
    fields: dict[str, Any] = {"headers": [_header(each) for each in headers]}
    if partition is not None:
        fields["partition"] = partition
    with out.progress("records", None) as advance:
        for line in lines(file, delimiter.encode()):
            found, value = _split(line, key, key_separator)
            _send(
                producer, topic, found, None if is_null and not value else value, delivered, fields
            )
            advance(1)
            if delivered.error is not None:
                break
        producer.flush()
    if delivered.error is not None:
        raise refused(delivered.error, f"topic {topic!r}, after {delivered.count} records")
    _tell(out, topic, delivered)


def lines(file: BufferedReader, delimiter: bytes) -> Iterator[bytes]:
    """The pieces between delimiters; the last needs none behind it."""
    rest = b""
    while chunk := file.read1(_READ_BYTES):
        *whole, rest = (rest + chunk).split(delimiter)
        yield from whole
    if rest:
        yield rest


def _split(line: bytes, key: str | None, separator: str | None) -> tuple[bytes | None, bytes]:
    """Key and value of a line. Without the separator in it a line is all value, as with kcat."""
    if separator is None:
        return None if key is None else key.encode(), line
    before, is_there, after = line.partition(separator.encode())
    return (before, after) if is_there else (None, line)


def _header(text: str) -> tuple[str, bytes]:
    name, is_there, value = text.partition("=")
    if not name or not is_there:
        raise click.UsageError(f"-H {text}: it is NAME=VALUE")
    return name, value.encode()


def _wait_for(producer: Producer, topic: str, partition: int | None) -> None:
    """Have the broker create the topic if there is none and it does so. Raises Refused."""
    deadline = time.monotonic() + _CREATED_WITHIN_SECONDS
    while True:
        try:
            found = producer.list_topics(topic, _CREATED_WITHIN_SECONDS).topics[topic]
        except KafkaException as error:
            raise refused(error.args[0], f"topic {topic!r}") from None
        if found.error is None:
            break
        if not found.error.retriable() and time.monotonic() > deadline:
            raise Refused(f"there is no topic {topic!r}, and the broker creates none")
        if time.monotonic() > deadline:
            raise refused(found.error, f"topic {topic!r}")
        time.sleep(_PAUSE_SECONDS)
    if partition is not None and partition not in found.partitions:
        raise Refused(
            f"topic {topic!r} has no partition {partition}: it has 0 to {max(found.partitions)}"
        )


def _send(
    producer: Producer,
    topic: str,
    key: bytes | None,
    value: bytes | None,
    delivered: _Delivered,
    fields: dict[str, Any],
) -> None:
    while True:
        try:
            producer.produce(topic, value, key, on_delivery=delivered, **fields)
            producer.poll(0)
            return
        except BufferError:  # as much is under way as may be
            producer.poll(_PAUSE_SECONDS)
        except KafkaException as error:
            raise refused(error.args[0], f"topic {topic!r}") from None


def _tell(out: Output, topic: str, delivered: _Delivered) -> None:
    partitions = [
        {"partition": index, "first": first, "last": last, "records": count}
        for index, (first, last, count) in sorted(delivered.offsets.items())
    ]
    if out.as_json:
        out.json({"topic": topic, "records": delivered.count, "partitions": partitions})
    elif not partitions:
        out.note(f"no records for topic {topic!r}: there were no lines")
    else:
        out.rows(partitions, _COLUMNS)
