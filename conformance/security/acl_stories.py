"""Generated ACLs, and what users ask under them: told to both brokers, with the same answers.

ACLs are of every kind: literal, prefixed and wildcard names, principals and hosts, DENY and ALLOW,
and some that are none. Two users ask from two addresses.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

from hypothesis import strategies as st

from conformance.differential.broker_side import Side
from conformance.differential.comparison import Difference, Pair
from conformance.differential.generated_requests.telling import tell_steps
from conformance.harness.messages import fitting
from conformance.security.pair import Client, Secured, logged_in
from conformance.security.requests import requests
from conformance.security.requests.access import OWNERS
from kafkalite.apis import APIS
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import InvalidMessage
from kafkalite.wire.messages.create_acls import AclCreation, CreateAclsRequest
from kafkalite.wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from kafkalite.wire.messages.describe_acls import DescribeAclsRequest
from kafkalite.wire.schema import message_of

USERS = ("alice", "bob")
HOSTS = ("127.0.0.1", "127.0.0.2")
TOPIC, GROUP, CLUSTER, TRANSACTION, USER = 2, 3, 4, 5, 7
LITERAL, PREFIXED = 3, 4
DENY, ALLOW = 2, 3
EVERYTHING = DeleteAclsFilter(1, None, 1, None, None, 1, 1)
_ENDINGS = {TOPIC: "topic", GROUP: "group", TRANSACTION: "transaction"}
# Versions before these have no ids, or create the topics that are asked for: kafkalite's are ready
# in the same answer.
LOWEST = {
    "all offsets of groups": 8,
    "commit by id": 10,
    "fetch by id": 13,
    "metadata by id": 10,
    "metadata by name": 4,
    "produce by id": 13,
}
# They make topics and tokens where they may.
LEFT_OUT = {"metadata, creating", "metadata 0 by name", "a token of another"}
NAMES = list(requests(dict.fromkeys(("open-topic", "shut-topic"), UUID(int=1))))


@dataclass(frozen=True)
class Add:
    """Create ACLs."""

    acls: tuple[AclCreation, ...]
    version: int


@dataclass(frozen=True)
class Remove:
    """Delete those that match."""

    filters: tuple[DeleteAclsFilter, ...]
    version: int


@dataclass(frozen=True)
class Show:
    """Describe those that match."""

    filter: DeleteAclsFilter
    version: int


@dataclass(frozen=True)
class Ask:
    """A user's request, by its name in the catalogue of requests."""

    user: str
    host: str
    name: str
    version: int


Step = Add | Remove | Show | Ask
_versions = st.integers(1, 3)


@st.composite
def _creations(draw: st.DrawFn) -> AclCreation:
    kind = draw(st.sampled_from([TOPIC, TOPIC, TOPIC, GROUP, GROUP, TRANSACTION, CLUSTER, 6, 7, 9]))
    pattern = draw(st.sampled_from([LITERAL, LITERAL, PREFIXED, PREFIXED, PREFIXED, 2]))
    ending = _ENDINGS.get(kind, "x")
    prefixes = ["open-", "shut-", "o", "s", "shut-t", "*"]
    names = [f"open-{ending}", f"shut-{ending}", "*", f"open-{ending}s"]
    if kind == USER:
        names, prefixes = [f"User:{name}" for name in OWNERS], ["User:", "User:s"]
    name = draw(st.sampled_from(prefixes if pattern == PREFIXED else names))
    if kind == CLUSTER:
        name, pattern = draw(st.sampled_from(["kafka-cluster", "kafka-cluster", "x"])), LITERAL
    return AclCreation(
        kind,
        name,
        pattern,
        draw(st.sampled_from(["User:alice", "User:bob", "User:*", "User:nobody", "Group:alice"])),
        draw(st.sampled_from(["*", "*", "*", *HOSTS, "10.0.0.1"])),
        draw(st.sampled_from([2, *range(2, 16)])),
        draw(st.sampled_from([ALLOW, ALLOW, ALLOW, DENY])),
    )


