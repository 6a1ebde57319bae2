"""Delegation tokens: their life, and who may do what with them."""

import base64
import hashlib
import hmac
from uuid import UUID

import pytest

from kafkalite.requests.principal import ANONYMOUS, Principal
from kafkalite.requests.slices import at_once
from kafkalite.security.delegation_tokens import (
    DelegationTokens,
    TokenRules,
    are_token_requests_allowed,
    is_owner_or_renewer,
)
from kafkalite.security.sasl.scram import ScramMechanism
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.stored.delegation_token_record import DelegationTokenRecord
from kafkalite.wire.messages.stored.remove_delegation_token_record import (
    RemoveDelegationTokenRecord,
)

ALICE, BOB, CAROL = (Principal("User", name) for name in ("alice", "bob", "carol"))
DAY = 86_400_000


class Store:
    """Tokens as the metadata would keep them."""

    def __init__(self, secret: str | None = "key") -> None:
        self.kept: dict[str, DelegationTokenRecord] = {}
        self.tokens = DelegationTokens(TokenRules(secret), lambda: self.kept)

    def create(self, max_lifetime_ms: int = -1, now_ms: int = 1_000) -> DelegationTokenRecord:
        record = self.tokens.create(ALICE, CAROL, [BOB], max_lifetime_ms, now_ms)
        self.kept[record.token_id] = record
        return record

    def secret(self, record: DelegationTokenRecord) -> bytes:
        return self.tokens.hmac_of(record.token_id)

    def renew(
        self, secret: bytes, principal: Principal, period_ms: int, now_ms: int
    ) -> DelegationTokenRecord:
        token_id = at_once(self.tokens.found(secret))
        return self.tokens.renew(token_id, principal, period_ms, now_ms)

    def expire(
        self, secret: bytes, principal: Principal, period_ms: int, now_ms: int
    ) -> DelegationTokenRecord | RemoveDelegationTokenRecord:
        token_id = at_once(self.tokens.found(secret))
        return self.tokens.expire(token_id, principal, period_ms, now_ms)


def refused(code: ErrorCode) -> pytest.RaisesExc[KafkaError]:
    return pytest.RaisesExc(KafkaError, check=lambda error: error.code is code)


def test_a_token_lives_a_day_and_at_most_a_week() -> None:
    record = Store().create()
    assert record.issue_timestamp == 1_000
    assert record.expiration_timestamp == 1_000 + DAY
    assert record.max_timestamp == 1_000 + 7 * DAY
    assert (record.owner, record.requester) == ("User:alice", "User:carol")
    assert record.renewers == ["User:bob"]


def test_a_shorter_life_may_be_asked_for() -> None:
    record = Store().create(max_lifetime_ms=5)
    assert record.max_timestamp == record.expiration_timestamp == 1_005


def test_its_secret_is_the_hmac_of_its_id() -> None:
    store = Store()
    record = store.create()
    expected = hmac.new(b"key", record.token_id.encode(), hashlib.sha512).digest()
    assert store.secret(record) == expected


def test_without_a_key_there_are_none() -> None:
    store = Store(secret=None)
    assert not store.tokens.is_enabled
    for ask in (
        store.create,
        lambda: store.renew(b"", ALICE, -1, 0),
        lambda: store.expire(b"", ALICE, -1, 0),
    ):
        with refused(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED):
            ask()


def test_one_of_many_is_found_in_steps() -> None:
    store = Store()
    made = [store.create() for _ in range(300)]
    assert sum(1 for _ in store.tokens.found(store.secret(made[0]))) >= 2
    assert at_once(store.tokens.found(store.secret(made[299]))) == made[299].token_id


def test_one_that_goes_while_it_is_looked_for_is_not_renewed() -> None:
    store = Store()
    record = store.create()
    token_id = at_once(store.tokens.found(store.secret(record)))
    del store.kept[token_id]
    for change in (store.tokens.renew, store.tokens.expire):
        with refused(ErrorCode.DELEGATION_TOKEN_NOT_FOUND):
            change(token_id, ALICE, 1, 2_000)


