"""SASL in librdkafka's settings: PLAIN, SCRAM, and tokens of OAUTHBEARER without a signature."""

from __future__ import annotations

from collections.abc import Mapping

from kafkalite.security.sasl.client import OAuthBearerClient, PlainClient, SaslClient, ScramClient
from kafkalite.security.sasl.oauthbearer import OAUTHBEARER
from kafkalite.security.sasl.plain import PLAIN
from kafkalite.security.sasl.scram import MECHANISMS


class UnknownSetting(Exception):
    """librdkafka knows a setting that is not known here; the message names it."""


def login(settings: Mapping[str, str]) -> SaslClient:
    """The client of the mechanism that is set. Raises UnknownSetting."""
    name = settings.get("sasl.mechanism") or settings.get("sasl.mechanisms") or "GSSAPI"
    user, password = settings.get("sasl.username", ""), settings.get("sasl.password", "")
    if name == PLAIN:
        return PlainClient(user, password)
    if name == OAUTHBEARER:
        return _unsigned(settings)
    if name not in MECHANISMS:
        raise UnknownSetting(f"sasl.mechanism={name}")
    return ScramClient(MECHANISMS[name], {"username": user, "password": password})


def _unsigned(settings: Mapping[str, str]) -> OAuthBearerClient:
    """A token without signature (RFC 7515, "alg": "none"), for brokers of tests."""
    from kafkalite.security.sasl.own_tokens import unsecured_token  # most logins have no token

    if settings.get("enable.sasl.oauthbearer.unsecure.jwt") != "true":
        raise UnknownSetting("sasl.oauthbearer.method")
    parts = [each.partition("=") for each in settings.get("sasl.oauthbearer.config", "").split()]
    unknown = [name for name, _, _ in parts if name != "principal"]
    if unknown:
        raise UnknownSetting(f"{unknown[0]} of sasl.oauthbearer.config")
    [principal] = [value for _, _, value in parts] or [""]
    claims = {"unsecuredLoginStringClaim_sub": principal}
    return OAuthBearerClient(lambda: unsecured_token(claims))
