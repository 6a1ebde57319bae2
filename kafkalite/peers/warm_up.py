"""Makes the codecs of the messages between nodes, which else the first of each would.

That takes milliseconds each, and is done before the broker's loop runs.
"""

from __future__ import annotations

from typing import Any, Final

from kafkalite.wire.codec import encode_request
from kafkalite.wire.message_codec import build_body, join, parse_body
from kafkalite.wire.messages import (
    add_partitions_to_txn,
    allocate_producer_ids,
    alter_partition,
    api_versions,
    assign_replicas_to_dirs,
    broker_heartbeat,
    broker_registration,
    create_topics,
    delete_share_group_state,
    envelope,
    fetch,
    fetch_snapshot,
    initialize_share_group_state,
    list_offsets,
    read_share_group_state,
    read_share_group_state_summary,
    write_share_group_state,
    write_txn_markers,
)
from kafkalite.wire.schema import message_of

_MESSAGES: Final[tuple[tuple[type[Any], type[Any]], ...]] = (
    (api_versions.ApiVersionsRequest, api_versions.ApiVersionsResponse),
    (fetch.FetchRequest, fetch.FetchResponse),
    (fetch_snapshot.FetchSnapshotRequest, fetch_snapshot.FetchSnapshotResponse),
    (
        broker_registration.BrokerRegistrationRequest,
        broker_registration.BrokerRegistrationResponse,
    ),
    (broker_heartbeat.BrokerHeartbeatRequest, broker_heartbeat.BrokerHeartbeatResponse),
    (alter_partition.AlterPartitionRequest, alter_partition.AlterPartitionResponse),
    (
        allocate_producer_ids.AllocateProducerIdsRequest,
        allocate_producer_ids.AllocateProducerIdsResponse,
    ),
    (
        assign_replicas_to_dirs.AssignReplicasToDirsRequest,
        assign_replicas_to_dirs.AssignReplicasToDirsResponse,
    ),
    (create_topics.CreateTopicsRequest, create_topics.CreateTopicsResponse),
    (envelope.EnvelopeRequest, envelope.EnvelopeResponse),
    (list_offsets.ListOffsetsRequest, list_offsets.ListOffsetsResponse),
    (
        add_partitions_to_txn.AddPartitionsToTxnRequest,
        add_partitions_to_txn.AddPartitionsToTxnResponse,
    ),
    (
        initialize_share_group_state.InitializeShareGroupStateRequest,
        initialize_share_group_state.InitializeShareGroupStateResponse,
    ),
    (
        read_share_group_state.ReadShareGroupStateRequest,
        read_share_group_state.ReadShareGroupStateResponse,
    ),
    (
        write_share_group_state.WriteShareGroupStateRequest,
        write_share_group_state.WriteShareGroupStateResponse,
    ),
    (
        delete_share_group_state.DeleteShareGroupStateRequest,
        delete_share_group_state.DeleteShareGroupStateResponse,
    ),
    (
        read_share_group_state_summary.ReadShareGroupStateSummaryRequest,
        read_share_group_state_summary.ReadShareGroupStateSummaryResponse,
    ),
    (write_txn_markers.WriteTxnMarkersRequest, write_txn_markers.WriteTxnMarkersResponse),
)


def make_codecs() -> None:
    """Encode an empty request and parse an empty answer of each, in the version asked in."""
    for request, response in _MESSAGES:
        message = message_of(request)
        version = message.max_version
        if request is api_versions.ApiVersionsRequest:
            version = 3
        encode_request(message.key, version, 0, "", request())
        parse_body(response, version, memoryview(join(build_body(response(), version))))
