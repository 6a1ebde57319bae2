"""Spark's connector with SASL, TLS and delegation tokens."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from conformance.security.pair import (
    MODULES,
    SECURITY,
    Client,
    Secured,
    SecuredKafka,
    SecuredKafkalite,
    logged_in,
)
from conformance.security.ways import Way, ways
from conformance.spark.client import eventually
from conformance.spark.reading import numbers
from kafkalite.wire.messages.create_acls import AclCreation, CreateAclsRequest
from kafkalite.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafkalite.wire.messages.describe_delegation_token import DescribeDelegationTokenRequest
from kafkalite.wire.messages.expire_delegation_token import ExpireDelegationTokenRequest

LOGIN_MODULES = {
    "PLAIN": f"{MODULES}.plain.PlainLoginModule",
    "SCRAM-SHA-256": f"{MODULES}.scram.ScramLoginModule",
    "SCRAM-SHA-512": f"{MODULES}.scram.ScramLoginModule",
    "OAUTHBEARER": f"{MODULES}.oauthbearer.OAuthBearerLoginModule",
}
# Java's client looks at a token before it sends it, so what is wrong with one is not the broker's.
WAYS = [
    "SSL",
    *(
        f"SASL_{tls} {mechanism}{refused}"
        for mechanism in LOGIN_MODULES
        for tls in ("PLAINTEXT", "SSL")
        for refused in ("", " refused")
        if not (mechanism == "OAUTHBEARER" and refused)
    ),
]
CLUSTER = "spark.kafka.clusters.secured."
TOPIC, PREFIXED, LITERAL, READ, ALLOW = 2, 4, 3, 3, 3


@pytest.fixture(scope="module")
def secured(
    spark: SparkSession, pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Secured]:
    kind = SecuredKafka if pytestconfig.getoption("--broker") == "kafka" else SecuredKafkalite
    started = kind(tmp_path_factory.mktemp("secured-for-spark"), SECURITY)
    yield started
    # Producers that were refused would go on trying.
    jvm: Any = spark._jvm
    pool = getattr(jvm.org.apache.spark.sql.kafka010.producer, "InternalKafkaProducerPool$")
    getattr(pool, "MODULE$").reset()
    started.stop()


@pytest.fixture(scope="module")
def every_way(secured: Secured) -> dict[str, Way]:
    return {way.name: way for way in ways(secured)}


def jaas(mechanism: str, user: str, password: str) -> str:
    if mechanism == "OAUTHBEARER":
        return f'{LOGIN_MODULES[mechanism]} required unsecuredLoginStringClaim_sub="{user}";'
    return f'{LOGIN_MODULES[mechanism]} required username="{user}" password="{password}";'


def options(way: Way) -> dict[str, str]:
    """The connector's options without what is logged in with."""
    chosen = {
        "kafka.bootstrap.servers": way.bootstrap,
        "kafka.security.protocol": way.protocol,
    }
    if way.authority:
        chosen["kafka.ssl.truststore.type"] = "PEM"
        chosen["kafka.ssl.truststore.certificates"] = way.authority
    return chosen


def login(mechanism: str, user: str, password: str) -> dict[str, str]:
    return {
        "kafka.sasl.mechanism": mechanism,
        "kafka.sasl.jaas.config": jaas(mechanism, user, password),
    }


def write(spark: SparkSession, topic: str, chosen: dict[str, str]) -> None:
    frame = spark.range(0, 20, 1, 2).selectExpr("cast(id AS string) AS value")
    frame.write.format("kafka").options(**chosen).option("topic", topic).save()


def read(spark: SparkSession, topic: str, chosen: dict[str, str]) -> list[int]:
    return numbers(spark.read.format("kafka").options(**chosen).option("subscribe", topic).load())


def create(secured: Secured, topic: str) -> None:
    with Client(secured.address("PLAINTEXT")) as client:
        made = CreatableTopic(name=topic, num_partitions=1, replication_factor=1)
        answer = client.ask(CreateTopicsRequest(topics=[made], timeout_ms=10_000))
        assert [each.error_code for each in answer.topics] == [0]


@pytest.mark.parametrize("name", WAYS)
def test_every_way_in(
    spark: SparkSession, secured: Secured, every_way: dict[str, Way], name: str
) -> None:
    way = every_way[name]
    create(secured, way.topic)
    chosen = options(way)
    if way.mechanism:
        chosen |= login(way.mechanism, way.user, way.password)
    if way.refused:
        with pytest.raises(Py4JJavaError, match="SaslAuthenticationException"):
            write(spark, way.topic, chosen)
        with pytest.raises(Py4JJavaError, match="SaslAuthenticationException"):
            read(spark, way.topic, chosen)
        return
    write(spark, way.topic, chosen)
    assert read(spark, way.topic, chosen) == [*range(20)]


