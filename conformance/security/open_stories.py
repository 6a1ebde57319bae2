"""Stories of all APIs as a user whose ACLs change in between: while sessions, transactions and
groups of theirs are open.

The super user makes the topics, and changes the ACLs.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from conformance.differential.broker_side import Side
from conformance.differential.generated_requests.mixed_stories import STEPS as MIXED
from conformance.differential.generated_requests.mixed_stories import MixedWorld
from conformance.differential.generated_requests.references import Name
from conformance.differential.generated_requests.requests import Step, steps
from conformance.differential.generated_requests.vocabulary import of, often
from conformance.differential.normalize import OWN
from conformance.harness.raw import RawConnection
from conformance.security.conversations import handshake, plain, token
from conformance.security.pair import Secured
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.create_acls import AclCreation, CreateAclsRequest
from kafkalite.wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest

ALICE = "User:alice"
ANY, TOPIC, GROUP, CLUSTER, TRANSACTION = 1, 2, 3, 4, 5
LITERAL, PREFIXED = 3, 4
DENY, ALLOW = 2, 3
ALL = 2
READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE = 3, 4, 5, 6, 7, 8
CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE = 9, 10, 11, 12
OPERATIONS = {
    TOPIC: (READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS),
    GROUP: (READ, READ, DESCRIBE, DELETE),
    CLUSTER: (CREATE, ALTER, DESCRIBE, CLUSTER_ACTION, IDEMPOTENT_WRITE, ALTER_CONFIGS),
    TRANSACTION: (DESCRIBE, WRITE, WRITE),
}
NAMES = {
    TOPIC: ("t0", "t1", "t2", "t3"),
    GROUP: ("g0", "g1"),
    TRANSACTION: ("x0", "x1"),
}
_CHANGES = (ApiKey.CREATE_ACLS, ApiKey.DELETE_ACLS)
EVERYTHING = DeleteAclsFilter(ANY, None, ANY, ALICE, None, ANY, ANY)


class UserSide(Side):
    """The broker as alice sees it, on the connections that a story asks on.

    The super user's others go to the plain listener, which is the first address.
    """

    def __init__(self, broker: Secured) -> None:
        super().__init__(broker)
        self.addresses.append("{}:{}".format(*broker.address()))

    @property
    def nodes(self) -> range:
        return range(1, 2)

    def send_bytes(self, data: bytes, connection: str = "main") -> None:
        is_of_user = not connection.startswith(("own", "ids", OWN))
        if is_of_user and connection not in self.connections:
            made = self.connections[connection] = RawConnection(self.addresses[1], seconds=20)
            for frame in (handshake(), token(plain("alice", "a"))):
                made.send(frame)
                made.receive()
        super().send_bytes(data, connection)


class Open(MixedWorld):
    """Alice may do everything with what has the story's names, until that changes."""

    def open(self) -> None:
        super().open()
        allowed = [
            AclCreation(kind, _own_name(""), PREFIXED, ALICE, "*", ALL, ALLOW) for kind in NAMES
        ]
        allowed.append(AclCreation(CLUSTER, "kafka-cluster", LITERAL, ALICE, "*", ALL, ALLOW))
        self.take(Step(ApiKey.CREATE_ACLS, 3, CreateAclsRequest(creations=allowed)))

    def close(self) -> None:
        self.take(Step(ApiKey.DELETE_ACLS, 3, DeleteAclsRequest(filters=[EVERYTHING])))
        super().close()

    def connection_of(self, step: Step) -> str:
        return "own" if step.api in _CHANGES else super().connection_of(step)

    def settle(self, step: Step, answer: object) -> None:
        if step.api in _CHANGES:
            self.pair.settle()
        else:
            super().settle(step, answer)


def _own_name(name: str) -> Any:
    """In the place of a name, until the step is told."""
    return Name(name)


@st.composite
def _changes(draw: st.DrawFn) -> Step:
    """An ACL more, or those with a name and an operation less."""
    kind = draw(of(TOPIC, TOPIC, TOPIC, GROUP, GROUP, TRANSACTION, CLUSTER))
    name, pattern = "kafka-cluster", LITERAL
    if kind != CLUSTER:
        name = _own_name(draw(of("", *NAMES[kind])))
        pattern = draw(often(LITERAL, PREFIXED, times=2))
    operation = draw(often(*OPERATIONS[kind], ALL, times=1))
    permission = draw(of(ALLOW, DENY, DENY))
    if draw(st.booleans()):
        made = AclCreation(kind, name, pattern, ALICE, "*", operation, permission)
        return Step(ApiKey.CREATE_ACLS, 3, CreateAclsRequest(creations=[made]))
    wanted = DeleteAclsFilter(
        draw(of(kind, kind, ANY)),
        draw(of(name, None)),
        ANY,
        ALICE,
        None,
        draw(of(ANY, ANY, operation)),
        draw(of(permission, DENY, DENY)),
    )
    return Step(ApiKey.DELETE_ACLS, 3, DeleteAclsRequest(filters=[wanted]))


STORIES = st.lists(st.one_of(*[steps()] * 5, *MIXED, *[_changes()] * 12), min_size=40, max_size=80)
