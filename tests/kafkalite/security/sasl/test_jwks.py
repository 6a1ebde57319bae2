"""Keys of a JWKS: from a file, read again when it changes, and from a URL in the background."""

import json
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import jwt
import pytest
import trio
from cryptography.hazmat.primitives.asymmetric import rsa
from hypothesis import given
from hypothesis import strategies as st

from kafkalite.security.sasl.jwks import (
    FileKeys,
    KeysUnavailable,
    RefreshTimes,
    UrlKeys,
    file_of,
    parse_keys,
)
from tests.kafkalite.until import until


def jwks(*ids: str) -> str:
    keys: list[dict[str, Any]] = []
    for key_id in ids:
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048).public_key()
        keys.append({**jwt.algorithms.RSAAlgorithm.to_jwk(key, as_dict=True), "kid": key_id})
    return json.dumps({"keys": keys})


def test_keys_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "jwks.json"
    file.write_text(jwks("a"))
    keys = FileKeys(file_of(f"file://{file}"))
    assert keys.find("a", "RS256") is not None
    assert keys.find("b", "RS256") is None
    assert keys.find(None, "RS256") is not None
    file.write_text(jwks("a", "b"))
    assert keys.find("b", "RS256") is not None


def test_a_file_that_goes_bad_leaves_the_keys(tmp_path: Path) -> None:
    file = tmp_path / "jwks.json"
    file.write_text(jwks("a"))
    keys = FileKeys(file)
    file.write_text("nonsense")
    assert keys.find("a", "RS256") is not None


SECRET = {"kty": "oct", "k": "c2VjcmV0", "kid": "a"}


def test_a_shared_secret_is_no_key(tmp_path: Path) -> None:
    file = tmp_path / "jwks.json"
    keys = json.loads(jwks("b"))["keys"]
    file.write_text(json.dumps({"keys": [SECRET, *keys]}))
    assert FileKeys(file).find("a", "HS256") is None
    assert FileKeys(file).find("a", "RS256") is None
    file.write_text(json.dumps({"keys": [SECRET]}))
    with pytest.raises(KeysUnavailable, match="no key of use"):
        FileKeys(file)


@pytest.mark.parametrize(
    ("said", "key_id", "algorithm", "is_found"),
    [
        ({}, "b", "RS512", True),
        ({}, None, "PS256", True),
        ({}, "b", "ES256", False),
        ({"alg": "RS256"}, "b", "RS512", False),
        ({"alg": "RS256"}, "b", "RS256", True),
        ({"use": "enc"}, "b", "RS256", False),
        ({"use": "sig"}, "b", "RS256", True),
        ({"kid": None}, "x", "RS256", True),
    ],
)
def test_a_key_is_for_what_its_set_says(
    tmp_path: Path, said: dict[str, str], key_id: str | None, algorithm: str, is_found: bool
) -> None:
    file = tmp_path / "jwks.json"
    (key,) = json.loads(jwks("b"))["keys"]
    file.write_text(json.dumps({"keys": [key | said]}))
    assert (FileKeys(file).find(key_id, algorithm) is not None) == is_found


VALUES = st.recursive(
    st.none()
    | st.integers()
    | st.sampled_from(["RSA", "EC", "OKP", "oct", "P-256", "AQAB", "é", ""]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["keys", "kty", "n", "e", "crv", "x", "y", "k", "d", "alg", "kid", "use"]
            ),
            inner,
            max_size=5,
        )
    ),
)


@given(VALUES | st.builds(lambda each: {"keys": [each]}, VALUES) | st.text(max_size=9))
def test_no_key_set_does_anything_but_serve_or_be_refused(given: object) -> None:
    text = given if isinstance(given, str) else json.dumps(given)
    with suppress(KeysUnavailable):
        for key in parse_keys(text.encode(), "here"):
            key.serves("a", "RS256")


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"keys": 5}', '{"keys": [5]}'])
def test_what_is_no_key_set(tmp_path: Path, text: str) -> None:
    file = tmp_path / "jwks.json"
    file.write_text(text)
    with pytest.raises(KeysUnavailable, match="no JSON Web Key Set"):
        FileKeys(file)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(KeysUnavailable, match="No such file"):
        FileKeys(tmp_path / "none")


@pytest.mark.parametrize("url", ["ftp://x/y", "nothing", "http://"])
def test_other_urls_are_refused(url: str) -> None:
    with pytest.raises(ValueError, match="is no URL"):
        UrlKeys(url, RefreshTimes())


@pytest.mark.parametrize("url", ["file://elsewhere/path", "file://"])
def test_files_of_other_hosts_are_refused(url: str) -> None:
    with pytest.raises(ValueError, match="is no URL of a file"):
        file_of(url)


@pytest.mark.slow
async def test_keys_of_a_url_are_fetched_and_fetched_again() -> None:
    answers = [jwks("a"), jwks("a", "b")]

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = answers[0].encode()
            del answers[:-1]
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}/keys"
        keys = UrlKeys(url, RefreshTimes(refresh=0.05))
        try:
            with trio.fail_after(30):
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(keys.run)
                    await until(lambda: keys.find("b", "RS256") is not None)
                    nursery.cancel_scope.cancel()
            assert keys.find("a", "RS256") is not None
        finally:
            server.shutdown()
            thread.join()


async def test_a_url_that_does_not_answer_is_said_and_tried_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    keys = UrlKeys("http://127.0.0.1:1/keys", RefreshTimes(retry=0.01, retry_max=0.02))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(keys.run)
        await until(lambda: len(caplog.records) > 1)
        nursery.cancel_scope.cancel()
    assert "cannot fetch http://127.0.0.1:1/keys" in caplog.text
