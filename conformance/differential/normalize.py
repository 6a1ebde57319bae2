"""Answers made comparable: dicts and lists, with names instead of what no two brokers can share.

Only identities and clocks are named (ids, addresses, times); everything else stays as it is: error
texts, throttle times, the records, batch by batch.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any
from uuid import UUID

from conformance.differential.told_batches import only_ends_a_segment, told
from kafkalite.wire.errors import KafkaError, ProtocolViolation
from kafkalite.wire.messages import (
    api_versions,
    create_delegation_token,
    describe_delegation_token,
    describe_log_dirs,
    describe_quorum,
    fetch,
    list_groups,
    list_transactions,
)
from kafkalite.wire.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from kafkalite.wire.messages.stored import decode
from kafkalite.wire.record_batch import iterate_batches

CLOSED = "the connection was closed"
ZERO = UUID(int=0)
_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
MEMBER_ID = re.compile(rf"^.*-{_UUID}$|^[A-Za-z0-9_-]{{22}}$")
_IN_TEXT = re.compile(rf"[^\s,'\"()=]*{_UUID}|(?<![\w-])[A-Za-z0-9_-]{{22}}(?![\w-])")
_PRODUCER_IN_TEXT = re.compile(r"((?:producer ?id|pid)\W{0,3})(\d+)", re.IGNORECASE)
_CLOCK_IN_TEXT = re.compile(r"within \[-?\d+, -?\d+\]")
# RE2's own words here, those of its port to Java there.
_EXPRESSION_IN_TEXT = re.compile(r"(is not a valid regular expression: ).*")
_PORT_IN_TEXT = re.compile(r"(127\.0\.0\.1:)(\d+)")
# The Java object that Kafka shows, and the API's name.
_REQUEST_IN_TEXT = re.compile(r"^(Request ).*( needs )")
# mask, what it covers in an error's text, and what stands there instead
_IN_ERRORS = (
    ("ids", _PRODUCER_IN_TEXT, r"\1of a producer"),
    ("times", _CLOCK_IN_TEXT, "within some times"),
    ("words of RE2", _EXPRESSION_IN_TEXT, r"\1..."),
    ("addresses", _PORT_IN_TEXT, r"\1port"),
    ("requests as text", _REQUEST_IN_TEXT, r"\1...\2"),
)
# The quota by which the referee sees that a node has caught up.
OWN = "the referee's own"
# Names that stories and scripts give: `w17-`, and the fixtures' names.
_SOMEBODYS = re.compile(r"^(w[0-9a-z]+-|replayed-|recorded-|topic-|group-|id-topic)")
_NAMES = ("name", "topic", "topic_name", "group_id", "transactional_id", "user", "resource_name")

# Fields of SyncGroup and DescribeGroups that have the assignments of classic consumers.
_ASSIGNMENTS = frozenset({"assignment", "member_assignment"})
_TIMES = ("log_append_time_ms", "transaction_start_time_ms", "last_timestamp")
# Sizes of disks, where a metadata log of its own stands, and tokens.
_OPAQUE: dict[type[Any], frozenset[str]] = {
    describe_log_dirs.DescribeLogDirsResult: frozenset({"total_bytes", "usable_bytes"}),
    describe_quorum.PartitionData: frozenset({"high_watermark", "leader_epoch", "leader_id"}),
    describe_quorum.ReplicaState: frozenset(
        {"log_end_offset", "last_fetch_timestamp", "last_caught_up_timestamp"}
    ),
    create_delegation_token.CreateDelegationTokenResponse: frozenset(
        {"token_id", "hmac", "issue_timestamp_ms", "expiry_timestamp_ms", "max_timestamp_ms"}
    ),
    describe_delegation_token.DescribedDelegationToken: frozenset(
        {"token_id", "hmac", "issue_timestamp", "expiry_timestamp", "max_timestamp"}
    ),
}
_OPAQUE_MASKS: dict[type[Any], str] = {
    describe_log_dirs.DescribeLogDirsResult: "disk sizes",
    describe_quorum.PartitionData: "metadata offsets",
    describe_quorum.ReplicaState: "metadata offsets",
    create_delegation_token.CreateDelegationTokenResponse: "tokens",
    describe_delegation_token.DescribedDelegationToken: "tokens",
}
# Not those in sync: they stand in the order in which they caught up.
_ORDERED = frozenset({"replica_nodes", "replicas", "records"})
_KNOWN_BY = (
    *("name", "topic", "topic_name", "topic_id", "partition_index", "partition", "index"),
    *("node_id", "broker_id", "group_id", "member_id", "transactional_id", "user"),
    *("resource_type", "resource_name", "entity"),
)


class Names:
    """Names for one broker's ids and addresses. `masked` counts what is not compared."""

    def __init__(self, addresses: list[str], log_directory: str) -> None:
        self.addresses, self.log_directory = addresses, log_directory
        self.masked: Counter[str] = Counter()
        self.topic_ids: dict[UUID, str] = {}
        self.generated: dict[str, str] = {}
        # A story sees nothing of the others: only names that begin like this, if any is set.
        self.prefix = ""
        # Times of records after this are the broker's own.
        self.own_times_after_ms = 2**63 - 1

    def plain(self, value: Any, name: str = "", owner: type[Any] | None = None) -> Any:
        if value is None and name == "":
            return CLOSED
        if isinstance(value, fetch.FetchResponse):
            value = by_topic(value)
        if isinstance(value, api_versions.ApiVersionsResponse) and name == "":
            epoch = value.finalized_features_epoch
            if epoch > 0:
                self.mask("metadata offsets", "an epoch")
            value = dataclasses.replace(value, finalized_features_epoch=min(epoch, 0))
        if is_dataclass(value):
            class_ = type(value)
            return {
                each: self.plain(getattr(value, each), each, class_)
                for each in _field_names(class_)
            }
        if isinstance(value, list):
            self.meet(value)
            return [self.plain(item, name, owner) for item in value if not self.is_foreign(item)]
        if owner in _OPAQUE and name in _OPAQUE[owner]:
            is_there = value >= 0 if isinstance(value, int) else bool(value)
            return self.mask(_OPAQUE_MASKS[owner], "unlike") if is_there else value
        if isinstance(value, UUID):
            return self.topic_ids.get(value, "no id" if value == ZERO else "some id")
        if isinstance(value, bytes | memoryview):
            if name in _ASSIGNMENTS:
                return self.assignment(bytes(value))
            return self.records(bytes(value)) if name == "records" else bytes(value).hex()
        return self.named(name, value)

    def is_foreign(self, item: Any) -> bool:
        """True if another story or script has made it. Logs of coordinators count as foreign,
        too."""
        names = [getattr(part, "entity_name", None) for part in getattr(item, "entity", ())]
        if OWN in names:
            return True
        if not self.prefix:
            return False
        if isinstance(item, describe_log_dirs.DescribeLogDirsTopic) and item.name.startswith("__"):
            return True
        # Others' members and transactions end by the clock, so between the two answers, too.
        if isinstance(item, list_groups.ListedGroup):
            return not item.group_id.startswith(self.prefix)
        if isinstance(item, list_transactions.TransactionState):
            return not item.transactional_id.startswith(self.prefix)
        for each in _NAMES:
            value = getattr(item, each, None)
            if isinstance(value, str) and _SOMEBODYS.match(value):
                return not value.startswith(self.prefix)
        return bool(names) and not any(str(each).startswith(self.prefix) for each in names)

    def mask(self, name: str, shown: str, count: int = 1) -> str:
        """The stand-in of a value that is not compared, for the reason in accepted.py."""
        self.masked[name] += count
        return shown

    def named(self, name: str, value: Any) -> Any:
        """A number or a text, by the name of its field."""
        if isinstance(value, str):
            return self.text(name, value)
        if name == "port" and value > 0:
            known = [address.rpartition(":")[2] for address in self.addresses]
            return (
                f"port of node {known.index(str(value)) + 1}" if str(value) in known else "a port"
            )
        if name == "controller_id" and value > 0 and len(self.addresses) > 1:
            return self.mask("controller id", "a node")
        if name == "producer_id" and value >= 0:
            return self.mask("ids", "a producer id")
        if name == "session_id" and value > 0:
            return self.mask("ids", "a fetch session")
        if (name in _TIMES and value > 0) or (
            name == "timestamp" and value > self.own_times_after_ms
        ):
            return self.mask("times", "a time")
        return value

    def text(self, name: str, value: str) -> str:
        if name == "cluster_id":
            return self.mask("ids", "the cluster's id")
        if name in ("member_id", "leader") and MEMBER_ID.match(value):
            return self.mask("ids", self.member(value))
        if name in ("error_message", "batch_index_error_message"):
            return self.error_text(value)
        return value.replace(self.log_directory, "the log directory")

    def meet(self, items: list[Any]) -> None:
        """Name members whose ids were in no answer before, by what else is told of them.

        They come out of a hash table, and who waits for others to join has not been told an id.
        """
        unknown = {
            item.member_id: json.dumps(
                {
                    each: self.plain(getattr(item, each), each, type(item))
                    for each in _field_names(type(item))
                    if each != "member_id"
                },
                sort_keys=True,
                default=repr,
            )
            for item in items
            if MEMBER_ID.match(getattr(item, "member_id", None) or "")
            and item.member_id not in self.generated
        }
        for member_id in sorted(unknown, key=unknown.__getitem__):
            self.member(member_id)

    def member(self, value: str) -> str:
        return self.generated.setdefault(value, f"member {len(self.generated) + 1}")

    def error_text(self, value: str) -> str:
        """An error's words, with names instead of the ids in them."""
        value = value.replace(self.log_directory, "the log directory")
        value = _IN_TEXT.sub(self.id_in_text, value)
        for mask, pattern, shown in _IN_ERRORS:
            value, count = pattern.subn(shown, value)
            self.masked[mask] += count
        return value

    def id_in_text(self, found: re.Match[str]) -> str:
        word = found[0]
        if word in self.generated:
            return self.generated[word]
        for topic_id, name in self.topic_ids.items():
            if word == kafka_text(topic_id):
                return name
        return self.member(word) if MEMBER_ID.match(word) else word

    def assignment(self, data: bytes) -> Any:
        """The partitions of a classic consumer, if it is that: brokers make some, too."""
        try:
            told = decode(ConsumerProtocolAssignment, data)
        except ProtocolViolation:
            return data.hex()
        return {"version": data[:2].hex(), **self.plain(told, "assignment")}

    def records(self, data: bytes) -> list[Any]:
        """Batch by batch; the bytes of one that is cut short as they are."""
        found: list[Any] = []
        position = 0
        try:
            for batch in iterate_batches(data):
                if not only_ends_a_segment(batch):
                    found.append(told(batch, self.named))
                position += batch.size_bytes
        except KafkaError as error:
            found.append(str(error))
        if position < len(data):
            found.append(f"and {len(data) - position} bytes of a batch")
        return found


