"""Signed and unsecured tokens: what is accepted, and every way of lying."""

import base64
import json
import time
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from hypothesis import given
from hypothesis import strategies as st

from kafkalite.security.sasl.oauthbearer import InvalidToken
from kafkalite.security.sasl.tokens import (
    SignedTokenRules,
    SignedTokens,
    UnsecuredTokenRules,
    UnsecuredTokens,
)
from kafkalite.wire.errors import ProtocolViolation

OURS = rsa.generate_private_key(public_exponent=65537, key_size=2048)
THEIRS = rsa.generate_private_key(public_exponent=65537, key_size=2048)
CURVE = ec.generate_private_key(ec.SECP256R1())


class Keys:
    """One RSA key and one of an elliptic curve."""

    def find(self, key_id: str | None, algorithm: str) -> Any | None:
        found = {"rsa": OURS, "ec": CURVE}.get(key_id or "rsa")
        return None if found is None else found.public_key()


NOW = int(time.time())
CLAIMS = {"sub": "alice", "iat": NOW, "exp": NOW + 3600, "iss": "us", "aud": ["kafka", "other"]}


def token(key: Any = OURS, algorithm: str = "RS256", kid: str = "rsa", **changes: Any) -> str:
    claims = {name: value for name, value in {**CLAIMS, **changes}.items() if value is not None}
    payload = json.dumps(claims).encode()
    return jwt.PyJWS().encode(payload, key, algorithm, headers={"kid": kid})


def validator(**rules: Any) -> SignedTokens:
    return SignedTokens(Keys(), SignedTokenRules(**{"audiences": ["kafka"], **rules}))


def test_a_signed_token() -> None:
    accepted = validator()(token())
    assert (accepted.user, accepted.expiry_ms) == ("alice", (NOW + 3600) * 1000)


@pytest.mark.parametrize(
    ("rules", "changes"),
    [
        ({"audiences": ["kafka"]}, {}),
        ({"issuer": "us"}, {}),
        ({"subject_claim": "email"}, {"email": "alice", "sub": None}),
        ({"scope_claim": "scp"}, {"scp": ["a", "b"]}),
        ({"clock_skew_seconds": 36_000}, {"exp": NOW - 20, "iat": NOW - 30}),
        ({}, {"sub": "  alice "}),
        ({}, {"nbf": NOW + 10}),
        ({}, {"iat": NOW + 3600}),
        ({"audiences": []}, {"aud": None}),
    ],
)
def test_what_is_accepted(rules: dict[str, Any], changes: dict[str, Any]) -> None:
    assert validator(**rules)(token(**changes)).user == "alice"


@pytest.mark.parametrize(
    ("rules", "changes"),
    [
        ({"audiences": ["elsewhere"]}, {}),
        ({"audiences": []}, {}),
        ({"audiences": []}, {"aud": []}),
        ({}, {"iss": 5}),
        ({"audiences": ["kafka"]}, {"aud": None}),
        ({"issuer": "them"}, {}),
        ({"issuer": "us"}, {"iss": None}),
        ({}, {"exp": NOW - 31}),
        ({}, {"exp": None}),
        ({}, {"exp": "soon"}),
        ({}, {"exp": str(NOW + 3600)}),
        ({"clock_skew_seconds": 600}, {"exp": NOW - 20}),
        ({"clock_skew_seconds": 600}, {"exp": NOW + 5, "nbf": NOW + 9}),
        ({}, {"iat": None}),
        ({}, {"iat": -5}),
        ({}, {"iat": True}),
        ({}, {"nbf": NOW + 36000}),
        ({}, {"sub": None}),
        ({}, {"sub": " "}),
        ({}, {"sub": 5}),
        ({"scope_claim": "scp"}, {"scp": ["a", "a"]}),
        ({"scope_claim": "scp"}, {"scp": [""]}),
        ({"clock_skew_seconds": 0}, {"exp": NOW - 1}),
    ],
)
def test_what_is_not(rules: dict[str, Any], changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidToken):
        validator(**rules)(token(**changes))


def test_a_scope_that_is_no_text_closes_as_in_kafka() -> None:
    with pytest.raises(ProtocolViolation):
        validator()(token(scope=[5]))


@pytest.mark.parametrize("algorithm", ["RS384", "PS512"])
def test_a_key_serves_each_algorithm_of_its_kind(algorithm: str) -> None:
    assert validator()(token(algorithm=algorithm)).user == "alice"


