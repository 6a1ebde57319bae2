"""Requests of 200,000 elements, or of 80 MB: of any API, in any of its lists. They keep nobody
waiting."""

from __future__ import annotations

import base64
import contextlib
import os
from collections.abc import Iterator
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
TEXTS_BYTES: Final = 80_000_000
BLOB_BYTES: Final = 45_000_000
WITH_BYTES: Final = [
    api.key for api in APIS.values() if has_bytes(request_class(api.key), api.max_version)
]
CASES: Final = [*lists(), *((key, APIS[key].max_version) for key in FREQUENT)]


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


@pytest.mark.long
@pytest.mark.parametrize(
    ("key", "version"), CASES, ids=[f"{key.name} v{version}" for key, version in CASES]
)
def test_a_long_list_does_not_hold_the_loop(
    key: ApiKey, version: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with watched_broker(tmp_path / "broker", monkeypatch) as broker:
        topic_id = create_topic(broker)
        for path in paths(request_class(key), version):
            for known in (True, False):
                ask(broker, Filling(version, 1, topic_id, known=known).frame(key, path))
                ask(broker, Filling(version, COUNT, topic_id, known=known).frame(key, path))
                # The one after it is answered when what it left behind is gone, too.
                ask(broker, Filling(version, 1, topic_id, known=known).frame(key, path))
                assert list(held()) == [], (path, known)


@pytest.mark.long
@pytest.mark.parametrize(
    ("key", "version"), CASES, ids=[f"{key.name} v{version}" for key, version in CASES]
)
def test_long_texts_do_not_hold_the_loop(
    key: ApiKey, version: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Frames of up to 80 MB, with few elements."""
    with watched_broker(tmp_path / "broker", monkeypatch) as broker:
        topic_id = create_topic(broker)
        for path in paths(request_class(key), version):
            for known in (True, False):
                ask(broker, Filling(version, 1, topic_id, known=known).frame(key, path))
                texts = Filling(version, 1, topic_id, known=known, text_bytes=TEXT_BYTES)
                each = max(len(texts.frame(key, path)), TEXT_BYTES)
                count = TEXTS_BYTES // each
                texts = Filling(version, count, topic_id, known=known, text_bytes=TEXT_BYTES)
                ask(broker, texts.frame(key, path))
                ask(broker, Filling(version, 1, topic_id, known=known).frame(key, path))
                assert list(held()) == [], (path, known)


@pytest.mark.long
@pytest.mark.parametrize(
    "key", [k for k in APIS if has_bytes(request_class(k), APIS[k].max_version)]
)
def test_many_bytes_do_not_hold_the_loop(
    key: ApiKey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each field of bytes has tens of megabytes."""
    version = APIS[key].max_version
    with watched_broker(tmp_path / "broker", monkeypatch) as broker:
        topic_id = create_topic(broker)
        ask(broker, Filling(version, 1, topic_id, known=True).frame(key, ()))
        ask(broker, Filling(version, 1, topic_id, known=True, blob_bytes=BLOB_BYTES).frame(key, ()))
        ask(broker, Filling(version, 1, topic_id, known=True).frame(key, ()))
        assert list(held()) == []
