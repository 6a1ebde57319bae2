"""Every API as users with other rights each, asked of both brokers: the answers are the same."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from conformance.security.pair import Client, SecuredKafka, SecuredKafkalite
from conformance.security.requests import requests
from kafkalite.wire.messages.create_acls import AclCreation, CreateAclsRequest
from kafkalite.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafkalite.wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from kafkalite.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkalite.wire.messages.metadata import MetadataRequest
from kafkalite.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from kafkalite.wire.messages.sasl_handshake import SaslHandshakeRequest

Brokers = tuple[SecuredKafka, SecuredKafkalite]

READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE = 3, 4, 5, 6, 7, 8
CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE = 9, 10, 11, 12
ALL = 2
TOPIC, GROUP, CLUSTER, TRANSACTION = 2, 3, 4, 5
NAMES = {TOPIC: "open-", GROUP: "open-", CLUSTER: "kafka-cluster", TRANSACTION: "open-"}
OPERATIONS = {
    TOPIC: (READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS, ALL),
    GROUP: (READ, DESCRIBE, DELETE, DESCRIBE_CONFIGS, ALTER_CONFIGS, ALL),
    CLUSTER: (
        *(CREATE, ALTER, DESCRIBE, DELETE, CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS),
        *(IDEMPOTENT_WRITE, ALL),
    ),
    TRANSACTION: (DESCRIBE, WRITE, ALL),
}


def acl(kind: int, operation: int, permission: int = 3) -> AclCreation:
    pattern = 3 if kind == CLUSTER else 4
    return AclCreation(kind, NAMES[kind], pattern, "User:alice", "*", operation, permission)


def acl_sets() -> dict[str, list[AclCreation]]:
    """None, each operation alone, and generated ones."""
    sets: dict[str, list[AclCreation]] = {"none": []}
    for kind, operations in OPERATIONS.items():
        for operation in operations:
            sets[f"type {kind} operation {operation}"] = [acl(kind, operation)]
    everything = [acl(kind, ALL) for kind in OPERATIONS]
    sets["everything"] = everything
    generated = random.Random(4)
    pairs = [(kind, operation) for kind, each in OPERATIONS.items() for operation in each]
    for number in range(12):
        chosen = generated.sample(pairs, 5)
        acls = [acl(kind, operation, generated.choice((3, 3, 3, 2))) for kind, operation in chosen]
        sets[f"generated {number}"] = acls
    return sets


@pytest.fixture(scope="module")
def brokers(secured: Brokers) -> Brokers:
    for each in secured:
        prepare(each.sasl_address)
    return secured


def logged_in(address: tuple[str, int], user: str) -> Client:
    client = Client(address)
    client.ask(SaslHandshakeRequest("PLAIN"), 1)
    answer = client.ask(SaslAuthenticateRequest(f"\0{user}\0{user[0]}".encode()), 2)
    assert answer.error_code == 0
    return client


def prepare(address: tuple[str, int]) -> None:
    with logged_in(address, "root") as root:
        topics = [
            CreatableTopic(name=name, num_partitions=1, replication_factor=1)
            for name in ("open-topic", "shut-topic")
        ]
        root.ask(CreateTopicsRequest(topics=topics, timeout_ms=10_000))
        for kind, keys in ((0, ["open-group"]), (1, ["open-transaction"])):
            while (
                root.ask(FindCoordinatorRequest(key_type=kind, coordinator_keys=keys))
                .coordinators[0]
                .error_code
            ):
                pass
        ask_all(root)  # groups and offsets are there then


def topic_ids(client: Client) -> dict[str, UUID]:
    answer = client.ask(MetadataRequest(topics=None, allow_auto_topic_creation=False))
    return {topic.name: topic.topic_id for topic in answer.topics}


def ask_all(client: Client, ids: dict[str, UUID] | None = None) -> dict[str, Any]:
    ids = topic_ids(client) if ids is None else ids
    names = {topic_id: name for name, topic_id in ids.items()}
    return {
        name: plain(client.ask(request, version), names)
        for name, (request, version) in requests(ids).items()
    }


# Identities, places and clocks, and the words of a request that only its broker can write.
_OWN = {
    *("host", "port", "node_id", "broker_id", "controller_id", "cluster_id", "leader_id"),
    *("issue_timestamp", "expiry_timestamp", "max_timestamp"),
    *("producer_id", "topic_id", "session_id", "log_append_time_ms", "log_dir"),
    *("total_bytes", "usable_bytes", "hmac", "token_id", "issue_timestamp_ms", "member_id"),
    *(
        "expiry_timestamp_ms",
        "max_timestamp_ms",
        "replica_directory_id",
        "records",
        "log_end_offset",
    ),
    *("high_watermark", "last_stable_offset", "base_offset", "offset", "partition_size", "epoch"),
    *("last_caught_up_timestamp", "last_fetch_timestamp", "leader_epoch", "voter_id", "replica_id"),
    *("configs", "config_resources", "end_offset", "low_watermark", "active_producers", "nodes"),
    *("observers", "brokers", "replica_nodes", "isr_nodes", "results_by_dir", "offset_lag"),
}


def plain(value: Any, names: dict[UUID, str]) -> Any:
    """An answer without what is a broker's own; the order of lists does not count."""
    if dataclasses.is_dataclass(value):
        return {
            each.name: plain(getattr(value, each.name), names)
            for each in dataclasses.fields(value)
            if each.name not in _OWN
        } | (
            {"topic_id": names.get(value.topic_id, "a new one" if value.topic_id.int else "none")}
            if hasattr(value, "topic_id")
            else {}
        )
    if isinstance(value, list | tuple):
        items = [plain(item, names) for item in value]
        foreign = (
            [item for item in items if "__" in str(item.get("name", ""))]
            if all(isinstance(item, dict) for item in items)
            else []
        )
        return sorted((item for item in items if item not in foreign), key=repr)
    if isinstance(value, str) and value.startswith("Request "):
        return value.rpartition(" needs ")[2]  # before it Kafka describes the whole request
    return int(value) if isinstance(value, int) else value