def by_topic(answer: fetch.FetchResponse) -> fetch.FetchResponse:
    """Each topic once: as partitions come in any order, a topic may come in several pieces."""
    topics: dict[Any, fetch.FetchableTopicResponse] = {}
    for each in answer.responses:
        known = topics.setdefault(
            (each.topic, each.topic_id),
            fetch.FetchableTopicResponse(topic=each.topic, topic_id=each.topic_id),
        )
        known.partitions += each.partitions
    return dataclasses.replace(answer, responses=list(topics.values()))


@cache
def _field_names(class_: type[Any]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(class_))


@cache
def kafka_text(topic_id: UUID) -> str:
    """An id as Kafka writes it: base64 for URLs, without the padding."""
    import base64

    return base64.urlsafe_b64encode(topic_id.bytes).decode().rstrip("=")


def in_one_order(value: Any, name: str = "") -> Any:
    """With its lists sorted: most come out of hash tables, and the protocol promises them no
    order."""
    if isinstance(value, dict):
        return {each: in_one_order(part, each) for each, part in value.items()}
    if not isinstance(value, list):
        return value
    found = [in_one_order(item, name) for item in value]
    if name in _ORDERED:
        return found
    return sorted(found, key=place)


def reordered(expected: Any, seen: Any, path: str) -> Iterator[str]:
    """The paths of lists that have the same items in another order; items by what they are known
    by."""
    if isinstance(expected, dict) and isinstance(seen, dict):
        for name in expected.keys() & seen.keys():
            yield from reordered(expected[name], seen[name], f"{path}.{name}")
    if not isinstance(expected, list) or not isinstance(seen, list):
        return
    ours, theirs = ([identity(item) for item in items] for items in (seen, expected))
    if ours != theirs and sorted(ours) == sorted(theirs):
        yield path
    pairs = zip(sorted(expected, key=place), sorted(seen, key=place), strict=False)
    for one, other in pairs:
        if identity(one) == identity(other):
            yield from reordered(one, other, f"{path}[]")


