"""Requests of real clients to Apache Kafka (recordings/), asked again of both."""

from __future__ import annotations

import lzma
import time
import uuid

import pytest

from conformance.differential.comparison import Pair
from conformance.differential.recordings.files import NAME, file_of, read, recordings
from conformance.differential.replay import Replay

MOST_BYTES = 1_000_000
# These would tell of the machine that the recordings were made on.
PLACES = (b"/tmp", b"/home/", b"/root/", b"/work/", b"/Users/")


@pytest.mark.parametrize("client", recordings())
def test_a_recording(pair: Pair, client: str) -> None:
    pair.count_for("recorded")
    begun = time.monotonic()
    Replay(pair, unheard_of()).tell(read(client))
    pair.tally.seconds += time.monotonic() - begun
    assert pair.tally.requests
    pair.count_for("scripts")


def unheard_of() -> str:
    """A name as long as the one in recordings."""
    return "replayed-" + uuid.uuid4().hex[: len(NAME) - len("replayed-")]


def test_recordings_are_small_and_of_no_machine() -> None:
    files = [file_of(client) for client in recordings()]
    assert sum(file.stat().st_size for file in files) < MOST_BYTES
    for file in files:
        data = lzma.decompress(file.read_bytes())
        assert not [place for place in PLACES if place in data], file
