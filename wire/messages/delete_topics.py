"""DeleteTopics (key 20), versions 1-6, flexible since 4.

Deletes topics.

    1  throttle time (KIP-124)
    2  answered first and throttled by the client afterwards (KIP-219)
    3  TOPIC_DELETION_DISABLED is possible (KIP-322)
    5  error message; THROTTLING_QUOTA_EXCEEDED is possible (KIP-599)
    6  by name or by id (KIP-516)
"""

from uuid import UUID

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import int16, int32, nullable_string, string, uuid
from kafkalite.wire.schema import array, field, request, response, struct


@struct
class DeleteTopicState:
    name: str | None = field(nullable_string)
    topic_id: UUID = field(uuid)


@request(ApiKey.DELETE_TOPICS, versions=(1, 6), flexible=4)
class DeleteTopicsRequest:
    topics: list[DeleteTopicState] = array(DeleteTopicState, since=6)
    topic_names: list[str] = array(string, until=5, ignorable=True)
    timeout_ms: int = field(int32)


@struct
class DeletableTopicResult:
    name: str | None = field(nullable_string, nullable_since=6, default="")
    topic_id: UUID = field(uuid, since=6, ignorable=True)
    error_code: int = field(int16)
    error_message: str | None = field(nullable_string, since=5, ignorable=True)


@response(ApiKey.DELETE_TOPICS, versions=(1, 6), flexible=4)
class DeleteTopicsResponse:
    throttle_time_ms: int = field(int32)
    responses: list[DeletableTopicResult] = array(DeletableTopicResult)