_filters = st.builds(
    DeleteAclsFilter,
    st.sampled_from([1, TOPIC, GROUP, CLUSTER, TRANSACTION, 0]),
    st.sampled_from([None, "open-topic", "shut-topic", "*", "open-", "open-group"]),
    st.sampled_from([1, 2, LITERAL, PREFIXED, 0]),
    st.sampled_from([None, "User:alice", "User:*", "User:bob"]),
    st.sampled_from([None, None, "*", HOSTS[0]]),
    st.sampled_from([1, 1, 2, 3, 4, 8]),
    st.sampled_from([1, 1, DENY, ALLOW]),
)
_asked = st.builds(
    Ask,
    st.sampled_from(USERS),
    st.sampled_from(HOSTS),
    st.sampled_from([name for name in NAMES if name not in LEFT_OUT]),
    st.integers(0, 40),
)
_added = st.builds(Add, st.lists(_creations(), min_size=1, max_size=4).map(tuple), _versions)
STORIES = st.lists(
    st.one_of(
        *(_asked,) * 8,
        *(_added,) * 3,
        st.builds(Remove, st.lists(_filters, min_size=1, max_size=2).map(tuple), _versions),
        st.builds(Show, _filters, _versions),
    ),
    min_size=30,
    max_size=60,
)


@dataclass
class Access:
    """The two brokers, and the users' connections to them.

    `waiting` are other sides of them, without the address for SASL: a side takes each address for
    that of a node. `ids` are those of topics by name.
    """

    pair: Pair
    brokers: tuple[Secured, Secured]
    waiting: Sequence[Side]
    ids: Sequence[dict[str, UUID]]
    clients: dict[tuple[int, str, str], Client] = field(default_factory=dict)

    def tell(self, story: Sequence[Step]) -> None:
        """Raises Difference."""
        self._change(ApiKey.DELETE_ACLS, 3, DeleteAclsRequest(filters=[EVERYTHING]), settle=True)
        logged = [each.output.stat().st_size for each in self.brokers]
        try:
            tell_steps(story, self._step)
            theirs, ours = map(denied, (each.output for each in self.brokers), logged)
            if theirs != ours:
                raise Difference(
                    f"denied, in Apache Kafka's log (-) and ours (+): -{dict(theirs - ours)} "
                    f"+{dict(ours - theirs)}\nafter\n" + "\n".join(map(repr, story))
                )
        finally:
            for client in self.clients.values():
                client.socket.close()
            self.clients.clear()

    def _step(self, step: Step) -> None:
        match step:
            case Add(acls, version):
                request = CreateAclsRequest(creations=list(acls))
                self._change(ApiKey.CREATE_ACLS, version, request, settle=True)
            case Remove(filters, version):
                request = DeleteAclsRequest(filters=list(filters))
                self._change(ApiKey.DELETE_ACLS, version, request, settle=True)
            case Show(wanted, version):
                shown = DescribeAclsRequest(
                    wanted.resource_type_filter,
                    wanted.resource_name_filter,
                    wanted.pattern_type_filter,
                    wanted.principal_filter,
                    wanted.host_filter,
                    wanted.operation,
                    wanted.permission_type,
                )
                self._change(ApiKey.DESCRIBE_ACLS, version, shown)
            case Ask():
                self._ask(step)

    def _change(self, api: ApiKey, version: int, request: Any, *, settle: bool = False) -> None:
        self.pair.ask(api, version, request)
        if settle:
            for side in self.waiting:
                side.settle()

    def _ask(self, step: Ask) -> None:
        answers: list[Any] = []
        for number in range(2):
            request, fixed = requests(dict(self.ids[number]))[step.name]
            api = APIS[message_of(type(request)).key]
            highest = api.max_version if fixed is None else fixed
            lowest = max(api.min_version, LOWEST.get(step.name, 0))
            version = lowest + step.version % (highest - lowest + 1)
            client = self._client(number, step.user, step.host)
            try:
                answer = client.ask(fitting(request, version), version)
            except InvalidMessage:  # it cannot be said in this version
                return
            if answer is None:
                self.clients.pop((number, step.user, step.host)).socket.close()
            answers.append(answer)
        what = f"{api.key.name} v{version}"
        self.pair.compare(what, *answers, api=api.key, version=version)

    def _client(self, number: int, user: str, host: str) -> Client:
        found = self.clients.get((number, user, host))
        if found is None:
            found = logged_in(self.brokers[number].address(), user, host)
            self.clients[number, user, host] = found
        return found


_TOKEN = re.compile(r"(DelegationToken:LITERAL:)\S+")


def denied(log: Path, since: int) -> Counter[str]:
    """The lines of Kafka's audit log from a place on, without the names of tokens."""
    with log.open("rb") as file:
        file.seek(since)
        lines = re.findall(r"Principal = .* is Denied .*", file.read().decode())
    return Counter(_TOKEN.sub(r"\1...", line.strip()) for line in lines)


def side_ids(side: Side, ids: dict[str, UUID]) -> dict[str, UUID]:
    """The ids of a side's topics, known to it by their names."""
    side.names.topic_ids.update({topic_id: name for name, topic_id in ids.items()})
    return ids
