"""Requests that change topics cost tokens, one per partition (KIP-599).

A strict request is refused topic by topic once the tokens are spent; a permissive one, of a version
whose clients do not know the error, overdraws, and its client waits. Source: Kafka's
StrictControllerMutationQuota, PermissiveControllerMutationQuota, ReplicationControlManager.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol
from uuid import UUID

from kafkalite.config import BrokerConfig
from kafkalite.requests.mirrors import mirror_of
from kafkalite.requests.refusals import refused
from kafkalite.requests.slices import Steps
from kafkalite.security.quotas import ClientQuota
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import ErrorCode


class TopicState(Protocol):
    """A topic in the metadata."""

    @property
    def topic_id(self) -> Any: ...
    @property
    def partitions(self) -> list[Any]: ...


class TopicStates(Protocol):
    """The topics in the metadata."""

    @property
    def topics(self) -> Mapping[str, TopicState]: ...
    @property
    def topics_by_id(self) -> Mapping[UUID, TopicState]: ...


class MutationQuota:
    """The quota of one request; `wait_ms` is what the client has to wait in the end."""

    def __init__(
        self,
        quota: ClientQuota,
        user: str,
        client_id: str,
        now_ms: Callable[[], int],
        *,
        is_strict: bool,
    ) -> None:
        self._quota = quota
        self._user = user
        self._client_id = client_id
        self._now_ms = now_ms
        self._is_strict = is_strict
        self.wait_ms = 0

    def take(self, partitions: int) -> bool:
        """Take tokens; False if there are too few, and the change is refused."""
        now_ms = self._now_ms()
        if self._is_strict:
            self.wait_ms = self._quota.tokens_short_ms(self._user, self._client_id, now_ms)
            if self.wait_ms:
                return False
            self._quota.take_tokens(self._user, self._client_id, partitions, now_ms)
        else:
            self._quota.take_tokens(self._user, self._client_id, partitions, now_ms)
            self.wait_ms = self._quota.tokens_short_ms(self._user, self._client_id, now_ms)
        return True


# The partitions that an element of a request is about; None: it fails before it costs anything.
Cost = Callable[[TopicStates, BrokerConfig, Any], int | None]


@dataclass(frozen=True, slots=True)
class Mutation:
    """One API: since when it is strict, and the cost of each topic."""

    api_key: ApiKey
    strict_since: int
    cost: Cost

    def admitting(
        self, image: TopicStates, config: BrokerConfig, request: Any, quota: MutationQuota
    ) -> Steps[tuple[Any, list[Any]]]:
        """The request without what there are no tokens for, and the answers to that."""
        mirror = mirror_of(self.api_key, request)
        assert mirror is not None
        kept: list[Any] = []
        denied: list[Any] = []
        for element in getattr(request, mirror.asked):
            yield
            cost = self.cost(image, config, element)
            if cost is None or quota.take(cost):
                kept.append(element)
            else:
                code = ErrorCode.THROTTLING_QUOTA_EXCEEDED
                denied.append((yield from refused(self.api_key, mirror, element, code)))
        return (replace(request, **{mirror.asked: kept}) if denied else request), denied

    def merge(self, response: Any, denied: list[Any]) -> Any:
        """The response with the answers to what was refused."""
        if not denied:
            return response
        answered = "topics" if self.api_key is ApiKey.CREATE_TOPICS else None
        if answered is None:
            answered = "responses" if self.api_key is ApiKey.DELETE_TOPICS else "results"
        return replace(response, **{answered: [*getattr(response, answered), *denied]})


def _created(image: TopicStates, config: BrokerConfig, topic: Any) -> int | None:
    if topic.name in image.topics:
        return None
    if topic.assignments:
        return len(topic.assignments)
    count = config.partition_count(topic.num_partitions)
    return count if count > 0 else None


def _deleted(image: TopicStates, config: BrokerConfig, topic: Any) -> int | None:
    if isinstance(topic, str):
        found = image.topics.get(topic)
    elif topic.name is not None:
        found = image.topics.get(topic.name)
    else:
        found = image.topics_by_id.get(topic.topic_id)
    return None if found is None else len(found.partitions)


def _added(image: TopicStates, config: BrokerConfig, topic: Any) -> int | None:
    found = image.topics.get(topic.name)
    more = 0 if found is None else topic.count - len(found.partitions)
    return more if more > 0 else None


MUTATIONS: Final[Mapping[ApiKey, Mutation]] = {
    each.api_key: each
    for each in (
        Mutation(ApiKey.CREATE_TOPICS, 6, _created),
        Mutation(ApiKey.DELETE_TOPICS, 5, _deleted),
        Mutation(ApiKey.CREATE_PARTITIONS, 3, _added),
    )
}
