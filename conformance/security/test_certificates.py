"""Clients with certificates: both brokers give them the same names, and refuse the same ones."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.name import _ASN1Type
from cryptography.x509.oid import ExtendedKeyUsageOID
from cryptography.x509.oid import NameOID as Names

from conformance.security.pair import Client, Secured
from kafkalite.wire.messages.create_delegation_token import CreateDelegationTokenRequest

CLOSED = "closed"
NOW = datetime.now(UTC)
DAY = timedelta(days=1)


def one(kind: x509.ObjectIdentifier, text: str, **how: Any) -> x509.RelativeDistinguishedName:
    return x509.RelativeDistinguishedName([x509.NameAttribute(kind, text, **how)])


def named(*texts: str) -> list[x509.RelativeDistinguishedName]:
    return [one(Names.ORGANIZATION_NAME, "o"), *(one(Names.COMMON_NAME, each) for each in texts)]


def written(text: str, kind: str) -> list[x509.RelativeDistinguishedName]:
    return [one(Names.COMMON_NAME, text, _type=_ASN1Type[kind])]


# From the least to the most important part, as certificates have them.
SUBJECTS = {
    "plain": named("Duke"),
    "two": named("a", "b"),
    "none": [],
    **{
        repr(text): named(text)
        for text in (
            *(
                "a,b",
                "a+b",
                'a"b',
                "a\\\\b",
                "a<b>;c=d",
                "#a",
                " a",
                "a ",
                "  a  b  ",
                " ",
                "a\nb",
                "a\tb",
            ),
            *(
                "ü",
                "e\u0301",
                "😀",
                "a\0b",
                "\x7f",
                "\u2028",
                "ﬁ",
                "=",
                "+",
                "a#",
                "\\",
                "ß",
                "\u200b",
            ),
        )
    },
    **{
        kind: [one(number, "value"), *named("x")]
        for kind, number in {
            "serial number": Names.SERIAL_NUMBER,
            "title": Names.TITLE,
            "given name": Names.GIVEN_NAME,
            "surname": Names.SURNAME,
            "qualifier": Names.DN_QUALIFIER,
            "initials": Names.INITIALS,
            "user id": Names.USER_ID,
            "street": Names.STREET_ADDRESS,
            "province": Names.STATE_OR_PROVINCE_NAME,
            "locality": Names.LOCALITY_NAME,
            "postal code": Names.POSTAL_CODE,
            "a number of nobody": x509.ObjectIdentifier("1.2.3.4.5"),
        }.items()
    },
    "mail": [one(Names.EMAIL_ADDRESS, "a@b", _type=_ASN1Type.IA5String), *named("x")],
    "domain": [one(Names.DOMAIN_COMPONENT, "d", _type=_ASN1Type.IA5String), *named("x")],
    "country": [one(Names.COUNTRY_NAME, "DE"), *named("x")],
    **{kind: written("Dük", kind) for kind in ("BMPString", "UniversalString", "UTF8String")},
    **{kind: written("Duke", kind) for kind in ("PrintableString", "IA5String", "T61String")},
    "several in one": [
        x509.RelativeDistinguishedName(
            [x509.NameAttribute(kind, "x") for kind in (Names.COMMON_NAME, Names.USER_ID)]
        ),
        one(Names.ORGANIZATION_NAME, "o"),
    ],
    "a user of the rules": [
        one(Names.ORGANIZATION_NAME, "o"),
        one(Names.ORGANIZATIONAL_UNIT_NAME, "users"),
        one(Names.COMMON_NAME, "DUKE"),
    ],
    "another of the rules": [one(Names.USER_ID, "duke"), *named("x")],
}


def certificate(
    broker: Secured,
    subject: list[x509.RelativeDistinguishedName],
    change: Callable[[x509.CertificateBuilder], x509.CertificateBuilder] | None = None,
    *,
    is_ours: bool = True,
) -> str:
    """A key and its certificate as PEM, of the broker's authority, or of nobody's."""
    key = ec.generate_private_key(ec.SECP256R1())
    directory = Path(broker.directory)
    signer: Any = key
    issuer = x509.Name(subject)
    if is_ours:
        signer = load_pem_private_key((directory / "authority-key.pem").read_bytes(), None)
        authority = (directory / "authority.pem").read_bytes()
        issuer = x509.load_pem_x509_certificate(authority).subject
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name(subject))
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW - 2 * DAY)
        .not_valid_after(NOW + DAY)
    )
    made = (builder if change is None else change(builder)).sign(signer, SHA256())
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return (pem + made.public_bytes(Encoding.PEM)).decode()


def principal(broker: Secured, listener: str, pem: str | None, directory: Path) -> object:
    """The user that a client is to a broker: the one who may have tokens."""
    context = ssl.create_default_context(cafile=str(Path(broker.directory) / "authority.pem"))
    if pem is not None:
        with NamedTemporaryFile("w", dir=directory, suffix=".pem") as file:
            file.write(pem)
            file.flush()
            context.load_cert_chain(file.name)
    client = Client(broker.address(listener))
    try:
        with context.wrap_socket(client.socket, server_hostname="127.0.0.1") as connection:
            asked = CreateDelegationTokenRequest(max_lifetime_ms=1)
            answer = Client.over(connection).ask(asked)
    except (ssl.SSLError, ConnectionError):
        return CLOSED
    if answer is None:
        return CLOSED
    return answer.error_code, answer.principal_type, answer.principal_name


def told(
    secured: tuple[Secured, Secured], listener: str, tmp_path: Path, make: Callable[..., str | None]
) -> object:
    theirs, ours = (principal(each, listener, make(each), tmp_path) for each in secured)
    assert ours == theirs
    return theirs


@pytest.mark.parametrize("listener", ["MUTUAL", "MAPPED"])
def test_names(secured: tuple[Secured, Secured], tmp_path: Path, listener: str) -> None:
    def name(broker: Secured, subject: list[x509.RelativeDistinguishedName]) -> object:
        return principal(broker, listener, certificate(broker, subject), tmp_path)

    with ThreadPoolExecutor(16) as pool:  # a token takes its time
        theirs, ours = (
            dict(zip(SUBJECTS, pool.map(partial(name, each), SUBJECTS.values()), strict=True))
            for each in secured
        )
    assert ours == theirs


def test_what_they_are(secured: tuple[Secured, Secured], tmp_path: Path) -> None:
    def of(listener: str, name: str) -> object:
        return told(secured, listener, tmp_path, lambda each: certificate(each, SUBJECTS[name]))

    assert of("MUTUAL", "plain") == (0, "User", "CN=Duke,O=o")
    assert of("MAPPED", "a user of the rules") == (0, "User", "duke")
    assert of("MAPPED", "another of the rules") == (0, "User", "duke@uid")
    assert of("MAPPED", "plain") == CLOSED


@pytest.mark.parametrize("listener", ["MUTUAL", "MAPPED", "SSL"])
def test_none(secured: tuple[Secured, Secured], tmp_path: Path, listener: str) -> None:
    found = told(secured, listener, tmp_path, lambda _: None)
    assert (found == CLOSED) == (listener == "MUTUAL")


def usage(*kinds: x509.ObjectIdentifier) -> Callable[[x509.CertificateBuilder], Any]:
    return lambda builder: builder.add_extension(x509.ExtendedKeyUsage(kinds), critical=False)


BAD: dict[str, tuple[Callable[[x509.CertificateBuilder], Any] | None, bool]] = {
    "nobody's": (None, False),
    "over": (lambda builder: _valid(builder, -2, -1), True),
    "not yet": (lambda builder: _valid(builder, 1, 2), True),
    "for servers": (usage(ExtendedKeyUsageOID.SERVER_AUTH), True),
}
GOOD: dict[str, tuple[Callable[[x509.CertificateBuilder], Any] | None, bool]] = {
    "for clients": (usage(ExtendedKeyUsageOID.CLIENT_AUTH), True),
    "for both": (usage(ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH), True),
}


def _valid(builder: x509.CertificateBuilder, begin: int, end: int) -> x509.CertificateBuilder:
    # A builder takes each of them once.
    builder._not_valid_before = builder._not_valid_after = None
    begun = builder.not_valid_before(NOW + begin * DAY)
    return begun.not_valid_after(NOW + end * DAY)


@pytest.mark.parametrize("name", BAD | GOOD)
@pytest.mark.parametrize("listener", ["MUTUAL", "MAPPED"])
def test_what_is_refused(
    secured: tuple[Secured, Secured], tmp_path: Path, listener: str, name: str
) -> None:
    change, is_ours = (BAD | GOOD)[name]
    subject = SUBJECTS["a user of the rules"]
    found = told(
        secured,
        listener,
        tmp_path,
        lambda each: certificate(each, subject, change, is_ours=is_ours),
    )
    assert (found == CLOSED) == (name in BAD)
