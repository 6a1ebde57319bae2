"""`--sasl`, `--tls auto` and `--acls`: a secured broker for a test by one flag each.

From what is wanted come the broker's configs, and ready-made settings for clients.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from kafkalite.config import ConfigError
from kafkalite.config.bitnami_users import plain_module, quoted
from kafkalite.config.temporary import directory_of

AUTO: Final = "auto"
_PACKAGE: Final = "org.apache.kafka.common.security"
_PLAIN, _OAUTHBEARER = "PLAIN", "OAUTHBEARER"
_SCRAM: Final = ("SCRAM-SHA-256", "SCRAM-SHA-512")
_AUTHORIZER: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


@dataclass(frozen=True, slots=True)
class Login:
    """One `--sasl mechanism:user:password`."""

    mechanism: str
    user: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Wanted:
    """The security that was asked for."""

    logins: Sequence[Login] = ()
    tls: bool = False
    acls: bool = False

    def __bool__(self) -> bool:
        return bool(self.logins) or self.tls or self.acls

    @property
    def protocol(self) -> str:
        """The security protocol of the listener."""
        if self.logins:
            return "SASL_SSL" if self.tls else "SASL_PLAINTEXT"
        return "SSL" if self.tls else "PLAINTEXT"


@dataclass(frozen=True, slots=True)
class Files:
    """The PEM files of `--tls auto`."""

    ca: Path
    server: Path
    client: Path


def parse_login(text: str) -> Login:
    """`scram-sha-256:alice:secret`. Raises ConfigError, without the password."""
    mechanism, _, rest = text.partition(":")
    user, colon, password = rest.partition(":")
    mechanism = mechanism.strip().upper()
    if mechanism not in (_PLAIN, _OAUTHBEARER, *_SCRAM):
        raise ConfigError(
            f"--sasl: {mechanism or 'nothing'} is no mechanism; there are plain, scram-sha-256, "
            "scram-sha-512 and oauthbearer"
        )
    if not user or (mechanism != _OAUTHBEARER and not (colon and password)):
        raise ConfigError("--sasl: it is MECHANISM:USER:PASSWORD")
    return Login(mechanism, user, password)


def wanted(sasl: str | Sequence[str], tls: str | None, *, acls: bool) -> Wanted:
    """The security that flags or arguments ask for. Raises ConfigError."""
    texts = [sasl] if isinstance(sasl, str) else sasl
    if tls not in (None, AUTO):
        raise ConfigError(f"--tls {tls}: it is auto; for stores of your own set ssl.keystore.*")
    return Wanted([parse_login(text) for text in texts], tls == AUTO, acls)


def files_in(directory: Path) -> Files:
    """The paths of the files in a directory."""
    return Files(*(directory / f"kafkalite-{name}.pem" for name in ("ca", "server", "client")))


def temporary_files(owner: object, host: str) -> Files:
    """Files as `make_files` has them, for as long as `owner` lives."""
    return make_files(directory_of(owner, "kafkalite-tls-"), host)


def secured(
    owner: object,
    configs: Mapping[str, str],
    asked: Wanted,
    host: str,
    port: int,
) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """Configs with a listener that is secured, and the clients' settings.

    Its certificates are there for as long as `owner` lives. Raises ConfigError.
    """
    files = temporary_files(owner, host) if asked.tls else None
    return with_listener(configs, asked, files, host, port), client_settings(asked, files)


def make_files(directory: Path, host: str) -> Files:
    """The CA and certificates. Raises ConfigError without what makes them."""
    files = files_in(directory)
    try:
        from kafkalite.security.certificates import write_certificates

        write_certificates(directory, files, host)
        return files
    except ImportError:
        raise ConfigError("--tls auto needs pip install kafkalite[security]") from None
    except OSError as error:
        raise ConfigError(f"--tls auto cannot write to {directory}: {error.strerror}") from None


def broker_configs(asked: Wanted, files: Files | None) -> dict[str, str]:
    """The broker's configs, all but its listeners."""
    configs: dict[str, str] = {}
    prefix = f"listener.name.{asked.protocol.lower()}."
    if asked.logins:
        mechanisms = dict.fromkeys(login.mechanism for login in asked.logins)
        configs["sasl.enabled.mechanisms"] = ",".join(mechanisms)
        plain = [login for login in asked.logins if login.mechanism == _PLAIN]
        if plain:
            configs[f"{prefix}plain.sasl.jaas.config"] = plain_module(
                {each.user: each.password for each in plain}
            )
        scram = [each for each in asked.logins if each.mechanism in _SCRAM]
        if scram:
            configs["kafkalite.scram.credentials"] = "\n".join(
                f"{each.mechanism}:{each.user}:{each.password}" for each in scram
            )
    if files is not None:
        configs |= {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(files.server),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(files.ca),
            "ssl.client.auth": "requested",
        }
    if asked.acls:
        configs["authorizer.class.name"] = _AUTHORIZER
        configs["super.users"] = super_user(asked)
    return configs


