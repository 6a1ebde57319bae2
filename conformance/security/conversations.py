"""SASL conversations, good and broken, as frames: each yields one and is given the answer to it."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable, Generator
from typing import Any

from conformance.security.pair import Client
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.codec import decode_response, encode_request
from kafkalite.wire.messages.api_versions import ApiVersionsRequest
from kafkalite.wire.messages.create_delegation_token import CreateDelegationTokenResponse
from kafkalite.wire.messages.metadata import MetadataRequest
from kafkalite.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from kafkalite.wire.messages.sasl_handshake import SaslHandshakeRequest

Conversation = Generator[bytes, bytes | None]
SALT = b"0123456789abcdef"
ITERATIONS = 4096
_SECONDS = 30
NONCE = "nonceoftheclient"
DIGESTS = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}


def frame(body: bytes) -> bytes:
    """Bytes with their size in front."""
    return len(body).to_bytes(4) + body


def request(key: ApiKey, version: int, body: object) -> bytes:
    chunks = encode_request(key, version, 7, "conversation", body)
    return b"".join(map(bytes, chunks))


def handshake(mechanism: str = "PLAIN", version: int = 1) -> bytes:
    return request(ApiKey.SASL_HANDSHAKE, version, SaslHandshakeRequest(mechanism))


def token(data: bytes, version: int = 2) -> bytes:
    return request(ApiKey.SASL_AUTHENTICATE, version, SaslAuthenticateRequest(data))


def versions(version: int = 0, name: str = "client") -> bytes:
    body = ApiVersionsRequest(client_software_name=name, client_software_version="1")
    return request(ApiKey.API_VERSIONS, version, body)


def of_version(data: bytes, version: int) -> bytes:
    """A request that says to be of another version."""
    return data[:6] + version.to_bytes(2) + data[8:]


def plain(user: str, password: str, authorization_id: str = "") -> bytes:
    return f"{authorization_id}\0{user}\0{password}".encode()


def frames(*given: bytes) -> Callable[[], Conversation]:
    """A conversation that does not listen."""

    def say() -> Conversation:
        for each in given:
            _ = yield each  # an answer is sent in, which a tuple would not take

    return say


def logged_in(*given: bytes) -> Callable[[], Conversation]:
    """Frames of a client that is logged in."""
    return frames(handshake(), token(plain("alice", "a")), *given)


def salted(
    mechanism: str, password: str, salt: bytes = SALT, iterations: int = ITERATIONS
) -> bytes:
    digest = DIGESTS[mechanism]
    return hashlib.pbkdf2_hmac(digest, password.encode(), salt, iterations)


def scram(
    mechanism: str,
    password: str = "a",
    *,
    header: str = "n,,",
    extension: str = "",
    user: str = "alice",
    final: Callable[[dict[str, str]], str] | None = None,
) -> Callable[[], Conversation]:
    """A login with SCRAM.

    `extension` follows the nonce of the first message. `final` writes the last message from what
    it should be: its parts by letter.
    """

    def say() -> Conversation:
        bare = f"n={user},r={NONCE}{extension}"
        yield handshake(mechanism)
        answer = yield token(f"{header}{bare}".encode())
        if answer is None:
            return
        server_first = decode_response(ApiKey.SASL_AUTHENTICATE, 2, answer)[1].auth_bytes.decode()
        if not server_first:
            return
        given = dict(part.split("=", 1) for part in server_first.split(","))
        nonce, salt = given["r"], base64.b64decode(given["s"])
        channel = base64.b64encode(header.encode()).decode()
        signed = f"{bare},{server_first},c={channel},r={nonce}".encode()
        digest, key = DIGESTS[mechanism], salted(mechanism, password, salt, int(given["i"]))
        client_key = hmac.digest(key, b"Client Key", digest)
        stored = hashlib.new(digest, client_key).digest()
        signature = hmac.digest(stored, signed, digest)
        proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
        parts = {"c": channel, "r": nonce, "p": base64.b64encode(proof).decode()}
        last = ",".join(f"{name}={text}" for name, text in parts.items())
        yield token((last if final is None else final(parts)).encode())

    return say


def held(client: Client, conversation: Conversation) -> Any:
    """The last answer of a conversation."""
    answer = None
    said = next(conversation)
    while True:
        answer = client.exchange(said)
        try:
            said = conversation.send(answer)
        except StopIteration:
            return answer


def by_token(address: tuple[str, int], made: CreateDelegationTokenResponse) -> tuple[Client, Any]:
    """A client that has logged in by a delegation token, and the last answer to it."""
    password = base64.b64encode(made.hmac).decode()
    say = scram("SCRAM-SHA-512", password, user=made.token_id, extension=",tokenauth=true")
    deadline = time.monotonic() + _SECONDS
    while True:  # Apache Kafka takes a token over a little later
        client = Client(address)
        answer = decode_response(ApiKey.SASL_AUTHENTICATE, 2, held(client, say()))[1]
        if answer.error_code == 0:
            return client, answer
        client.socket.close()
        assert time.monotonic() < deadline, answer
        time.sleep(0.1)


def unsecured(claims: dict[str, object], algorithm: str = "none", signature: str = "") -> str:
    """A token that nobody has signed."""
    return f"{spelled(json.dumps(claims), json.dumps({'alg': algorithm}))}{signature}"


def spelled(claims: str, header: str = '{"alg": "none"}') -> str:
    """The same of texts that may be no JSON."""

    def part(text: str) -> str:
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")

    return f"{part(header)}.{part(claims)}."


def bearer(text: str, authorization_id: str = "") -> bytes:
    who = f"a={authorization_id}" if authorization_id else ""
    return f"n,{who},\x01auth=Bearer {text}\x01\x01".encode()


def oauth(*messages: bytes) -> Callable[[], Conversation]:
    return frames(handshake("OAUTHBEARER"), *map(token, messages))


CLAIMS: dict[str, object] = {"sub": "alice", "iat": 1_700_000_000, "exp": 32_503_680_000}


def _plain() -> dict[str, Callable[[], Conversation]]:
    alice = plain("alice", "a")
    made = {
        f"plain, version {version}": frames(handshake(), token(alice, version))
        for version in range(3)
    }
    tokens = {
        "wrong password": plain("alice", "b"),
        "unknown user": plain("nobody", "a"),
        "no user": plain("", "a"),
        "no password": plain("alice", ""),
        "for oneself": plain("alice", "a", "alice"),
        "for another": plain("alice", "a", "bob"),
        "two parts": b"alice\0a",
        "four parts": alice + b"\0more",
        "nothing": b"",
        "no zeros": b"alice",
        "no text": b"\0\xff\xfe\0\x80",
    }
    made |= {f"plain, {name}": frames(handshake(), token(data)) for name, data in tokens.items()}
    made |= {
        f"plain without headers, {name}": frames(handshake(version=0), frame(data))
        for name, data in {"good": alice, **tokens}.items()
    }
    made["plain, oversized"] = frames(handshake(), (600_000).to_bytes(4))
    made["plain without headers, oversized"] = frames(handshake(version=0), (600_000).to_bytes(4))
    made["plain, a negative size"] = frames(handshake(), b"\xff\xff\xff\xff")
    return made


def _handshakes() -> dict[str, Callable[[], Conversation]]:
    metadata = request(ApiKey.METADATA, 12, MetadataRequest(topics=[]))
    wanted = ("GSSAPI", "plain", "", "SCRAM-SHA-1", "PLAIN,SCRAM-SHA-256")
    return {
        **{f"handshake of {each!r}": frames(handshake(each)) for each in wanted},
        **{f"old handshake of {each!r}": frames(handshake(each, 0)) for each in wanted},
        "handshake of version 2": frames(of_version(handshake(), 2)),
        "handshake twice": frames(handshake(), handshake()),
        "versions first": frames(versions(), handshake(), token(plain("alice", "a"))),
        "versions twice": frames(versions(), versions()),
        "versions of the future": frames(
            of_version(versions(4), 99), versions(), handshake(), token(plain("alice", "a"))
        ),
        "versions of the future twice": frames(*[of_version(versions(4), 99)] * 2, handshake()),
        "versions of a bad name": frames(versions(3, "-"), handshake()),
        "versions after the handshake": frames(handshake(), versions()),
        "a request first": frames(metadata),
        "a request for a token": frames(handshake(), metadata),
        "a token first": frames(token(plain("alice", "a"))),
        "a token of version 3": frames(handshake(), of_version(token(plain("alice", "a")), 3)),
        "garbage": frames(frame(b"garbage")),
        "nothing": frames(frame(b"")),
        "web": frames(b"GET / HTTP/1.1\r\n\r\n"),
        "half a request": frames(frame(handshake()[4:9])),
        "a token after the login": logged_in(token(plain("alice", "a"))),
        "again": logged_in(handshake(), token(plain("alice", "a"))),
        "again as another": logged_in(handshake(), token(plain("bob", "b"))),
        "again with a wrong password": logged_in(handshake(), token(plain("alice", "b"))),
        "again by another mechanism": logged_in(
            handshake("SCRAM-SHA-256"), token(f"n,,n=alice,r={NONCE}".encode())
        ),
        "again by no mechanism": logged_in(handshake("GSSAPI")),
        "again and again": logged_in(handshake(), token(plain("alice", "a")), handshake()),
    }


def _scram() -> dict[str, Callable[[], Conversation]]:
    made: dict[str, Callable[[], Conversation]] = {}
    for name in DIGESTS:
        made |= {
            f"{name}": scram(name),
            f"{name}, wrong password": scram(name, "b"),
            f"{name}, unknown user": scram(name, user="nobody"),
            f"{name}, for oneself": scram(name, header="n,a=alice,"),
            f"{name}, for another": scram(name, header="n,a=bob,"),
            f"{name}, a token that is none": scram(name, extension=",tokenauth=true"),
            f"{name}, an extension": scram(name, extension=",more=1"),
            f"{name}, a channel that may be bound": scram(name, header="y,,"),
            f"{name}, a channel that is bound": scram(name, header="p=tls-unique,,"),
        }
    finals: dict[str, Callable[[dict[str, str]], str]] = {
        "another nonce": lambda parts: f"c={parts['c']},r={NONCE}other,p={parts['p']}",
        "the client's nonce alone": lambda parts: f"c={parts['c']},r={NONCE},p={parts['p']}",
        "no nonce": lambda parts: f"c={parts['c']},p={parts['p']}",
        "no channel": lambda parts: f"r={parts['r']},p={parts['p']}",
        "no proof": lambda parts: f"c={parts['c']},r={parts['r']}",
        "an empty proof": lambda parts: f"c={parts['c']},r={parts['r']},p=",
        "a short proof": lambda parts: f"c={parts['c']},r={parts['r']},p=YQ==",
        "a proof that is no base64": lambda parts: f"c={parts['c']},r={parts['r']},p=!!!",
        "iterations": lambda parts: f"c={parts['c']},r={parts['r']},i=1,p={parts['p']}",
        "nothing": lambda parts: "",
    }
    made |= {
        f"SCRAM-SHA-256, {name}": scram("SCRAM-SHA-256", final=final)
        for name, final in finals.items()
    }
    firsts = ("", "n,,", "n,,n=alice", f"n,,r={NONCE}", f"n,,n=,r={NONCE}", "n,,n=alice,r=")
    more = (f"n,,n=a=b,r={NONCE}", f"n,,m=1,n=alice,r={NONCE}", f"x,,n=alice,r={NONCE}", "\x00")
    made |= {
        f"SCRAM-SHA-512 first {first!r}": frames(handshake("SCRAM-SHA-512"), token(first.encode()))
        for first in (*firsts, *more)
    }
    return made


def _odd_tokens() -> dict[str, Callable[[], Conversation]]:
    """Claims and headers that Kafka reads in its own way, with its parser of JSON."""
    exp = '"exp": 32503680000'
    claims = (
        *(f'{{"sub": {each}, {exp}}}' for each in ("true", "null", "5", '{"a": 1}', '["alice"]')),
        *(f'{{"sub": "alice", {exp}, "scope": {each}}}' for each in ("null", "5", "true", "[5]")),
        *(f'{{"sub": "alice", {exp}, "x": {each}}}' for each in ("NaN", "01", "'x'", "1 /**/")),
        f'{{"sub": "alice", {exp}, "iat": null}}',
        f'{{"sub": "alice", {exp}}} and more',
        f'{{"sub": "alice", "sub": "bob", {exp}}}',
        f'{{"sub": "\u00a0", {exp}}}',
        "[1]",
        "",
    )
    headers = ("{}", "[1]", "1", "", '{"alg": null}', '{"alg": ["none"]}', "no JSON")
    texts = {each: spelled(each) for each in claims}
    texts |= {f"header {each}": spelled(f'{{"sub": "alice", {exp}}}', each) for each in headers}
    texts["no base64 for URLs"] = spelled(f'{{"sub": "alice", {exp}}}').replace(".", "/.", 1)
    return {f"oauth, {name}": oauth(bearer(text), b"\x01") for name, text in texts.items()}


def _oauth() -> dict[str, Callable[[], Conversation]]:
    good = unsecured(CLAIMS)
    return {
        "oauth": oauth(bearer(good)),
        "oauth, for oneself": oauth(bearer(good, "alice")),
        "oauth, for another": oauth(bearer(good, "bob")),
        "oauth, expired": oauth(bearer(unsecured({**CLAIMS, "exp": 1_700_000_001})), b"\x01"),
        "oauth, no expiry": oauth(bearer(unsecured({"sub": "alice", "iat": 1_700_000_000}))),
        "oauth, no subject": oauth(bearer(unsecured({**CLAIMS, "sub": ""})), b"\x01"),
        "oauth, signed": oauth(bearer(unsecured(CLAIMS, "HS256", "c2lnbmVk")), b"\x01"),
        "oauth, said to be signed": oauth(bearer(unsecured(CLAIMS, "RS256")), b"\x01"),
        "oauth, none and a signature": oauth(bearer(unsecured(CLAIMS, "none", "c2ln")), b"\x01"),
        "oauth, two parts": oauth(bearer("a.b"), b"\x01"),
        "oauth, garbage": oauth(bearer("garbage"), b"\x01"),
        "oauth, refused and once more": oauth(bearer("garbage"), bearer(good)),
        "oauth, refused and silent": oauth(bearer("garbage"), b""),
        "oauth, no message": oauth(b""),
        "oauth, no token": oauth(b"n,,\x01auth=Bearer \x01\x01"),
        "oauth, no auth": oauth(b"n,,\x01other=1\x01\x01"),
        "oauth, another scheme": oauth(f"n,,\x01auth=Basic {good}\x01\x01".encode()),
    }


CONVERSATIONS = {**_handshakes(), **_plain(), **_scram(), **_oauth(), **_odd_tokens()}