@pytest.mark.parametrize("which", acl_sets())
def test_access_is_the_same(brokers: Brokers, which: str) -> None:
    acls = acl_sets()[which]
    told: list[dict[str, Any]] = []
    for each in brokers:
        with logged_in(each.sasl_address, "root") as root:
            ids = topic_ids(root)
            root.ask(DeleteAclsRequest(filters=[everything_of("User:alice")]))
            if acls:
                answer = root.ask(CreateAclsRequest(creations=acls))
                assert all(result.error_code == 0 for result in answer.results)
        wait_for_acls(each, len(acls))
        with logged_in(each.sasl_address, "alice") as alice:
            told.append(ask_all(alice, ids))
    theirs, ours = told
    different = {name: (theirs[name], ours[name]) for name in theirs if theirs[name] != ours[name]}
    assert not different, "\n".join(
        f"{name}\n  kafka     {a}\n  kafkalite {b}" for name, (a, b) in different.items()
    )


def everything_of(principal: str) -> DeleteAclsFilter:
    return DeleteAclsFilter(
        resource_type_filter=1,
        resource_name_filter=None,
        pattern_type_filter=1,
        principal_filter=principal,
        host_filter=None,
        operation=1,
        permission_type=1,
    )


def wait_for_acls(each: SecuredKafka | SecuredKafkalite, count: int) -> None:
    """Until the broker follows its own controller."""
    from kafkalite.wire.messages.describe_acls import DescribeAclsRequest

    wanted = dataclasses.asdict(everything_of("User:alice"))
    wanted.pop("unknown_tagged_fields", None)
    with logged_in(each.sasl_address, "root") as root:
        for _ in range(200):
            answer = root.ask(DescribeAclsRequest(**wanted))
            if sum(len(resource.acls) for resource in answer.resources) == count:
                return
    raise AssertionError("the ACLs did not come")


def test_super_users_are_told_the_same(brokers: Brokers, tmp_path: Path) -> None:
    told = []
    for each in brokers:
        with logged_in(each.sasl_address, "root") as root:
            told.append(ask_all(root))
    theirs, ours = told
    different = {name: (theirs[name], ours[name]) for name in theirs if theirs[name] != ours[name]}
    assert not different, "\n".join(
        f"{name}\n  kafka     {a}\n  kafkalite {b}" for name, (a, b) in different.items()
    )
