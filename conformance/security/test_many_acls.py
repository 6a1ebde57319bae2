"""ACLs beyond what a controller writes at once: both brokers do all of a request, or nothing."""

from __future__ import annotations

from collections import Counter
from typing import Any

from conformance.security.pair import Client, Secured
from kafkalite.wire.messages.create_acls import AclCreation, CreateAclsRequest
from kafkalite.wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest

MOST = 10_000
TOPIC, ANY, LITERAL, READ, ALLOW = 2, 1, 3, 3, 3


def entries(count: int, user: str) -> list[AclCreation]:
    return [
        AclCreation(TOPIC, f"many-{number}", LITERAL, f"User:{user}", "*", READ, ALLOW)
        for number in range(count)
    ]


def of_user(user: str, topic: str | None = None) -> DeleteAclsFilter:
    return DeleteAclsFilter(TOPIC, topic, ANY, f"User:{user}", None, ANY, ANY)


def created(client: Client, *acls: AclCreation) -> Counter[tuple[int, str | None]]:
    results = client.ask(CreateAclsRequest(creations=list(acls))).results
    return Counter((each.error_code, each.error_message) for each in results)


def deleted(client: Client, *filters: DeleteAclsFilter) -> list[tuple[int, str | None, int]]:
    answer: Any = client.ask(DeleteAclsRequest(filters=list(filters)))
    return [
        (each.error_code, each.error_message, len(each.matching_acls))
        for each in answer.filter_results
    ]


def told(broker: Secured) -> list[object]:
    """The answers of one broker, without a trace in the end."""
    first, second = "one-of-many", "another-of-many"
    unnamed = AclCreation(TOPIC, "", LITERAL, f"User:{first}", "*", READ, ALLOW)
    with Client(broker.address("PLAINTEXT")) as client:
        return [
            created(client, *entries(MOST + 1, first), unnamed),
            deleted(client, of_user(first)),
            created(client, *entries(MOST, first), *entries(MOST, first)),
            created(client, *entries(MOST + 1, first)),
            deleted(client, of_user(first)),
            deleted(client, of_user(first, "many-1"), of_user(second)),
            deleted(client, of_user(first), of_user(first, "many-2")),
            created(client, *entries(1, second)),
            deleted(client, of_user(first), of_user(second)),
            deleted(client, of_user(first), of_user(first, "many-1")),
            deleted(client, of_user(second)),
            deleted(client, of_user(first)),
        ]


def test_too_many(secured: tuple[Secured, Secured]) -> None:
    theirs, ours = map(told, secured)
    assert ours == theirs
    codes = [{code for code, _ in each} for each in theirs if isinstance(each, Counter)]
    assert codes[0] == {44, 42}
