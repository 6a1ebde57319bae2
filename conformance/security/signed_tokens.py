"""The keys of an identity provider, in a file and behind a URL, and tokens that they sign."""

from __future__ import annotations

import functools
import json
import threading
from collections.abc import Container
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa

Key = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey


@functools.cache
def keys() -> dict[str, Key]:
    """By id; `strange` is in no set of keys, `late` in the URL's once it is published."""
    return {
        "rsa": rsa.generate_private_key(public_exponent=65537, key_size=2048),
        "ec": ec.generate_private_key(ec.SECP256R1()),
        "late": ec.generate_private_key(ec.SECP256R1()),
        "strange": rsa.generate_private_key(public_exponent=65537, key_size=2048),
    }


def key_set(hidden: Container[str] = ("strange", "late")) -> str:
    """The public keys, as JSON (RFC 7517)."""
    made: list[dict[str, Any]] = []
    for name, key in keys().items():
        if isinstance(key, rsa.RSAPrivateKey):
            public = jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key(), as_dict=True)
        else:
            public = jwt.algorithms.ECAlgorithm.to_jwk(key.public_key(), as_dict=True)
        if name not in hidden:
            made.append({**public, "kid": name})
    return json.dumps({"keys": made})


class _Endpoint(BaseHTTPRequestHandler):
    """Serves the keys."""

    hidden = ("strange", "late")

    def do_GET(self) -> None:
        """Answer with the key set."""
        body = key_set(self.hidden).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@functools.cache
def endpoint() -> str:
    """A URL that serves the keys as long as this process lives."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Endpoint)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/keys"


def publish() -> None:
    """From now on `late` is behind the URL, too."""
    _Endpoint.hidden = ("strange", "")


def signed(
    claims: dict[str, Any],
    key: str = "rsa",
    algorithm: str = "RS256",
    key_id: str | None = "rsa",
    **header: Any,
) -> str:
    """A token. `key_id` None names no key."""
    if key_id is not None:
        header["kid"] = key_id
    given = {name: value for name, value in claims.items() if value is not None}
    payload = json.dumps(given).encode()
    return jwt.PyJWS().encode(payload, keys()[key], algorithm, headers=header)
