"""A security config of Kafka's that is set is obeyed, or refused, or has no effect in Kafka either.

What is marked as enforced is read by the product (tests/kafkalite/config/test_marks.py). All other
configs of security are here, with the reason why nobody is fooled by them.
"""

from __future__ import annotations

import re

import pytest

from kafkalite.cluster.image import MetadataImage
from kafkalite.config import BROKER_CONFIGS, BrokerConfig, ConfigError, Support
from kafkalite.security.security import Security
from tests.kafkalite.security.secured import SASL_LISTENER

SECURITY = re.compile(
    r"ssl\.|sasl\.|principal\.|authorizer\.|security\.|delegation\.|super\.users|allow\.everyone"
    r"|connections\.max\.reauth|connection\.failed|listener\.security|early\.start"
    r"|quota\.|client\.quota|controller\.quota|max\.connection"
)
# Beginnings of names.
WITHOUT_EFFECT = {
    "sasl.kerberos.": "only of GSSAPI, which is refused by name",
    "sasl.oauthbearer.assertion.": "only of a login by assertions, whose class is refused",
    "early.start.listeners": "all start when the authorizer is ready",
}


def reasons(name: str) -> list[str]:
    return [begin for begin in WITHOUT_EFFECT if name.startswith(begin)]


@pytest.mark.parametrize("name", [name for name in BROKER_CONFIGS if SECURITY.match(name)])
def test_a_config_is_obeyed_or_its_reason_is_known(name: str) -> None:
    is_enforced = BROKER_CONFIGS[name].support is not Support.ACCEPTED
    assert is_enforced or len(reasons(name)) == 1


def test_every_reason_is_for_something() -> None:
    idle = [name for name, known in BROKER_CONFIGS.items() if known.support is Support.ACCEPTED]
    assert {each for name in idle for each in reasons(name)} == set(WITHOUT_EFFECT)


OF_ASSERTIONS = "org.apache.kafka.common.security.oauthbearer.JwtBearerJwtRetriever"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sasl.client.callback.handler.class", "org.example.Mine"),
        ("sasl.login.class", "org.example.Mine"),
        ("listener.name.sasl_plaintext.plain.sasl.login.class", "org.example.Mine"),
        ("sasl.oauthbearer.jwt.retriever.class", OF_ASSERTIONS),
        ("security.providers", "org.example.Mine"),
    ],
)
def test_java_s_classes_are_refused(name: str, value: str) -> None:
    config = BrokerConfig(SASL_LISTENER | {name: value})
    with pytest.raises(ConfigError, match=re.escape(name)):
        Security(config, lambda: None)


def test_kafka_s_own_classes_are_taken() -> None:
    package = "org.apache.kafka.common.security"
    own = {
        "sasl.login.class": f"{package}.authenticator.DefaultLogin",
        "sasl.oauthbearer.jwt.retriever.class": f"{package}.oauthbearer.DefaultJwtRetriever",
    }
    Security(BrokerConfig(SASL_LISTENER | own), MetadataImage)
