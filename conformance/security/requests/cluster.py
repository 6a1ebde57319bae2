"""Requests about configs, quotas and the cluster itself."""

from __future__ import annotations

from conformance.security.requests.vocabulary import GROUPS, MISSING, TOPICS, Requests, TopicIds
from kafkalite.wire.messages import (
    add_raft_voter,
    alter_client_quotas,
    alter_configs,
    alter_replica_log_dirs,
    describe_client_quotas,
    describe_cluster,
    describe_configs,
    describe_log_dirs,
    describe_quorum,
    incremental_alter_configs,
    list_config_resources,
    remove_raft_voter,
    unregister_broker,
    update_features,
)


def _resource(kind: int, name: str) -> describe_configs.DescribeConfigsResource:
    return describe_configs.DescribeConfigsResource(
        resource_type=kind, resource_name=name, configuration_keys=["retention.ms", "node.id"]
    )


def _alter(kind: int, name: str) -> incremental_alter_configs.AlterConfigsResource:
    change = incremental_alter_configs.AlterableConfig(
        name="retention.ms" if kind == 2 else "log.cleaner.threads", config_operation=0, value="2"
    )
    return incremental_alter_configs.AlterConfigsResource(
        resource_type=kind, resource_name=name, configs=[change]
    )


def _old_alter(name: str) -> alter_configs.AlterConfigsResource:
    return alter_configs.AlterConfigsResource(
        resource_type=2,
        resource_name=name,
        configs=[alter_configs.AlterableConfig(name="retention.ms", value="5")],
    )


def _part_0() -> Requests:
    return {
        "describe configs": (
            describe_configs.DescribeConfigsRequest(
                resources=[
                    *(_resource(2, name) for name in (*TOPICS, *MISSING)),
                    _resource(4, "1"),
                    *(_resource(32, name) for name in GROUPS),
                ]
            ),
            None,
        ),
        "alter configs by increments": (
            incremental_alter_configs.IncrementalAlterConfigsRequest(
                resources=[
                    *(_alter(2, name) for name in (*TOPICS, *MISSING)),
                    *(_alter(4, name) for name in ("", "2", "x")),
                ],
                validate_only=True,
            ),
            None,
        ),
        "alter configs": (
            alter_configs.AlterConfigsRequest(
                resources=[_old_alter(name) for name in TOPICS], validate_only=True
            ),
            None,
        ),
        "list config resources": (list_config_resources.ListConfigResourcesRequest(), 0),
        "describe cluster": (
            describe_cluster.DescribeClusterRequest(include_cluster_authorized_operations=True),
            None,
        ),
        "describe quorum": (describe_quorum.DescribeQuorumRequest(), None),
        "describe log dirs": (describe_log_dirs.DescribeLogDirsRequest(topics=[]), None),
        "describe log dirs 1": (describe_log_dirs.DescribeLogDirsRequest(topics=[]), 1),
        "alter replica log dirs": (alter_replica_log_dirs.AlterReplicaLogDirsRequest(), None),
        "describe quotas": (
            describe_client_quotas.DescribeClientQuotasRequest(components=[], strict=False),
            None,
        ),
        "alter quotas": (
            alter_client_quotas.AlterClientQuotasRequest(
                entries=[
                    alter_client_quotas.EntryDataRequest(
                        entity=[alter_client_quotas.EntityData("user", "open")],
                        ops=[alter_client_quotas.OpData("producer_byte_rate", 1e9, False)],
                    )
                ],
                validate_only=True,
            ),
            None,
        ),
        "update features": (
            update_features.UpdateFeaturesRequest(feature_updates=[], validate_only=True),
            None,
        ),
        "unregister": (unregister_broker.UnregisterBrokerRequest(broker_id=99), None),
        "add raft voter": (add_raft_voter.AddRaftVoterRequest(cluster_id=None), None),
        "remove raft voter": (remove_raft_voter.RemoveRaftVoterRequest(cluster_id=None), None),
    }


def cluster(ids: TopicIds) -> Requests:
    """By name."""
    return {**_part_0()}
