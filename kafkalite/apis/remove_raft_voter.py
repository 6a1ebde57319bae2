"""RemoveRaftVoter (key 81), version 0: one voter less for the metadata log (KIP-853).

Refused as AddRaftVoter is, and for the same reason. Source: KafkaRaftClient, RemoveVoterHandler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.apis.add_raft_voter import refusal
from kafkalite.requests.context import RequestContext
from kafkalite.wire.messages.remove_raft_voter import (
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
)

if TYPE_CHECKING:
    from kafkalite.services import Services


def handle(
    services: Services, context: RequestContext, request: RemoveRaftVoterRequest
) -> RemoveRaftVoterResponse:
    code, message = refusal(
        services,
        request.cluster_id,
        request.voter_id,
        request.voter_directory_id,
        "Remove",
        "removing",
    )
    return RemoveRaftVoterResponse(error_code=code, error_message=message)
