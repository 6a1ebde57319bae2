"""Requests at the edges of their fields, where users log in and have rights.

APIs of security are asked as one who may everything and as one who may nothing, and some others as
the latter: a request is refused before it is looked at, or not.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from conformance.differential.broker_side import Side
from conformance.differential.comparison import Difference, Pair
from conformance.differential.test_extremes import (
    PLAINER,
    is_asked,
    names_for,
    on_side,
    plain,
    variants,
)
from conformance.harness.messages import fitting
from conformance.security.pair import Client, logged_in
from conformance.security.test_access import (
    ALL,
    GROUP,
    TOPIC,
    TRANSACTION,
    Brokers,
    acl,
    everything_of,
    pair,
    secured,
    topic_ids,
)
from kafkalite.apis import APIS
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.api_messages import request_class
from kafkalite.wire.messages.create_acls import CreateAclsRequest
from kafkalite.wire.messages.delete_acls import DeleteAclsRequest
from kafkalite.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafkalite.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from kafkalite.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)

__all__ = ["pair", "secured"]  # the fixtures

SECURITY = (
    *(ApiKey.DESCRIBE_ACLS, ApiKey.CREATE_ACLS, ApiKey.DELETE_ACLS),
    *(ApiKey.CREATE_DELEGATION_TOKEN, ApiKey.RENEW_DELEGATION_TOKEN),
    *(ApiKey.EXPIRE_DELEGATION_TOKEN, ApiKey.DESCRIBE_DELEGATION_TOKEN),
    *(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, ApiKey.ALTER_USER_SCRAM_CREDENTIALS),
)
# Apache Kafka looks at something of these before it asks who may, or has words of its own.
OTHERS = (
    *(ApiKey.FIND_COORDINATOR, ApiKey.ALTER_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS),
    *(ApiKey.DESCRIBE_TOPIC_PARTITIONS, ApiKey.SYNC_GROUP),
    *(ApiKey.INITIALIZE_SHARE_GROUP_STATE, ApiKey.READ_SHARE_GROUP_STATE),
    *(ApiKey.WRITE_SHARE_GROUP_STATE, ApiKey.DELETE_SHARE_GROUP_STATE),
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY,
)
# Each of what is named twice is answered once, and nothing that has nothing in it.
LISTS = (
    *(ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.DELETE_RECORDS, ApiKey.METADATA),
    *(ApiKey.WRITE_TXN_MARKERS, ApiKey.DELETE_GROUPS),
)
# The group may be used, the topics may not.
GROUPS = (
    *(ApiKey.OFFSET_COMMIT, ApiKey.TXN_OFFSET_COMMIT, ApiKey.OFFSET_DELETE, ApiKey.OFFSET_FETCH),
    *(ApiKey.CONSUMER_GROUP_HEARTBEAT, ApiKey.STREAMS_GROUP_HEARTBEAT),
    *(ApiKey.SHARE_GROUP_HEARTBEAT, ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS),
    *(ApiKey.ALTER_SHARE_GROUP_OFFSETS, ApiKey.DELETE_SHARE_GROUP_OFFSETS),
)
# Apache Kafka fails without an answer where it is refused.
NOT_ANSWERED = (ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, "users null", "alice")


class Users:
    """The connections of a user to both brokers; one that was closed is opened again."""

    def __init__(self, brokers: Brokers, name: str) -> None:
        self._brokers = brokers
        self._name = name
        self._clients: dict[int, Client] = {}

    def ask(self, number: int, message: Any, version: int) -> Any:
        client = self._clients.get(number)
        if client is None:
            client = logged_in(self._brokers[number].address(), self._name)
            self._clients[number] = client
        answer = client.ask(message, version)
        if answer is None:
            self._clients.pop(number).socket.close()
        return answer

    def close(self) -> None:
        for client in self._clients.values():
            client.socket.close()


def differences(
    brokers: Brokers, pair: Pair, user: str, api: ApiKey, version: int | None = None
) -> list[str]:
    version = APIS[api].max_version if version is None else version
    base = plain(request_class(api), version, names_for("open-topic", "open-group"))
    PLAINER.get(api, lambda base: None)(base)
    ids = []
    for broker in brokers:
        with logged_in(broker.address(), "root") as root:
            ids.append(topic_ids(root)["open-topic"])
    users = Users(brokers, user)
    found = []
    for word, message in [("plain", base), *variants(base, version)]:
        left_out = not is_asked(api, word) and api is not ApiKey.WRITE_TXN_MARKERS  # is refused
        if left_out or (api, word, user) == NOT_ANSWERED:
            continue
        answers = [users.ask(number, on_side(message, ids[number]), version) for number in (0, 1)]
        try:
            pair.compare(f"{api.name} v{version}", *answers, api=api, version=version)
        except Difference as difference:
            found.append(f"{word}: {difference}")
    users.close()
    return found


def without_acls(brokers: Brokers) -> None:
    """Take all ACLs away, and wait until the brokers know."""
    anybody = everything_of("User:alice")
    anybody.principal_filter = None
    for broker in brokers:
        with logged_in(broker.address(), "root") as root:
            root.ask(DeleteAclsRequest(filters=[anybody]))
        side = Side(broker)
        side.settle()
        side.close()


@pytest.mark.parametrize("api", SECURITY, ids=lambda api: api.name)
@pytest.mark.parametrize("user", ["root", "alice"])
def test_apis_of_security(secured: Brokers, pair: Pair, user: str, api: ApiKey) -> None:
    without_acls(secured)
    found = differences(secured, pair, user, api)
    without_acls(secured)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("api", OTHERS, ids=lambda api: api.name)
def test_what_is_refused(secured: Brokers, pair: Pair, api: ApiKey) -> None:
    found = differences(secured, pair, "alice", api)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("api", LISTS, ids=lambda api: api.name)
@pytest.mark.parametrize("newest", [False, True], ids=["oldest", "newest"])
def test_lists_that_are_refused(secured: Brokers, pair: Pair, api: ApiKey, newest: bool) -> None:
    version = APIS[api].max_version if newest else APIS[api].min_version
    found = differences(secured, pair, "alice", api, version)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("api", GROUPS, ids=lambda api: api.name)
@pytest.mark.parametrize("newest", [False, True], ids=["oldest", "newest"])
def test_topics_that_are_refused_to_who_may_use_the_group(
    secured: Brokers, pair: Pair, api: ApiKey, newest: bool
) -> None:
    version = APIS[api].max_version if newest else APIS[api].min_version
    without_acls(secured)
    for broker in secured:
        with logged_in(broker.address(), "root") as root:
            root.ask(CreateAclsRequest(creations=[acl(GROUP, ALL), acl(TRANSACTION, ALL)]))
        side = Side(broker)
        side.settle()
        side.close()
    found = differences(secured, pair, "alice", api, version)
    without_acls(secured)
    assert not found, "\n".join(found)


# Two partitions each: the first and the last of the same topic, the other one refused.
PLACES = (("open-topic", 0), ("shut-topic", 0), ("open-topic", 7), ("shut-topic", 1))


def named_twice(api: ApiKey, ids: dict[str, UUID]) -> Any:
    if api is ApiKey.OFFSET_COMMIT:
        return OffsetCommitRequest(
            group_id="open-group",
            topics=[
                OffsetCommitRequestTopic(name, ids[name], [OffsetCommitRequestPartition(index, 1)])
                for name, index in PLACES
            ],
        )
    if api is ApiKey.OFFSET_DELETE:
        return OffsetDeleteRequest(
            group_id="open-group",
            topics=[
                OffsetDeleteRequestTopic(name, [OffsetDeleteRequestPartition(index)])
                for name, index in PLACES
            ],
        )
    return TxnOffsetCommitRequest(
        transactional_id="open-transaction",
        group_id="open-group",
        topics=[
            TxnOffsetCommitRequestTopic(name, [TxnOffsetCommitRequestPartition(index, 1)])
            for name, index in PLACES
        ],
    )


@pytest.mark.parametrize(
    "api", [ApiKey.OFFSET_COMMIT, ApiKey.OFFSET_DELETE, ApiKey.TXN_OFFSET_COMMIT]
)
def test_topics_twice_of_which_some_are_refused(secured: Brokers, pair: Pair, api: ApiKey) -> None:
    """Topics that are not refused are put together, too, and come after the others."""
    without_acls(secured)
    for broker in secured:
        with logged_in(broker.address(), "root") as root:
            some = [acl(TOPIC, ALL), acl(GROUP, ALL), acl(TRANSACTION, ALL)]
            root.ask(CreateAclsRequest(creations=some))
        side = Side(broker)
        side.settle()
        side.close()
    for version in range(APIS[api].min_version, APIS[api].max_version + 1):
        answers: list[Any] = []
        for broker, side in zip(secured, pair.sides, strict=True):
            with logged_in(broker.address(), "root") as root:
                ids = topic_ids(root)
            side.names.topic_ids.update({topic_id: name for name, topic_id in ids.items()})
            with logged_in(broker.address(), "alice") as alice:
                answers.append(alice.ask(fitting(named_twice(api, ids), version), version))
        pair.compare(f"{api.name} v{version}", *answers, api=api, version=version)
    without_acls(secured)
