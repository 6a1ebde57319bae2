"""Requests of 200,000 elements, or of 98 MB: of any API, in any of its lists. They keep nobody
waiting."""

from __future__ import annotations

import base64
import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final
from uuid import UUID

import pytest
from confluent_kafka import TopicCollection
from confluent_kafka.admin import AdminClient, NewTopic

from conformance.harness.kafkalite import Kafkalite
from conformance.harness.raw import RawConnection
from conformance.harness.watched_loops import VARIABLE, held
from kafkalite.apis import APIS
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.api_messages import request_class
from kafkalite.wire.fields import unsigned_varint
from kafkalite.wire.headers import unpack_header
from kafkalite.wire.schema import message_of
from tests.kafkalite.many_elements import (
    FREQUENT,
    PARTITIONS,
    TOPIC,
    Filling,
    has_bytes,
    lists,
    paths,
)

COUNT: Final = int(os.environ.get("KAFKALITE_ELEMENTS", "200000"))
# The broker has no control port, whose clusters are cycles.
MOST_MS: Final = "20"
SECONDS: Final = 60.0
TEXT_BYTES: Final = 32_000
# A frame may have 104,857,600 bytes.
FRAME_BYTES: Final = 98_000_000
WITH_BYTES: Final = [
    api.key for api in APIS.values() if has_bytes(request_class(api.key), api.max_version)
]
FLEXIBLE: Final = [
    api.key
    for api in APIS.values()
    if message_of(request_class(api.key)).is_flexible(api.max_version)
]
TAGS: Final = 300_000
CASES: Final = [*lists(), *((key, APIS[key].max_version) for key in FREQUENT)]
NAMES: Final = [f"{key.name} v{version}" for key, version in CASES]
Names = tuple[str, ...]
"""A list of a request, by the names of the fields that lead there."""


def create_topic(broker: Kafkalite) -> UUID:
    """The id of a new topic."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result(SECONDS)
    described = admin.describe_topics(TopicCollection([TOPIC]))[TOPIC].result(SECONDS)
    return UUID(bytes=base64.urlsafe_b64decode(f"{described.topic_id}=="))


def ask(broker: Kafkalite, frame: bytes) -> None:
    """Ask and hear the answer. There is none to one that waits for others, or is refused."""
    with (
        contextlib.suppress(TimeoutError, ConnectionError),
        RawConnection(broker.bootstrap, SECONDS) as connection,
    ):
        connection.ask(frame)


@contextlib.contextmanager
def watched_broker(directory: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Kafkalite]:
    """A broker whose loop may be held for 20 ms."""
    monkeypatch.setenv(VARIABLE, MOST_MS)
    broker = Kafkalite(directory)
    try:
        yield broker
    finally:
        broker.stop()


def ask_each_list(
    broker: Kafkalite,
    key: ApiKey,
    version: int,
    topic_id: UUID,
    large: Callable[[bool, Names], bytes],
) -> None:
    """Ask what `large` makes of each list, with known elements (True) and with new ones."""
    for path in paths(request_class(key), version):
        for known in (True, False):
            small = Filling(version, 1, topic_id, known=known).frame(key, path)
            ask(broker, small)
            ask(broker, large(known, path))
            # The one after it is answered when what it left behind is gone, too.
            ask(broker, small)
            assert list(held()) == [], (path, known)


@pytest.mark.long
@pytest.mark.parametrize(("key", "version"), CASES, ids=NAMES)
def test_a_long_list_does_not_hold_the_loop(
    key: ApiKey, version: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with watched_broker(tmp_path / "broker", monkeypatch) as broker:
        topic_id = create_topic(broker)

        def large(known: bool, path: Names) -> bytes:
            return Filling(version, COUNT, topic_id, known=known).frame(key, path)

        ask_each_list(broker, key, version, topic_id, large)


@pytest.mark.long
@pytest.mark.parametrize(("key", "version"), CASES, ids=NAMES)
def test_long_texts_do_not_hold_the_loop(
    key: ApiKey, version: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Frames of up to 98 MB, with few elements."""
    with watched_broker(tmp_path / "broker", monkeypatch) as broker:
        topic_id = create_topic(broker)

        def of_long_texts(count: int, known: bool, path: Names) -> bytes:
            texts = Filling(version, count, topic_id, known=known, text_bytes=TEXT_BYTES)
            return texts.frame(key, path)

        def large(known: bool, path: Names) -> bytes:
            each = max(len(of_long_texts(1, known, path)), TEXT_BYTES)
            return of_long_texts(FRAME_BYTES // each, known, path)

        ask_each_list(broker, key, version, topic_id, large)


@pytest.mark.long
@pytest.mark.parametrize("key", WITH_BYTES, ids=lambda key: key.name)
def test_many_bytes_do_not_hold_the_loop(
    key: ApiKey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fields of bytes, one or two of a request, share 98 MB."""
    version = APIS[key].max_version
    with watched_broker(tmp_path / "broker", monkeypatch) as broker:
        topic_id = create_topic(broker)

        def of_blobs(size: int) -> bytes:
            blobs = Filling(version, 1, topic_id, known=True, blob_bytes=size)
            return blobs.frame(key, ())

        fields = len(of_blobs(2)) - len(of_blobs(1))
        ask(broker, of_blobs(1))
        ask(broker, of_blobs(FRAME_BYTES // fields))
        ask(broker, of_blobs(1))
        assert list(held()) == []


@pytest.mark.long
@pytest.mark.parametrize("key", FLEXIBLE, ids=lambda key: key.name)
def test_unknown_tagged_fields_do_not_hold_the_loop(
    key: ApiKey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The request itself has them, or its header."""
    version = APIS[key].max_version
    with watched_broker(tmp_path / "broker", monkeypatch) as broker:
        frame = Filling(version, 1, create_topic(broker), known=True).frame(key, ())
        after_client_id = 10 + unpack_header(frame)[3]
        many = unsigned_varint(TAGS) + b"\x63\7unknown" * TAGS
        long = b"\1\x63" + unsigned_varint(FRAME_BYTES) + bytes(FRAME_BYTES)
        for tags in (many, long):
            ask(broker, frame)
            ask(broker, frame[:-1] + tags)
            ask(broker, frame[:after_client_id] + tags + frame[after_client_id + 1 :])
            ask(broker, frame)
            assert list(held()) == []
