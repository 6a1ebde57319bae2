"""AlterUserScramCredentials: what is refused, and which keys are stored."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

from kafkalite.testing import broker as test_broker
from tests.kafkalite.quotas_and_credentials import change, upsert, users


async def test_credentials(broker: test_broker, client: Any) -> None:
    told = await change(
        client,
        upsert("good", iterations=5000),
        upsert("too-few", iterations=4095),
        upsert("too-many", iterations=16385),
        upsert("unknown-mechanism", 3),
        upsert(""),
        upsert("twice"),
        upsert("twice", 2),
        gone={"nobody": 1},
    )
    assert told == {
        "good": 0,
        "too-few": 93,
        "too-many": 93,
        "unknown-mechanism": 33,
        "": 93,
        "twice": 92,
        "nobody": 91,
    }
    assert await users(client) == {"good": [(1, 5000)]}
    assert await users(client, "good", "nobody") == {"good": [(1, 5000)], "nobody": 91}
    assert await users(client, "good", "good") == {"good": 92}


async def test_what_is_kept_is_not_the_password(broker: test_broker, client: Any) -> None:
    """RFC 5802: StoredKey = H(HMAC(SaltedPassword, "Client Key")), and ServerKey likewise."""
    for mechanism, digest in ((1, "sha256"), (2, "sha512")):
        await change(client, upsert("u", mechanism))
        kept = broker._running.services.cluster.image.scram_credentials["u", mechanism]
        client_key = hmac.new(b"salted", b"Client Key", digest).digest()
        assert kept.stored_key == hashlib.new(digest, client_key).digest()
        assert kept.server_key == hmac.new(b"salted", b"Server Key", digest).digest()
        assert b"salted" not in (kept.stored_key, kept.server_key)


async def test_a_password_of_no_bytes_is_no_key_of_java_s(client: Any) -> None:
    """It is found last: what is wrong with the request counts before it."""
    empty = upsert("empty")
    empty.salted_password = b""
    assert await change(client, empty) == {"empty": -1}
    assert await change(client, empty, empty) == {"empty": 92}
    assert await users(client) == {}
