"""ACLs, delegation tokens and SASL asked of brokers that have none of them: both refuse alike.

Brokers that have them are compared in `conformance/security`.
"""

from typing import Any

import pytest

from conformance.differential.comparison import Pair
from kafkalite.apis import APIS
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.create_acls import AclCreation, CreateAclsRequest
from kafkalite.wire.messages.create_delegation_token import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
)
from kafkalite.wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from kafkalite.wire.messages.describe_acls import DescribeAclsRequest
from kafkalite.wire.messages.describe_delegation_token import (
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
)
from kafkalite.wire.messages.expire_delegation_token import ExpireDelegationTokenRequest
from kafkalite.wire.messages.renew_delegation_token import RenewDelegationTokenRequest
from kafkalite.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from kafkalite.wire.messages.sasl_handshake import SaslHandshakeRequest

ANY, TOPIC, ALLOW, READ = 1, 2, 3, 3


def acl(**fields: Any) -> AclCreation:
    values = {
        "resource_type": TOPIC,
        "resource_name": "t",
        "principal": "User:alice",
        "host": "*",
        "operation": READ,
        "permission_type": ALLOW,
    }
    return AclCreation(**(values | fields))


def every_acl(kind: Any) -> Any:
    return kind(
        resource_type_filter=ANY,
        resource_name_filter=None,
        pattern_type_filter=ANY,
        principal_filter=None,
        host_filter=None,
        operation=ANY,
        permission_type=ANY,
    )


ALICE = {"principal_type": "User", "principal_name": "alice"}
REQUESTS: dict[ApiKey, list[Any]] = {
    ApiKey.CREATE_ACLS: [
        CreateAclsRequest(creations=[]),
        CreateAclsRequest(creations=[acl(), acl(principal="alice"), acl(host="")]),
    ],
    ApiKey.DESCRIBE_ACLS: [every_acl(DescribeAclsRequest)],
    ApiKey.DELETE_ACLS: [
        DeleteAclsRequest(filters=[]),
        DeleteAclsRequest(filters=[every_acl(DeleteAclsFilter)] * 2),
    ],
    ApiKey.CREATE_DELEGATION_TOKEN: [
        CreateDelegationTokenRequest(renewers=[], max_lifetime_ms=-1),
        CreateDelegationTokenRequest(renewers=[CreatableRenewers(**ALICE)], max_lifetime_ms=1000),
    ],
    ApiKey.DESCRIBE_DELEGATION_TOKEN: [
        DescribeDelegationTokenRequest(owners=None),
        DescribeDelegationTokenRequest(owners=[]),
        DescribeDelegationTokenRequest(owners=[DescribeDelegationTokenOwner(**ALICE)]),
    ],
    ApiKey.EXPIRE_DELEGATION_TOKEN: [
        ExpireDelegationTokenRequest(hmac=b"", expiry_time_period_ms=-1),
        ExpireDelegationTokenRequest(hmac=b"no such token", expiry_time_period_ms=1000),
    ],
    ApiKey.RENEW_DELEGATION_TOKEN: [
        RenewDelegationTokenRequest(hmac=b"no such token", renew_period_ms=1000),
    ],
    ApiKey.SASL_HANDSHAKE: [
        SaslHandshakeRequest(mechanism="PLAIN"),
        SaslHandshakeRequest(mechanism="none"),
    ],
    ApiKey.SASL_AUTHENTICATE: [SaslAuthenticateRequest(auth_bytes=b"\0alice\0secret")],
}
ASKED = [
    pytest.param(key, version, request, id=f"{key.name}-v{version}-{number}")
    for key, requests in REQUESTS.items()
    for version in range(APIS[key].min_version, APIS[key].max_version + 1)
    for number, request in enumerate(requests)
]


@pytest.mark.parametrize(("key", "version", "request_"), ASKED)
def test_refused_alike(pair: Pair, key: ApiKey, version: int, request_: Any) -> None:
    pair.ask(key, version, request_)
