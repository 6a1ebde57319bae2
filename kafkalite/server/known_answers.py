"""Metadata answers that were given since the last change of the metadata, by what was asked.

Clients ask for the same topics all day. An answer that says nothing but what the metadata says, of
topics that are there, stays true until the metadata change, and then `Cluster.cache` is empty. The
declared way makes it, and it differs from request to request in the correlation id only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkalite.wire.errors import ErrorCode

if TYPE_CHECKING:
    from kafkalite.services import Services
    from kafkalite.wire.fields import InMemory, Records
    from kafkalite.wire.messages.metadata import MetadataResponse

# At most so many answers of at most so many bytes, to requests of at most so many: 1.2 MB.
_MOST: Final = 128
_LONGEST_ANSWER_BYTES: Final = 8192
_LONGEST_REQUEST_BYTES: Final = 1024

_KEY: Final = "known answers"


def known(services: Services, listener_name: str, frame: InMemory) -> bytes | None:
    """The answer to a Metadata request, if the same was asked before and nothing has changed."""
    answers: dict[bytes, bytes] | None = services.cluster.cache.get((_KEY, listener_name))
    if answers is None or len(frame) > _LONGEST_REQUEST_BYTES:
        return None
    rest = answers.get(_question(frame))
    # Behind the size comes the correlation id.
    return None if rest is None else rest[:4] + bytes(frame[4:8]) + rest[4:]


def remember(
    services: Services,
    listener_name: str,
    frame: InMemory,
    response: MetadataResponse,
    chunks: list[Records],
) -> None:
    """Keep the answer to a Metadata request, if the next one may be answered alike."""
    answer = chunks[0]
    if len(frame) > _LONGEST_REQUEST_BYTES or not isinstance(answer, bytes):
        return
    if len(answer) > _LONGEST_ANSWER_BYTES or not _is_lasting(response):
        return
    answers = services.cluster.cache.setdefault((_KEY, listener_name), {})
    if len(answers) < _MOST:
        answers[_question(frame)] = answer[:4] + answer[8:]


def _question(frame: InMemory) -> bytes:
    """The frame without its correlation id."""
    return bytes(frame[:4]) + bytes(frame[8:])


def _is_lasting(response: MetadataResponse) -> bool:
    """Whether all topics are there: one that is not may have been created by asking for it."""
    return response.error_code == ErrorCode.NONE and all(
        topic.error_code == ErrorCode.NONE for topic in response.topics
    )
