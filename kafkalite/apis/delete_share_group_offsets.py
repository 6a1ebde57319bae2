"""DeleteShareGroupOffsets (key 92), version 0: a share group forgets topics (KIP-932).

Only of a group without members.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from kafkalite.cluster.features import SHARE_VERSION
from kafkalite.wire.error_messages import default_message
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
)

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services


def handle(
    services: Services, context: RequestContext, request: DeleteShareGroupOffsetsRequest
) -> DeleteShareGroupOffsetsResponse | Coroutine[Any, Any, DeleteShareGroupOffsetsResponse]:
    if not services.cluster.features.get(SHARE_VERSION, 0):
        code = ErrorCode.UNSUPPORTED_VERSION
        return DeleteShareGroupOffsetsResponse(error_code=code, error_message=default_message(code))
    return services.share.when_ready(
        context,
        [topic.topic_name for topic in request.topics],
        lambda: services.group_coordinator.share.offsets.delete(context, request),
    )
