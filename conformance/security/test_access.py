"""Every API as users with other rights each, asked of both brokers: the answers are the same."""

from __future__ import annotations

import dataclasses
import random
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from conformance.differential.broker_side import Side
from conformance.differential.comparison import Difference, Pair
from conformance.differential.summary import PAIRS, served
from conformance.harness.messages import fitting
from conformance.security.acl_stories import LOWEST, denied
from conformance.security.pair import Client, SecuredKafka, SecuredKafkalite, logged_in
from conformance.security.requests import requests
from conformance.security.requests.access import OWNERS
from kafkalite.apis import APIS
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import InvalidMessage
from kafkalite.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kafkalite.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafkalite.wire.messages.create_acls import AclCreation, CreateAclsRequest
from kafkalite.wire.messages.create_delegation_token import CreateDelegationTokenRequest
from kafkalite.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafkalite.wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from kafkalite.wire.messages.describe_acls import DescribeAclsRequest
from kafkalite.wire.messages.describe_delegation_token import DescribeDelegationTokenRequest
from kafkalite.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkalite.wire.messages.metadata import MetadataRequest
from kafkalite.wire.schema import message_of

SECONDS = 30
Brokers = tuple[SecuredKafka, SecuredKafkalite]

# Logins are asked in conversations.
CONVERSATION = (ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE)
READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE = 3, 4, 5, 6, 7, 8
CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE = 9, 10, 11, 12
CREATE_TOKENS, DESCRIBE_TOKENS, TWO_PHASE_COMMIT = 13, 14, 15
ALL = 2
# There is no coordinator, or it loads.
NOT_YET = (14, 15, 16)
TOPIC, GROUP, CLUSTER, TRANSACTION, TOKEN, USER = range(2, 8)
NAMES = {
    TOPIC: "open-",
    GROUP: "open-",
    CLUSTER: "kafka-cluster",
    TRANSACTION: "open-",
    TOKEN: "*",
    USER: "User:open-",
}
OPERATIONS = {
    TOPIC: (READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS, ALL),
    GROUP: (READ, DESCRIBE, DELETE, DESCRIBE_CONFIGS, ALTER_CONFIGS, ALL),
    CLUSTER: (
        *(CREATE, ALTER, DESCRIBE, DELETE, CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS),
        *(IDEMPOTENT_WRITE, ALL),
    ),
    TRANSACTION: (DESCRIBE, WRITE, TWO_PHASE_COMMIT, ALL),
    TOKEN: (DESCRIBE, ALL),
    USER: (CREATE_TOKENS, DESCRIBE_TOKENS, ALL),
}


def acl(kind: int, operation: int, permission: int = 3) -> AclCreation:
    pattern = 3 if kind in (CLUSTER, TOKEN) else 4
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
def secured(compared: Brokers) -> Brokers:
    return compared


@pytest.fixture(scope="module")
def pair(secured: Brokers, pytestconfig: pytest.Config) -> Iterator[Pair]:
    """Both brokers, and what they were asked counted."""
    made = Pair(*map(Side, secured))
    for broker, side in zip(secured, made.sides, strict=True):
        prepare(broker.address())
        side.addresses.append("{}:{}".format(*broker.address()))
    made.count_for("access")
    pytestconfig.stash.setdefault(PAIRS, []).append(made)
    yield made
    for side in made.sides:
        side.close()


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
        make_tokens(root)
        ask_all(root)  # groups and offsets are there then


def make_tokens(root: Client) -> None:
    """One of each owner, until the broker knows them."""
    for owner in OWNERS:
        made = CreateDelegationTokenRequest(
            owner_principal_type="User", owner_principal_name=owner, max_lifetime_ms=-1
        )
        assert root.ask(made).error_code == 0
    everybody = DescribeDelegationTokenRequest(owners=None)
    deadline = time.monotonic() + SECONDS
    while len(root.ask(everybody).tokens) < len(OWNERS):
        assert time.monotonic() < deadline


def topic_ids(client: Client) -> dict[str, UUID]:
    answer = client.ask(MetadataRequest(topics=None, allow_auto_topic_creation=False))
    return {topic.name: topic.topic_id for topic in answer.topics}


Answer = tuple[ApiKey, int, Any]


def ask_all(
    client: Client,
    ids: dict[str, UUID] | None = None,
    *,
    every_version: bool = False,
    turn: int | None = None,
) -> dict[str, Answer]:
    """The answers to all requests by name, each in its version, or in all that it has.

    `turn` chooses one of them, another for each request. None after the first at which the broker
    closed.
    """
    asked: dict[str, Answer] = {}
    catalogue = requests(topic_ids(client) if ids is None else ids)
    for number, (name, (request, version)) in enumerate(catalogue.items()):
        api = APIS[message_of(type(request)).key]
        highest = api.max_version if version is None else version
        lowest = max(api.min_version, LOWEST.get(name, 0))
        versions = range(lowest, highest + 1)
        if turn is not None:
            versions = versions[(number + turn) % len(versions) :][:1]
        elif not every_version:
            versions = versions[-1:]
        for each in versions:
            try:
                answer = client.ask(fitting(request, each), each)
            except InvalidMessage:  # it cannot be said in this version
                continue
            asked[f"{name}, v{each}"] = api.key, each, answer
    return asked