@pytest.mark.parametrize("principal", [ALICE, BOB])
def test_owner_and_renewers_renew(principal: Principal) -> None:
    store = Store()
    secret = store.secret(store.create())
    assert store.renew(secret, principal, 500, 2_000).expiration_timestamp == 2_500
    never_longer = store.renew(secret, principal, -1, 1_000 + DAY)
    assert never_longer.expiration_timestamp == 1_000 + 2 * DAY


def test_others_do_not() -> None:
    store = Store()
    secret = store.secret(store.create())
    for change in (store.renew, store.expire):
        with refused(ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH):
            change(secret, CAROL, 1, 2_000)
        with refused(ErrorCode.DELEGATION_TOKEN_NOT_FOUND):
            change(b"other", ALICE, 1, 2_000)


def test_what_has_ended_is_over() -> None:
    store = Store()
    record = store.create(max_lifetime_ms=5)
    secret = store.secret(record)
    with refused(ErrorCode.DELEGATION_TOKEN_EXPIRED):
        store.renew(secret, ALICE, -1, 1_006)
    with refused(ErrorCode.DELEGATION_TOKEN_EXPIRED):
        store.expire(secret, ALICE, 1, 1_006)
    assert store.tokens.expired(1_005) == []
    gone = RemoveDelegationTokenRecord(token_id=record.token_id)
    assert store.tokens.expired(1_006) == [gone]
    assert store.expire(secret, ALICE, -1, 1_006) == gone


def test_an_end_may_be_set() -> None:
    store = Store()
    secret = store.secret(store.create())
    ended = store.expire(secret, ALICE, 7, 2_000)
    assert isinstance(ended, DelegationTokenRecord)
    assert ended.expiration_timestamp == 2_007


def test_owner_requester_and_renewers() -> None:
    record = Store().create()
    dave = Principal("User", "dave")
    assert all(is_owner_or_renewer(record, each) for each in (ALICE, BOB, CAROL))
    assert not is_owner_or_renewer(record, dave)


@pytest.mark.parametrize(
    ("principal", "protocol", "allowed"),
    [
        (ALICE, "SASL_PLAINTEXT", True),
        (ALICE, "SASL_SSL", True),
        (ALICE, "SSL", True),
        (ANONYMOUS, "SSL", False),
        (ANONYMOUS, "PLAINTEXT", False),
        (Principal("User", "alice", token_authenticated=True), "SASL_SSL", False),
    ],
)
def test_who_may_ask_for_tokens(principal: Principal, protocol: str, allowed: bool) -> None:
    assert are_token_requests_allowed(principal, protocol) is allowed


def test_a_token_is_a_password() -> None:
    store = Store()
    record = store.create()
    found = store.tokens.credential(ScramMechanism.SCRAM_SHA_256, record.token_id)
    assert found is not None
    assert (found.owner, found.expiry_ms) == ("alice", record.expiration_timestamp)
    assert store.tokens.credential(ScramMechanism.SCRAM_SHA_256, "other") is None
    password = base64.b64encode(store.secret(record))
    salted = hashlib.pbkdf2_hmac("sha256", password, found.credential.salt, 4096)
    client_key = hmac.digest(salted, b"Client Key", "sha256")
    assert hashlib.sha256(client_key).digest() == found.credential.stored_key


def test_a_removed_token_is_no_password_any_more() -> None:
    store = Store()
    record = store.create()
    store.tokens.credential(ScramMechanism.SCRAM_SHA_512, record.token_id)
    del store.kept[record.token_id]
    store.tokens.forget(record.token_id)
    assert store.tokens.credential(ScramMechanism.SCRAM_SHA_512, record.token_id) is None


def test_the_key_is_not_shown() -> None:
    assert "hush" not in repr(TokenRules("hush"))


def test_the_id_is_made_of_what_is_given() -> None:
    """An id that would look like a flag is passed over."""
    ids = [UUID(int=0xF8 << 120), UUID(int=7)]
    record = Store().tokens.create(ALICE, ALICE, [], -1, 0, lambda: ids.pop(0))
    assert record.token_id == "AAAAAAAAAAAAAAAAAAAABw"
    assert ids == []