def test_what_a_user_may_not(
    spark: SparkSession, secured: Secured, every_way: dict[str, Way], topic: str
) -> None:
    """alice reads what others wrote, and writes nothing."""
    create(secured, topic)
    way = every_way["SASL_PLAINTEXT PLAIN"]
    write(spark, topic, options(way) | login("PLAIN", "root", "r"))
    as_alice = options(way) | login("PLAIN", "alice", "a")
    with pytest.raises(Py4JJavaError, match="TopicAuthorizationException"):
        read(spark, topic, as_alice)
    with Client(secured.address("PLAINTEXT")) as client:
        acls = [AclCreation(TOPIC, topic, LITERAL, "User:alice", "*", READ, ALLOW)]
        # Spark's groups have names of its own.
        acls.append(AclCreation(3, "spark-kafka-", PREFIXED, "User:alice", "*", READ, ALLOW))
        answer = client.ask(CreateAclsRequest(creations=acls))
        assert [each.error_code for each in answer.results] == [0, 0]
    assert read(spark, topic, as_alice) == [*range(20)]
    with pytest.raises(Py4JJavaError, match="ClusterAuthorizationException"):
        write(spark, topic, as_alice)


class TokenProvider:
    """Spark's KafkaDelegationTokenProvider.

    Schedulers call it on YARN and Kubernetes alone, and for users of Kerberos: here we do. What it
    obtains belongs to the user whom this JVM runs as, and so to the tasks of `local[2]`.
    """

    def __init__(self, spark: SparkSession) -> None:
        jvm: Any = spark._jvm
        self._spark = jvm.org.apache.spark
        self._security = jvm.org.apache.hadoop.security
        self._conf = self._spark.SparkEnv.get().conf()
        self._hadoop = spark.sparkContext._jsc.hadoopConfiguration()
        self._names: list[str] = []

    def obtain(self, way: Way, mechanism: str) -> bytes:
        """Have root's token used for a listener, by logins with a mechanism; its HMAC."""
        own = options(way) | login(way.mechanism, way.user, way.password)
        told = {
            "auth.bootstrap.servers": own.pop("kafka.bootstrap.servers"),
            "target.bootstrap.servers.regex": way.bootstrap,
            "security.protocol": own.pop("kafka.security.protocol"),
            "sasl.token.mechanism": mechanism,
            **own,
        }
        for name, value in told.items():
            self._conf.set(CLUSTER + name, value)
            self._names.append(CLUSTER + name)
        credentials = self._security.Credentials()
        provider = self._spark.kafka010.KafkaDelegationTokenProvider()
        provider.obtainDelegationTokens(self._hadoop, self._conf, credentials)
        token = credentials.getAllTokens().iterator().next()
        self._security.UserGroupInformation.getCurrentUser().addCredentials(credentials)
        return base64.b64decode(token.getPassword())

    def forget(self) -> None:
        """Without its configs a token is an error."""
        self._security.UserGroupInformation.loginUserFromSubject(None)
        for name in self._names:
            self._conf.remove(name)


@pytest.fixture
def token_provider(spark: SparkSession) -> Iterator[TokenProvider]:
    made = TokenProvider(spark)
    yield made
    made.forget()


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "SASL_SSL"])
def test_the_provider_of_delegation_tokens(
    spark: SparkSession,
    secured: Secured,
    every_way: dict[str, Way],
    token_provider: TokenProvider,
    topic: str,
    protocol: str,
    mechanism: str,
) -> None:
    """The options name no user: tasks log in by the token, until it is no more."""
    way = every_way[f"{protocol} PLAIN"]
    create(secured, topic)
    hmac = token_provider.obtain(way, mechanism)
    with logged_in(secured.address(), "root") as client:
        eventually(lambda: tokens(client) == [("root", hmac)])
        write(spark, topic, options(way))
        assert read(spark, topic, options(way)) == [*range(20)]
        answer = client.ask(ExpireDelegationTokenRequest(hmac=hmac, expiry_time_period_ms=-1))
        assert answer.error_code == 0
        eventually(lambda: tokens(client) == [])
    with pytest.raises(Py4JJavaError, match="SaslAuthenticationException"):
        read(spark, topic, options(way))


def tokens(client: Client) -> list[tuple[str, bytes]]:
    """The owners and HMACs of the tokens that a broker knows."""
    answer = client.ask(DescribeDelegationTokenRequest(owners=None))
    return [(each.principal_name, each.hmac) for each in answer.tokens]