def unsecured(claims: dict[str, Any], alg: str = "none", signature: str = "") -> str:
    parts = ({"alg": alg}, claims)
    encoded = [
        base64.urlsafe_b64encode(json.dumps(each).encode()).decode().rstrip("=") for each in parts
    ]
    return ".".join((*encoded, signature))


LIES = {
    "no signature": unsecured(CLAIMS),
    "None": unsecured(CLAIMS, "None"),
    "nOnE": unsecured(CLAIMS, "nOnE"),
    "a signature of nothing": unsecured(CLAIMS, "RS256", "AAAA"),
    "another key": token(THEIRS),
    "an unknown key": token(kid="unknown"),
    "another kind of key": token(CURVE, "ES256", kid="rsa"),
    "a key of another kind": token(kid="ec"),
    "a shared secret": jwt.encode(CLAIMS, "s" * 32, "HS256", headers={"kid": "rsa"}),
    "a shorter signature": token()[:-2],
    "a longer signature": token() + "A",
    "another token within": jwt.encode(CLAIMS, OURS, "RS256", headers={"cty": "JWT"}),
    "nothing": "",
    "letters": "a.b.c",
    "dots": "..",
}


@pytest.mark.parametrize("lie", LIES)
def test_lies_about_the_signature(lie: str) -> None:
    with pytest.raises(InvalidToken):
        validator()(LIES[lie])


def test_a_swapped_payload() -> None:
    head, _, signature = token().split(".")
    body = base64.urlsafe_b64encode(json.dumps({**CLAIMS, "sub": "root"}).encode()).decode()
    with pytest.raises(InvalidToken):
        validator()(f"{head}.{body.rstrip('=')}.{signature}")


def test_a_refusal_does_not_hold_the_token() -> None:
    secret = token(THEIRS)
    with pytest.raises(InvalidToken) as refused:
        validator()(secret)
    assert secret not in str(refused.value)


@given(st.text(alphabet="abcdefgh.-_0", max_size=40))
def test_any_text_is_refused(text: str) -> None:
    for check in (validator(), UnsecuredTokens(UnsecuredTokenRules())):
        with pytest.raises(InvalidToken):
            check(text)


# Unsecured


def loose(**options: str) -> UnsecuredTokens:
    return UnsecuredTokens(
        UnsecuredTokenRules.of(
            {f"unsecuredValidator{name}": text for name, text in options.items()}
        )
    )


def test_an_unsecured_token() -> None:
    assert loose()(unsecured({"sub": "alice", "exp": NOW + 3600})).user == "alice"
    named = loose(PrincipalClaimName="who", ScopeClaimName="scp", RequiredScope="a b")
    assert named(unsecured({"who": "bob", "exp": NOW + 3600, "scp": ["b", "a"]})).user == "bob"


@pytest.mark.parametrize(
    "claims",
    [
        {"sub": "alice"},
        {"exp": NOW + 3600},
        {"sub": "", "exp": NOW + 3600},
        {"sub": "alice", "exp": NOW - 1},
        {"sub": "alice", "exp": "later"},
        {"sub": "alice", "exp": NOW + 3600, "iat": NOW + 3600},
        {"sub": "alice", "exp": NOW + 3600, "iat": NOW + 9000},
    ],
)
def test_an_unsecured_token_that_is_refused(claims: dict[str, Any]) -> None:
    with pytest.raises(InvalidToken):
        loose()(unsecured(claims))


GOOD = '"exp": 32503680000'


@pytest.mark.parametrize(
    ("claims", "user"),
    [
        (f'{{"sub": true, {GOOD}}}', "true"),
        (f'{{"sub": null, {GOOD}}}', "null"),
        (f'{{"sub": "alice", {GOOD}}} and more', "alice"),
        (f' \n{{"sub": "alice", "sub": "bob", {GOOD}}}', "bob"),
        (f'{{"sub": "\\u00a0", {GOOD}}}', "\u00a0"),
        (f'{{"sub": "alice", {GOOD}, "scope": null}}', "alice"),
        (f'{{"sub": "alice", {GOOD}, "scope": {{"a": 1}}}}', "alice"),
    ],
)
def test_claims_are_read_as_by_kafka(claims: str, user: str) -> None:
    """It makes a text of what is no number and no list, and looks at the first value alone."""
    assert loose()(spelled(claims)).user == user


