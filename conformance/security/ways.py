"""The ways in: each mechanism with TLS and without, and TLS alone; and with a wrong secret."""

from __future__ import annotations

import time
import uuid
from dataclasses import asdict, dataclass
from pathlib import Path

from conformance.security.conversations import DIGESTS, ITERATIONS, SALT, salted, unsecured
from conformance.security.pair import Client, Secured
from kafkalite.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from kafkalite.wire.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
)

SECONDS = 30
MECHANISMS = ("PLAIN", *DIGESTS, "OAUTHBEARER")


@dataclass(frozen=True)
class Way:
    """A client's settings. `authority` is a CA's certificate as PEM, empty without TLS."""

    name: str
    bootstrap: str
    topic: str
    authority: str = ""
    mechanism: str = ""
    user: str = ""
    password: str = ""
    token: str = ""
    refused: bool = False

    @property
    def protocol(self) -> str:
        """The security protocol."""
        tls = "SSL" if self.authority else "PLAINTEXT"
        return f"SASL_{tls}" if self.mechanism else tls

    def as_json(self) -> dict[str, object]:
        return asdict(self)


def ways(broker: Secured) -> list[Way]:
    """All of them, into this broker."""
    give_password(broker, "root", "r")
    authority = (Path(broker.directory) / "authority.pem").read_text()
    made: list[Way] = [_way(broker, "SSL", authority)]
    for mechanism in MECHANISMS:
        for with_tls in (False, True):
            protocol = "SASL_SSL" if with_tls else "SASL_PLAINTEXT"
            ca = authority if with_tls else ""
            made.append(_way(broker, protocol, ca, mechanism))
            made.append(_way(broker, protocol, ca, mechanism, is_refused=True))
    return made


def _way(
    broker: Secured,
    protocol: str,
    authority: str,
    mechanism: str = "",
    *,
    is_refused: bool = False,
) -> Way:
    claims: dict[str, object] = {
        "sub": "root",
        "iat": time.time(),
        "exp": time.time() + (-100 if is_refused else 3600),
    }
    return Way(
        name=f"{protocol} {mechanism}{' refused' if is_refused else ''}".strip(),
        bootstrap="{}:{}".format(*broker.address(protocol)),
        topic=f"way-{uuid.uuid4().hex[:8]}",
        authority=authority,
        mechanism=mechanism,
        user="root" if mechanism else "",
        password="wrong" if is_refused else "r",
        token=unsecured(claims) if mechanism == "OAUTHBEARER" else "",
        refused=is_refused,
    )


def give_password(broker: Secured, user: str, password: str) -> None:
    """A password for SCRAM. The salt is the same on all brokers."""
    with Client(broker.address("PLAINTEXT")) as client:
        for number, name in enumerate(DIGESTS, start=1):
            wanted = ScramCredentialUpsertion(
                user, number, ITERATIONS, SALT, salted(name, password)
            )
            given = client.ask(AlterUserScramCredentialsRequest(upsertions=[wanted]))
            assert given.results[0].error_code == 0, given
        deadline = time.monotonic() + SECONDS
        count = 0
        while count < len(DIGESTS):
            assert time.monotonic() < deadline, "the credentials did not come"
            answer = client.ask(DescribeUserScramCredentialsRequest(users=None))
            count = sum(len(each.credential_infos) for each in answer.results if each.user == user)