def compare(pair: Pair, told: list[dict[str, Answer]]) -> None:
    """Raises Difference, which names all that are not accepted."""
    theirs, ours = told
    found = []
    for name, (api, version, answer) in theirs.items():
        try:
            what = f"{api.name} v{version}"
            pair.compare(what, answer, ours[name][2], api=api, version=version)
        except Difference as difference:
            found.append(f"{name}: {difference}")
    assert not found, "\n".join(found)


@pytest.mark.parametrize("which", acl_sets())
def test_access_is_the_same(
    secured: Brokers, pair: Pair, which: str, pytestconfig: pytest.Config
) -> None:
    """The answers, and the lines about what was denied.

    With all or nothing allowed: in every version. With other ACLs: in one of them, which is another
    for each set; `--every-version` asks all.
    """
    acls = acl_sets()[which]
    every_version = which in ("none", "everything") or pytestconfig.getoption("--every-version")
    turn = None if every_version else list(acl_sets()).index(which)
    told: list[dict[str, Answer]] = []
    audits: list[Counter[str]] = []
    for each, side in zip(secured, pair.sides, strict=True):
        with logged_in(each.address(), "root") as root:
            ids = topic_ids(root)
            side.names.topic_ids.update({topic_id: name for name, topic_id in ids.items()})
            root.ask(DeleteAclsRequest(filters=[everything_of("User:alice")]))
            if acls:
                answer = root.ask(CreateAclsRequest(creations=acls))
                assert all(result.error_code == 0 for result in answer.results)
        wait_for_acls(each, acls)
        logged = each.output.stat().st_size
        with logged_in(each.address(), "alice") as alice:
            told.append(ask_all(alice, ids, every_version=every_version, turn=turn))
        audits.append(denied(each.output, logged))
    compare(pair, told)
    assert audits[0] == audits[1]


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


def wait_for_acls(each: SecuredKafka | SecuredKafkalite, acls: list[AclCreation]) -> None:
    """Until the broker follows its own controller."""
    asked = dataclasses.asdict(everything_of("User:alice"))
    asked.pop("unknown_tagged_fields", None)
    wanted = {(acl.resource_type, acl.operation, acl.permission_type) for acl in acls}
    deadline = time.monotonic() + SECONDS
    found = None
    with logged_in(each.address(), "root") as root:
        while found != wanted:
            assert time.monotonic() < deadline, f"{found} instead of {wanted}"
            answer = root.ask(DescribeAclsRequest(**asked))
            found = {
                (resource.resource_type, acl.operation, acl.permission_type)
                for resource in answer.resources
                for acl in resource.acls
            }


@pytest.mark.usefixtures("pair")
def test_an_expression_finds_what_may_be_described(secured: Brokers) -> None:
    """Apache Kafka looks after the first heartbeat, kafkalite before its answer."""
    for each in secured:
        acls = [acl(GROUP, READ), acl(GROUP, DESCRIBE), acl(TOPIC, DESCRIBE)]
        with logged_in(each.address(), "root") as root:
            root.ask(DeleteAclsRequest(filters=[everything_of("User:alice")]))
            root.ask(CreateAclsRequest(creations=acls))
        wait_for_acls(each, acls)
        beat = ConsumerGroupHeartbeatRequest(
            group_id="open-by-expression",
            member_id="m",
            rebalance_timeout_ms=10_000,
            topic_partitions=[],
            subscribed_topic_regex="(open|shut)-topic",
        )
        with logged_in(each.address(), "alice") as alice:
            deadline = time.monotonic() + SECONDS
            while (answer := alice.ask(beat)).member_epoch < 2:
                assert answer.error_code in (0, *NOT_YET), answer
                assert time.monotonic() < deadline
                if answer.error_code:
                    continue
                beat = ConsumerGroupHeartbeatRequest(
                    group_id=beat.group_id, member_id="m", member_epoch=answer.member_epoch
                )
            described = alice.ask(ConsumerGroupDescribeRequest(group_ids=[beat.group_id]))
        topics = described.groups[0].members[0].target_assignment.topic_partitions
        assert [topic.topic_name for topic in topics] == ["open-topic"], each


def test_super_users_are_told_the_same(secured: Brokers, pair: Pair) -> None:
    told = []
    for each in secured:
        with logged_in(each.address(), "root") as root:
            told.append(ask_all(root, every_version=True))
    compare(pair, told)


def test_every_api_was_asked_in_every_version(pair: Pair) -> None:
    asked = pair.tally.requests
    missing = [
        f"{api.name} v{version}"
        for api, version in served()
        if not asked[api, version] and api not in CONVERSATION
    ]
    assert not missing, ", ".join(missing)
