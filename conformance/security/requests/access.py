"""Requests about ACLs, delegation tokens and SCRAM credentials."""

from __future__ import annotations

from conformance.security.requests.vocabulary import Requests, TopicIds
from kafkalite.wire.messages import (
    alter_user_scram_credentials,
    create_acls,
    create_delegation_token,
    delete_acls,
    describe_acls,
    describe_delegation_token,
    describe_user_scram_credentials,
    expire_delegation_token,
    renew_delegation_token,
)

OWNERS = ("open-owner", "shut-owner")
ANY_ACL = {
    "resource_type_filter": 1,
    "resource_name_filter": None,
    "pattern_type_filter": 1,
    "principal_filter": "User:nobody",
    "host_filter": None,
    "operation": 1,
    "permission_type": 1,
}


def _part_0() -> Requests:
    return {
        "describe scram": (
            describe_user_scram_credentials.DescribeUserScramCredentialsRequest(
                users=[describe_user_scram_credentials.UserName("nobody")]
            ),
            None,
        ),
        "alter scram": (
            alter_user_scram_credentials.AlterUserScramCredentialsRequest(
                deletions=[alter_user_scram_credentials.ScramCredentialDeletion("nobody", 1)]
            ),
            None,
        ),
        "describe acls": (describe_acls.DescribeAclsRequest(**ANY_ACL), None),
        "create acls": (
            create_acls.CreateAclsRequest(
                creations=[
                    create_acls.AclCreation(4, "x", 3, "User:nobody", "*", 3, 3),
                    create_acls.AclCreation(2, "", 3, "User:nobody", "*", 3, 3),
                    create_acls.AclCreation(2, "x", 3, "nobody", "*", 3, 3),
                ]
            ),
            None,
        ),
        "create acls of any operation": (
            create_acls.CreateAclsRequest(
                creations=[
                    create_acls.AclCreation(2, "x", 3, "User:nobody", "*", 1, 3),
                    create_acls.AclCreation(2, "", 3, "User:nobody", "*", 3, 3),
                ]
            ),
            None,
        ),
        "delete acls": (
            delete_acls.DeleteAclsRequest(filters=[delete_acls.DeleteAclsFilter(**ANY_ACL)]),
            None,
        ),
    }


def _tokens() -> Requests:
    return {
        "tokens of all": (
            describe_delegation_token.DescribeDelegationTokenRequest(owners=None),
            None,
        ),
        "tokens of some": (
            describe_delegation_token.DescribeDelegationTokenRequest(
                owners=[
                    describe_delegation_token.DescribeDelegationTokenOwner("User", name)
                    for name in OWNERS
                ]
            ),
            None,
        ),
        "tokens of nobody": (
            describe_delegation_token.DescribeDelegationTokenRequest(owners=[]),
            None,
        ),
        "renew no token": (
            renew_delegation_token.RenewDelegationTokenRequest(hmac=b"no token"),
            None,
        ),
        "expire no token": (
            expire_delegation_token.ExpireDelegationTokenRequest(hmac=b"no token"),
            None,
        ),
        "a token of another": (
            create_delegation_token.CreateDelegationTokenRequest(
                owner_principal_type="User",
                owner_principal_name="shut-owner",
                max_lifetime_ms=1,
            ),
            None,
        ),
        **{
            f"a token of {name} with a renewer of another type": (
                create_delegation_token.CreateDelegationTokenRequest(
                    owner_principal_type="User",
                    owner_principal_name=name,
                    renewers=[create_delegation_token.CreatableRenewers("Group", "x")],
                    max_lifetime_ms=-1,
                ),
                None,
            )
            for name in OWNERS
        },
        "a token with a renewer of another type": (
            create_delegation_token.CreateDelegationTokenRequest(
                renewers=[create_delegation_token.CreatableRenewers("Group", "x")],
                max_lifetime_ms=-1,
            ),
            None,
        ),
    }


def access(ids: TopicIds) -> Requests:
    """By name."""
    return {**_part_0(), **_tokens()}