def test_a_scope_is_a_text() -> None:
    scopes = ["true", "null", "1", "1.5E10", "x"]
    claims = f'{{"sub": "alice", {GOOD}, "scope": [true, null, 1, 1.5e10, " x ", {{}}, []]}}'
    assert loose(RequiredScope=" ".join(scopes))(spelled(claims)).user == "alice"


@pytest.mark.parametrize(
    "claims",
    [
        f'{{"sub": {{"a": 1}}, {GOOD}}}',
        f'{{"sub": 5, {GOOD}}}',
        f'{{"sub": ["alice"], {GOOD}}}',
        f'{{"sub": "\\u0001 ", {GOOD}}}',
        f'{{"sub": "alice", {GOOD}, "iat": null}}',
        f'{{"sub": "alice", {GOOD}, "scope": 5}}',
        f'{{"sub": "alice", {GOOD}, "x": NaN}}',
        '{"sub": "alice", "exp": true}',
        "[1]",
        "",
    ],
)
def test_claims_that_are_refused(claims: str) -> None:
    with pytest.raises(InvalidToken):
        loose()(spelled(claims))


@pytest.mark.parametrize("header", ["{}", "[1]", "1", "", '"alg"'])
def test_a_token_without_an_algorithm_closes_as_in_kafka(header: str) -> None:
    with pytest.raises(ProtocolViolation):
        loose()(spelled(f'{{"sub": "alice", {GOOD}}}', header))


@pytest.mark.parametrize("header", ['{"alg": null}', '{"alg": ["none"]}', '{"alg": 1}', "no JSON"])
def test_an_algorithm_that_is_another(header: str) -> None:
    with pytest.raises(InvalidToken):
        loose()(spelled(f'{{"sub": "alice", {GOOD}}}', header))


@pytest.mark.parametrize("more", ["+", "/", "~", "A"])
def test_a_part_that_is_no_base64_for_urls(more: str) -> None:
    header, claims, _ = spelled(f'{{"sub": "alice", {GOOD}}}').split(".")
    padding = "A" * (-len(claims) % 4)
    with pytest.raises(InvalidToken):
        loose()(f"{header}.{claims}{padding}{more}.")


def test_a_signed_token_is_not_unsecured() -> None:
    with pytest.raises(InvalidToken):
        loose()(token())


def test_a_missing_scope() -> None:
    with pytest.raises(InvalidToken) as refused:
        loose(RequiredScope="a b")(unsecured({"sub": "x", "exp": NOW + 3600, "scope": "a"}))
    assert (refused.value.status, refused.value.scope) == ("insufficient_scope", "[a, b]")


@pytest.mark.parametrize("skew", ["x", "-1"])
def test_a_clock_skew_that_is_none(skew: str) -> None:
    with pytest.raises(ValueError, match=r"invalid literal|must not be negative"):
        loose(AllowableClockSkewMs=skew)


MAX_LONG = 2**63 - 1


@pytest.mark.parametrize(
    ("exp", "expected"),
    [("1e400", MAX_LONG), ("1e30", MAX_LONG), ("1" + "0" * 400, MAX_LONG)],
)
def test_an_end_beyond_all_time(exp: str, expected: int) -> None:
    claims = f'{{"sub": "alice", "exp": {exp}}}'
    assert UnsecuredTokens(UnsecuredTokenRules())(spelled(claims)).expiry_ms == expected


@pytest.mark.parametrize("exp", ["NaN", "-1e400", "-1" + "0" * 400, "1" + "0" * 5000])
def test_an_end_that_is_none(exp: str) -> None:
    with pytest.raises(InvalidToken):
        UnsecuredTokens(UnsecuredTokenRules())(spelled(f'{{"sub": "alice", "exp": {exp}}}'))


def test_a_signed_end_that_is_none() -> None:
    with pytest.raises(InvalidToken):
        validator()(token(exp=float("inf")))


def test_a_name_that_cannot_be_written() -> None:
    """Half of a surrogate pair becomes a question mark, as where Java writes it."""
    claims = '{"sub": "al\\ud800ice", "exp": 32503680000}'
    assert UnsecuredTokens(UnsecuredTokenRules())(spelled(claims)).user == "al?ice"
    assert validator()(token(sub="al\ud800ice")).user == "al?ice"


def spelled(claims: str, header: str = '{"alg": "none"}') -> str:
    """A token that nobody has signed."""

    def part(text: str) -> str:
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")

    return f"{part(header)}.{part(claims)}."
