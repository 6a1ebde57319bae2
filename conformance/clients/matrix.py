"""Clients, their versions, and the task of each.

A version stands here when its package index has it for this Python, Node, Java or Go. The steps are
those that the client has at all: `lacks` and `also` say what it has less or more than most.
"""

from dataclasses import dataclass

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
PRODUCE = tuple(f"produce {codec}" for codec in CODECS)
STEPS = (*PRODUCE, "group", "transactions")


@dataclass(frozen=True)
class Client:
    """One version of one client."""

    name: str
    version: str
    program: str  # in programs/
    packages: tuple[str, ...]  # as its package index spells them
    lacks: tuple[str, ...] = ()
    also: tuple[str, ...] = ()

    @property
    def steps(self) -> tuple[str, ...]:
        """The steps it is asked to do, in order."""
        steps = SPARK_STEPS if self.program == "spark.py" else STEPS
        return tuple(step for step in (*steps, *self.also) if step not in self.lacks)

    @property
    def is_go(self) -> bool:
        """Tells whether its program is compiled by Go."""
        return self.program.endswith(".go")

    def __str__(self) -> str:
        return f"{self.name}-{self.version}"


def kafka_python(version: str, *lacks: str) -> Client:
    packages = (f"kafka-python=={version}", "lz4>=4", "python-snappy>=0.7", "zstandard>=0.23")
    return Client("kafka-python", version, "kafka_python.py", packages, lacks)


def aiokafka(version: str, *also: str) -> Client:
    packages = (f"aiokafka=={version}", "cramjam>=2.9", "lz4>=4", "python-snappy>=0.7", *also)
    return Client("aiokafka", version, "aiokafka_client.py", packages)


def confluent(version: str) -> Client:
    return Client("confluent-kafka", version, "confluent.py", (f"confluent-kafka=={version}",))


def java(version: str) -> Client:
    packages = (f"org.apache.kafka:kafka-clients:{version}", "org.slf4j:slf4j-nop:1.7.36")
    return Client("kafka-clients", version, "Smoke.java", packages)


def go(name: str, version: str, module: str, program: str, also: tuple[str, ...] = ()) -> Client:
    return Client(name, version, program, (f"{module}@v{version}",), also=also)


SPARK_STEPS = ("sink", "batch", "stream")


def spark(version: str, scala: str, token_provider: str, clients: str, pool: str) -> Client:
    """PySpark, its connector, and the jars that the connector needs beyond PySpark's own."""
    group = "org.apache.spark:spark"
    jars = (
        f"{group}-sql-kafka-0-10_{scala}:{version}",
        f"{group}-token-provider-kafka-0-10_{scala}:{token_provider}",
        f"org.apache.kafka:kafka-clients:{clients}",
        f"org.apache.commons:commons-pool2:{pool}",
    )
    return Client("pyspark", version, "spark.py", (f"pyspark=={version}", *jars))


CLIENTS = (
    kafka_python("1.4.7", "produce zstd", "transactions"),
    kafka_python("2.0.2", "transactions"),
    kafka_python("2.2.21"),
    kafka_python("3.0.12"),
    aiokafka("0.8.1", "kafka-python==2.0.2"),
    aiokafka("0.10.0"),
    aiokafka("0.14.0"),
    confluent("2.3.0"),
    confluent("2.8.2"),
    confluent("2.16.1"),
    # librdkafka 1.9 is no longer on PyPI for today's Pythons; the Go client brings the same library
    go(
        "confluent-kafka-go", "1.9.2", "github.com/confluentinc/confluent-kafka-go", "librdkafka.go"
    ),
    go("franz-go", "1.22.2", "github.com/twmb/franz-go", "franz.go", ("share",)),
    Client(
        "kafkajs",
        "2.2.4",
        "kafkajs.js",
        ("kafkajs@2.2.4",),
        # KafkaJS has them only through packages of other people
        ("produce snappy", "produce lz4", "produce zstd"),
    ),
    java("2.1.1"),
    java("2.8.2"),
    java("3.9.1"),
    java("4.3.1"),
    java("4.4.0"),
)

SPARKS = (
    spark("3.5.7", "2.12", "3.5.7", "3.4.1", "2.11.1"),
    spark("4.0.0", "2.13", "4.0.0", "3.9.0", "2.12.0"),
    # Maven Central has the 4.2 connector's token provider, which only secured clusters use, as
    # 4.0.0
    spark("4.2.0", "2.13", "4.0.0", "3.9.2", "2.13.1"),
)
