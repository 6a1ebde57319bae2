"""Contexts for listeners: a handshake with each setting, in memory."""

import ssl
from collections.abc import Callable
from typing import Any

import pytest

from kafkalite.security.key_stores import pem_key_material
from kafkalite.security.tls import (
    TlsConfigError,
    TlsSettings,
    distinguished_name,
    make_context,
    openssl_name,
)
from tests.kafkalite.security.certificates import (
    Authority,
    Identity,
    sha1_identity,
    small_identity,
)

AUTHORITY = Authority()
SERVER = AUTHORITY.server()
KEYS = pem_key_material(SERVER.key, SERVER.certificate, None)


def client(identity: Identity | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=AUTHORITY.certificate)
    if identity is not None:
        keys = pem_key_material(identity.key, identity.certificate, None)
        make_client_keys(context, keys.key, identity.certificate)
    return context


def make_client_keys(context: ssl.SSLContext, key: str, certificate: str) -> None:
    import tempfile

    with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
        file.write(certificate + key)
        file.flush()
        context.load_cert_chain(file.name)


def shake(server: ssl.SSLContext, other: ssl.SSLContext) -> ssl.SSLObject:
    """The server's side after a handshake. Raises ssl.SSLError."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = server.wrap_bio(to_server, to_client, server_side=True)
    theirs = other.wrap_bio(to_client, to_server, server_hostname="127.0.0.1")
    done = {"ours": False, "theirs": False}
    for _ in range(10):
        for name, side in (("theirs", theirs), ("ours", ours)):
            if not done[name]:
                try:
                    side.do_handshake()
                    done[name] = True
                except ssl.SSLWantReadError:
                    pass
    assert all(done.values())
    return ours


@pytest.mark.parametrize("protocol", ["TLSv1.2", "TLSv1.3"])
def test_protocols(protocol: str) -> None:
    server = make_context(TlsSettings(KEYS, protocols=[protocol]))
    assert shake(server, client()).version() == protocol


def test_a_protocol_that_is_not_enabled() -> None:
    server = make_context(TlsSettings(KEYS, protocols=["TLSv1.3"]))
    old = client()
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    with pytest.raises(ssl.SSLError):
        shake(server, old)


@pytest.mark.parametrize("protocols", [["TLSv1.1"], ["SSLv3", "TLSv1.3"], []])
def test_old_protocols_are_refused(protocols: list[str]) -> None:
    with pytest.raises(TlsConfigError, match=r"ssl\.enabled\.protocols"):
        make_context(TlsSettings(KEYS, protocols=protocols))


def test_required_certificates() -> None:
    server = make_context(
        TlsSettings(KEYS, trusted=[AUTHORITY.certificate], client_auth="required")
    )
    certificate = shake(server, client(AUTHORITY.client("alice"))).getpeercert(binary_form=True)
    assert certificate is not None
    assert distinguished_name(certificate).startswith("CN=alice,")
    without = client()
    without.maximum_version = ssl.TLSVersion.TLSv1_2
    with pytest.raises(ssl.SSLError):
        shake(server, without)


def test_requested_certificates_may_be_left_out() -> None:
    server = make_context(
        TlsSettings(KEYS, trusted=[AUTHORITY.certificate], client_auth="requested")
    )
    assert shake(server, client()).getpeercert(binary_form=True) is None


def test_a_certificate_of_somebody_else() -> None:
    server = make_context(
        TlsSettings(KEYS, trusted=[AUTHORITY.certificate], client_auth="requested")
    )
    stranger = client(Authority().client("alice"))
    stranger.maximum_version = ssl.TLSVersion.TLSv1_2
    with pytest.raises(ssl.SSLError):
        shake(server, stranger)


@pytest.mark.parametrize(
    ("suite", "name"),
    [
        ("TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "ECDHE-RSA-AES256-GCM-SHA384"),
        ("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "ECDHE-ECDSA-AES128-GCM-SHA256"),
        ("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA-CHACHA20-POLY1305"),
        ("TLS_DHE_RSA_WITH_AES_256_GCM_SHA384", "DHE-RSA-AES256-GCM-SHA384"),
        ("TLS_RSA_WITH_AES_128_CBC_SHA", "AES128-SHA"),
    ],
)
def test_names_of_suites(suite: str, name: str) -> None:
    assert openssl_name(suite) == name
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_ciphers(f"{name}:@SECLEVEL=0")
    assert name in {cipher["name"] for cipher in context.get_ciphers()}


@pytest.mark.parametrize("suite", ["ECDHE-ECDSA-AES128-SHA", "ECDHE-ECDSA-AES256-SHA"])
def test_old_suites_that_java_offers_are_usual(suite: str) -> None:
    old = client()
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    old.set_ciphers(suite)
    assert suite in (shake(make_context(TlsSettings(KEYS)), old).cipher() or ())


@pytest.mark.parametrize("suite", ["DHE-RSA-AES256-GCM-SHA384", "AES128-GCM-SHA256", "AES256-SHA"])
def test_suites_of_rsa_keys_that_java_offers_are_usual(suite: str) -> None:
    identity = AUTHORITY.server(is_rsa=True)
    keys = pem_key_material(identity.key, identity.certificate, None)
    server = make_context(TlsSettings(keys))
    old = client()
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    old.set_ciphers(suite)
    assert suite in (shake(server, old).cipher() or ())


@pytest.mark.parametrize("make_weak", [small_identity, sha1_identity])
@pytest.mark.parametrize("protocol", ["TLSv1.2", "TLSv1.3"])
def test_weak_certificates_are_served_as_java_does(
    make_weak: Callable[[], Identity], protocol: str
) -> None:
    weak = make_weak()
    keys = pem_key_material(weak.key, weak.certificate, None)
    server = make_context(TlsSettings(keys, protocols=[protocol]))
    careless = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    careless.check_hostname = False
    careless.verify_mode = ssl.CERT_NONE
    assert shake(server, careless).version() == protocol
    usual = make_context(TlsSettings(KEYS, protocols=[protocol]))
    assert server.get_ciphers() == usual.get_ciphers()


def test_a_suite_decides_the_protocol() -> None:
    older = TlsSettings(KEYS, cipher_suites=["TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"])
    side = shake(make_context(older), client())
    assert side.version() == "TLSv1.2"
    assert "ECDHE-ECDSA-AES256-GCM-SHA384" in (side.cipher() or ())
    newer = TlsSettings(
        KEYS,
        cipher_suites=[
            "TLS_AES_256_GCM_SHA384",
            "TLS_AES_128_GCM_SHA256",
            "TLS_CHACHA20_POLY1305_SHA256",
        ],
    )
    assert shake(make_context(newer), client()).version() == "TLSv1.3"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"cipher_suites": ["TLS_AES_256_GCM_SHA384"]}, "Python cannot choose"),
        ({"cipher_suites": ["TLS_NO_SUCH_THING"]}, "known here"),
        (
            {
                "cipher_suites": ["TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"],
                "protocols": ["TLSv1.3"],
            },
            r"none of them belongs to ssl\.enabled\.protocols",
        ),
        ({"trusted": ["nonsense"], "client_auth": "required"}, "trusted certificates"),
    ],
)
def test_what_cannot_be_obeyed_is_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(TlsConfigError, match=words):
        make_context(TlsSettings(KEYS, **settings))


def test_a_wrong_key_or_password() -> None:
    other = AUTHORITY.server()
    with pytest.raises(TlsConfigError, match="not usable"):
        make_context(TlsSettings(pem_key_material(other.key, SERVER.certificate, None)))
    encrypted = pem_key_material(SERVER.encrypted_key("pw"), SERVER.certificate, "wrong")
    with pytest.raises(TlsConfigError, match="not usable"):
        make_context(TlsSettings(encrypted))
    unopened = pem_key_material(SERVER.encrypted_key("pw"), SERVER.certificate, None)
    with pytest.raises(TlsConfigError, match="not usable"):
        make_context(TlsSettings(unopened))
