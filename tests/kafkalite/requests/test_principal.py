"""Principals: a type and a name, equal by both."""

from __future__ import annotations

import pytest

from kafkalite.requests.principal import ANONYMOUS, Principal, parse_principal


@pytest.mark.parametrize(
    ("text", "principal"),
    [
        ("User:alice", Principal("User", "alice")),
        ("User:CN=a,O=b:c", Principal("User", "CN=a,O=b:c")),
        ("Group:", Principal("Group", "")),
    ],
)
def test_a_text_and_back(text: str, principal: Principal) -> None:
    assert parse_principal(text) == principal
    assert str(principal) == text


@pytest.mark.parametrize("text", ["", "alice"])
def test_what_is_no_principal(text: str) -> None:
    with pytest.raises(ValueError, match=f"principalType:principalName but got {text}$"):
        parse_principal(text)


def test_a_token_makes_no_other_principal() -> None:
    """A delegation token stands in for a password: the user is the same."""
    by_token = Principal("User", "alice", token_authenticated=True)
    assert by_token == Principal("User", "alice")
    assert {by_token, Principal("User", "alice")} == {by_token}
    assert by_token != Principal("Group", "alice")
    assert by_token != Principal("User", "bob")
    assert by_token != "User:alice"


def test_a_client_that_has_not_said_who_it_is() -> None:
    assert str(ANONYMOUS) == "User:ANONYMOUS"