def identity(item: Any) -> str:
    """The name of an item of a list, or all of it where it has none."""
    known = [item[name] for name in _KNOWN_BY if name in item] if isinstance(item, dict) else []
    return json.dumps(known or item, sort_keys=True, default=repr)


def place(item: Any) -> tuple[str, str]:
    """The sort key of an item: its name, then all of it."""
    known = [item[name] for name in _KNOWN_BY if name in item] if isinstance(item, dict) else []
    return (
        json.dumps(known, default=repr),
        json.dumps(item, sort_keys=True, default=repr),
    )


def differences(expected: Any, seen: Any, path: str) -> list[str]:
    """A line for each leaf that differs."""
    if expected == seen:
        return []
    if isinstance(expected, dict) and isinstance(seen, dict):
        return [
            line
            for name in expected
            for line in differences(expected[name], seen.get(name), f"{path}.{name}")
        ]
    if isinstance(expected, list) and isinstance(seen, list):
        missing, unexpected = without(expected, seen), without(seen, expected)
        if missing and len(missing) == len(unexpected):
            return [
                line
                for index, pair in enumerate(zip(missing, unexpected, strict=True))
                for line in differences(*pair, f"{path}[{index}]")
            ]
        if missing or unexpected:  # else only the order is another
            expected, seen = missing, unexpected
    return [f"{path}:\n  - {expected!r}\n  + {seen!r}"]


def without(items: list[Any], others: list[Any]) -> list[Any]:
    """The items that are not among the others, each as often as it is there once more."""
    others = list(others)
    left = []
    for item in items:
        if item in others:
            others.remove(item)
        else:
            left.append(item)
    return left


def count_leaves(value: Any) -> int:
    if isinstance(value, dict):
        return sum(map(count_leaves, value.values()))
    if isinstance(value, list):
        return sum(map(count_leaves, value))
    return 1


def error_codes(answer: Any) -> set[int]:
    """All error codes anywhere in an answer."""
    if isinstance(answer, list):
        return set().union(*map(error_codes, answer)) if answer else set()
    found: set[int] = set()
    for name in getattr(type(answer), "__slots__", ()):
        value = getattr(answer, name)
        found |= {value} if name.endswith("error_code") else error_codes(value)
    return found