def super_user(asked: Wanted) -> str:
    """The super user: the first login, or the client certificate, or everybody."""
    if asked.logins:
        return f"User:{asked.logins[0].user}"
    if asked.tls:
        from kafkalite.security.certificates import CLIENT_NAME

        return f"User:CN={CLIENT_NAME}"
    return "User:ANONYMOUS"


def client_settings(asked: Wanted, files: Files | None) -> dict[str, dict[str, str]]:
    """Settings that let a client in as the first login: for Java, librdkafka and kafka-python.

    aiokafka takes those of kafka-python, but an SSLContext for its TLS.
    """
    protocol = asked.protocol
    java = {"security.protocol": protocol}
    librdkafka = {"security.protocol": protocol}
    python = {"security_protocol": protocol}
    if asked.logins:
        login = asked.logins[0]
        java |= {"sasl.mechanism": login.mechanism, "sasl.jaas.config": _jaas(login)}
        librdkafka["sasl.mechanism"] = python["sasl_mechanism"] = login.mechanism
        if login.mechanism == _OAUTHBEARER:
            librdkafka |= {
                "enable.sasl.oauthbearer.unsecure.jwt": "true",
                "sasl.oauthbearer.config": f"principal={login.user}",
            }
        else:
            librdkafka |= {"sasl.username": login.user, "sasl.password": login.password}
            python |= {
                "sasl_plain_username": login.user,
                "sasl_plain_password": login.password,
            }
    if files is not None:
        java |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(files.ca)}
        librdkafka["ssl.ca.location"] = python["ssl_cafile"] = str(files.ca)
        if not asked.logins:
            java |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(files.client)}
            librdkafka |= {
                "ssl.certificate.location": str(files.client),
                "ssl.key.location": str(files.client),
            }
            python |= {"ssl_certfile": str(files.client), "ssl_keyfile": str(files.client)}
    return {"java": java, "librdkafka": librdkafka, "kafka_python": python}


def _jaas(login: Login) -> str:
    if login.mechanism == _OAUTHBEARER:
        return (
            f"{_PACKAGE}.oauthbearer.OAuthBearerLoginModule required "
            f"unsecuredLoginStringClaim_sub={quoted(login.user)};"
        )
    module = "plain.PlainLoginModule" if login.mechanism == _PLAIN else "scram.ScramLoginModule"
    return (
        f"{_PACKAGE}.{module} required username={quoted(login.user)} "
        f"password={quoted(login.password)};"
    )


def with_listener(
    configs: Mapping[str, str], asked: Wanted, files: Files | None, host: str, port: int
) -> dict[str, str]:
    """A broker's configs with what was asked for. Raises ConfigError where the two disagree."""
    if "listeners" in configs:
        raise ConfigError("--sasl, --tls and listeners exclude each other")
    host = f"[{host}]" if ":" in host else host
    return {
        **broker_configs(asked, files),
        **configs,
        "listeners": f"{asked.protocol}://{host}:{port}",
    }
