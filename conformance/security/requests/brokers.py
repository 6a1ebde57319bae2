"""Requests that brokers send to each other, and those that everybody may send."""

from __future__ import annotations

from uuid import UUID

from conformance.security.requests.vocabulary import TOPICS, TRANSACTIONS, Requests, TopicIds
from kafkalite.wire.messages import (
    add_partitions_to_txn,
    api_versions,
    delete_share_group_state,
    get_telemetry_subscriptions,
    initialize_share_group_state,
    list_config_resources,
    push_telemetry,
    read_share_group_state,
    read_share_group_state_summary,
    write_share_group_state,
)

_CLIENT = UUID(int=5)


def _transactions() -> add_partitions_to_txn.AddPartitionsToTxnRequest:
    return add_partitions_to_txn.AddPartitionsToTxnRequest(
        transactions=[
            add_partitions_to_txn.AddPartitionsToTxnTransaction(
                transactional_id=name,
                producer_id=1,
                producer_epoch=0,
                verify_only=True,
                topics=[add_partitions_to_txn.AddPartitionsToTxnTopic(TOPICS[0], [0])],
            )
            for name in TRANSACTIONS
        ]
    )


def brokers(ids: TopicIds) -> Requests:
    """By name."""
    return {
        "versions": (
            api_versions.ApiVersionsRequest(
                client_software_name="client", client_software_version="1"
            ),
            None,
        ),
        "add partitions of many": (_transactions(), None),
        "all config resources": (list_config_resources.ListConfigResourcesRequest(), None),
        "telemetry wanted": (
            get_telemetry_subscriptions.GetTelemetrySubscriptionsRequest(_CLIENT),
            None,
        ),
        "telemetry": (push_telemetry.PushTelemetryRequest(_CLIENT), None),
        "initialize share state": (
            initialize_share_group_state.InitializeShareGroupStateRequest("open-share"),
            None,
        ),
        "read share state": (
            read_share_group_state.ReadShareGroupStateRequest("open-share"),
            None,
        ),
        "read a summary of share state": (
            read_share_group_state_summary.ReadShareGroupStateSummaryRequest("open-share"),
            None,
        ),
        "write share state": (
            write_share_group_state.WriteShareGroupStateRequest("open-share"),
            None,
        ),
        "delete share state": (
            delete_share_group_state.DeleteShareGroupStateRequest("open-share"),
            None,
        ),
    }
