"""Asking the share coordinator for single partitions, as the APIs of its peers do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from kafkalite.replica.share.share_partition import SharePartitionKey
from kafkalite.wire.error_messages import message_of
from kafkalite.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from kafkalite.coordinators.share_adapter import ShareServices

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """The outcome: a result, or a code and words for why there is none."""

    result: T | None = None
    error_code: int = ErrorCode.NONE
    error_message: str | None = None


def ask(
    share: ShareServices, node_id: int, key: SharePartitionKey, verb: str, work: Callable[[], T]
) -> Answer[T]:
    """`work()`, if this node coordinates the share partition; `verb` is for the error."""
    try:
        share.coordinator.log.check_coordinator(key, node_id)
    except KafkaError as error:
        words = f"Unable to {verb}: {message_of(error)}"
        return Answer(error_code=error.code, error_message=words)
    try:
        return Answer(work())
    except KafkaError as error:
        return Answer(error_code=error.code, error_message=message_of(error))
