"""Single configs have their effect: each is set to another value than its default, and a client
sees the difference.

Configs that are behind others are in test_enforced.py, those of followers in
test_replication_effects.py.
"""

from __future__ import annotations

import http.client
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

from kafkalite.config import BrokerConfig
from kafkalite.requests.topic_names import METADATA_TOPIC, SHARE_STATE_TOPIC
from kafkalite.testing import broker as test_broker
from kafkalite.wire.compression import Compression, compress
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.api_versions import ApiVersionsRequest
from kafkalite.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafkalite.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from kafkalite.wire.record_batch import iterate_batches, iterate_records
from tests.kafkalite.apis import share_group, share_state, streams_member
from tests.kafkalite.apis.test_get_telemetry_subscriptions import get
from tests.kafkalite.apis.test_push_telemetry import Pusher
from tests.kafkalite.config_requests import GROUP, SET, alter, resource
from tests.kafkalite.delegation_tokens import HOUR_MS, WITH_TOKENS, create, users_with_tokens
from tests.kafkalite.fetching import fetch
from tests.kafkalite.few_partitions import FEW_PARTITIONS
from tests.kafkalite.group_requests import find
from tests.kafkalite.scraping import scrape
from tests.kafkalite.transactional import NONE, Transactional


def logs_in(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir() if path.is_dir()}


@pytest.mark.parametrize("name", ["log.dir", "log.dirs"])
async def test_the_logs_are_where_one_says(tmp_path: Path, name: str) -> None:
    async with test_broker({name: str(tmp_path)}) as broker:
        broker.create_topic("t", 1)
        assert logs_in(tmp_path) >= {"t-0", f"{METADATA_TOPIC}-0"}
        assert broker.data_dir == tmp_path
    assert BrokerConfig.from_sources(flags={name: "/a"}).log_dirs == ("/a",)


def test_log_dirs_counts_before_log_dir() -> None:
    assert BrokerConfig({"log.dir": "/a", "log.dirs": "/b,/c"}).log_dirs == ("/b", "/c")


async def test_ids_come_from_the_seed() -> None:
    """Two brokers with one seed give a topic the same id."""

    async def id_of_a_topic(seed: int | None) -> str:
        config = {} if seed is None else {"kafkalite.seed": seed}
        async with test_broker(config) as broker:
            return str((await broker.asynchronous.create_topic("t")).topic_id)

    seen = [await id_of_a_topic(seed) for seed in (7, 7, 8, None, None)]
    assert seen[0] == seen[1]
    assert len(set(seen)) == 4


async def test_metrics_have_a_host_of_their_own() -> None:
    config = {"kafkalite.metrics.port": 0, "kafkalite.metrics.host": "127.0.0.3"}
    async with test_broker(config) as broker:
        assert str(broker.metrics_url).startswith("http://127.0.0.3:")
        assert await trio.to_thread.run_sync(scrape, broker)


async def test_the_control_port_is_called_by_its_names() -> None:
    config = {"kafkalite.control.port": 0, "kafkalite.control.hosts": "kafka.example"}

    def status(url: str, host: str) -> int:
        connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=10)
        connection.request("GET", "/v1/openapi.json", headers={"Host": host})
        found = connection.getresponse().status
        connection.close()
        return found

    async with test_broker(config) as broker:
        assert broker._control is not None
        ask = partial(trio.to_thread.run_sync, status, broker._control.address["url"])
        assert [await ask(each) for each in ("kafka.example", "localhost")] == [200, 200]
        assert await ask("other.example") == http.client.MISDIRECTED_REQUEST


@pytest.mark.parametrize("slots", [0, 7, 8, 17])
async def test_so_many_fetch_sessions_are_kept(connect: Any, slots: int) -> None:
    async with test_broker({"max.incremental.fetch.session.cache.slots": str(slots)}) as broker:
        broker.create_topic("words", 1)
        client = await connect(broker)
        made = [
            (await client.ask(fetch({0: 0}, session_epoch=0), 12)).session_id != 0
            for _ in range(20)
        ]
        # Each of eight parts has an eighth, and no session in two.
        assert made == [number < slots // 8 * 8 for number in range(20)]


async def test_a_request_is_no_larger_than_allowed(connect: Any) -> None:
    async with test_broker({"socket.request.max.bytes": "1000"}) as broker:
        request = ApiVersionsRequest(client_software_name="", client_software_version="1")
        for size, is_taken in ((900, True), (1000, False)):
            client = await connect(broker)
            request.client_software_name = "x" * size
            await client.send(request, 3)
            if is_taken:
                assert (await client.answer()).error_code == NONE
            else:
                assert await client.is_closed()


async def test_telemetry_is_no_larger_than_allowed(connect: Any) -> None:
    config = {"telemetry.max.bytes": "100", "kafkalite.client.telemetry": "true"}
    async with test_broker(config) as broker:
        client = await connect(broker)
        assert (await get(client)).telemetry_max_bytes == 100
        pusher = Pusher(client)
        await pusher.begin()
        assert await pusher.push(bytes(101)) == ErrorCode.TELEMETRY_TOO_LARGE
        folded = compress(Compression.GZIP, bytes(101))
        code = await pusher.push(folded, compression_type=Compression.GZIP, terminating=True)
        assert code == ErrorCode.INVALID_RECORD


async def test_delegation_tokens_live_as_long_as_they_may() -> None:
    configs = {
        **WITH_TOKENS,
        "delegation.token.expiry.time.ms": str(HOUR_MS),
        "delegation.token.max.lifetime.ms": str(2 * HOUR_MS),
    }
    async with users_with_tokens(configs) as users:
        made = await create(await users.user("alice"))
        issued_ms = made.issue_timestamp_ms
        assert made.expiry_timestamp_ms - issued_ms == HOUR_MS
        assert made.max_timestamp_ms - issued_ms == 2 * HOUR_MS


async def test_an_idle_transactional_id_is_forgotten(connect: Any) -> None:
    config = {
        **FEW_PARTITIONS,
        "transactional.id.expiration.ms": "3600000",
        "transaction.remove.expired.transaction.cleanup.interval.ms": "1000",
    }
    async with test_broker(config) as broker:
        writer = Transactional(await connect(broker))
        await writer.find_coordinators()
        assert await writer.init() is NONE
        await broker.asynchronous.clock.advance("59m")
        assert await writer.state() == "Empty"
        await broker.asynchronous.clock.advance("2m")
        state = "Empty"
        with trio.fail_after(10):
            while state == "Empty":
                state = await writer.state()
        assert state == "TRANSACTIONAL_ID_NOT_FOUND"


# -- groups


def joining(**fields: Any) -> ConsumerGroupHeartbeatRequest:
    return ConsumerGroupHeartbeatRequest(
        **{
            "group_id": "group",
            "member_id": "member",
            "member_epoch": 0,
            "rebalance_timeout_ms": 9_000,
            "subscribed_topic_names": ["words"],
            "topic_partitions": [],
            **fields,
        }
    )


async def joined(connect: Any, config: dict[str, str], **fields: Any) -> Any:
    async with test_broker({**FEW_PARTITIONS, **config}) as broker:
        client = await connect(broker)
        await find(client)
        return await client.ask(joining(**fields))


@pytest.mark.parametrize(
    ("assignors", "code"),
    [
        ("range", ErrorCode.UNSUPPORTED_ASSIGNOR),
        ("range,uniform", NONE),
        ("range,org.apache.kafka.coordinator.group.assignor.UniformAssignor", NONE),
    ],
)
async def test_only_the_assignors_that_are_named(
    connect: Any, assignors: str, code: ErrorCode
) -> None:
    configs = {"group.consumer.assignors": assignors}
    answer = await joined(connect, configs, server_assignor="uniform")
    assert answer.error_code == code


@pytest.mark.parametrize(
    ("protocols", "code"), [("classic", ErrorCode.UNSUPPORTED_VERSION), ("consumer", NONE)]
)
async def test_only_the_protocols_that_are_named(
    connect: Any, protocols: str, code: ErrorCode
) -> None:
    answer = await joined(connect, {"group.coordinator.rebalance.protocols": protocols})
    assert answer.error_code == code


def count_of(answer: Any) -> int:
    topics = answer.assignment.topic_partitions if answer.assignment else []
    return sum(len(topic.partitions) for topic in topics)


def joining_any(family: str) -> Any:
    match family:
        case "share":
            return ShareGroupHeartbeatRequest("group", "member", subscribed_topic_names=["words"])
        case "streams":
            return streams_member.joining(group_id="group", member_id="member")
        case _:
            return joining()


# Written out: test_marks.py looks for the names.
SESSIONS = {
    "consumer": {
        "group.consumer.min.session.timeout.ms": "1000",
        "group.consumer.session.timeout.ms": "7000",
        "group.consumer.heartbeat.interval.ms": "6000",
    },
    "share": {
        "group.share.min.session.timeout.ms": "1000",
        "group.share.session.timeout.ms": "7000",
        "group.share.heartbeat.interval.ms": "6000",
    },
    "streams": {
        "group.streams.min.session.timeout.ms": "1000",
        "group.streams.session.timeout.ms": "7000",
        "group.streams.heartbeat.interval.ms": "6000",
    },
}


@pytest.mark.parametrize("family", SESSIONS)
async def test_a_member_is_gone_after_its_session(connect: Any, family: str) -> None:
    config = SESSIONS[family]
    async with test_broker({**FEW_PARTITIONS, **config}) as broker:
        client = await connect(broker)
        await find(client)
        clock = broker.asynchronous.clock
        async with clock.frozen():  # to the millisecond; the default is 45 s
            answer = await client.ask(joining_any(family))
            assert (answer.error_code, answer.heartbeat_interval_ms) == (NONE, 6000)
            assert (await clock.advance("6999ms", members="expire")).expired_members == []
            gone = await clock.advance("1ms", members="expire")
            assert gone.expired_members == ["member"]


@pytest.mark.parametrize(("interval_ms", "count"), [("0", 2), ("15000", 0)])
async def test_a_consumer_group_s_own_interval_between_assignments(
    connect: Any, interval_ms: str, count: int
) -> None:
    """The partitions that the first member left wait for the next assignment."""
    async with test_broker(FEW_PARTITIONS) as broker:
        broker.create_topic("words", 2)
        client = await connect(broker)
        await find(client)
        change = resource(GROUP, "group", ("consumer.assignment.interval.ms", SET, interval_ms))
        assert await alter(client, change) == [(NONE, None)]
        assert count_of(await client.ask(joining(member_id="first"))) == 2
        await client.ask(joining(member_id="first", member_epoch=-1))
        assert count_of(await client.ask(joining(member_id="second"))) == count


@pytest.mark.parametrize(("interval_ms", "count"), [("0", 2), ("15000", 0)])
async def test_a_share_group_s_own_interval_between_assignments(
    connect: Any, interval_ms: str, count: int
) -> None:
    async with test_broker(FEW_PARTITIONS) as broker:
        broker.create_topic("t", 2)
        client = await connect(broker)
        change = resource(
            GROUP, share_group.GROUP, ("share.assignment.interval.ms", SET, interval_ms)
        )
        assert await alter(client, change) == [(NONE, None)]
        # With an interval, the partitions that have their first states now wait for it.
        answer = await share_group.beat(client, "first", 0, "t")
        with trio.move_on_after(10 if count else 0.5):
            while not count_of(answer):
                await trio.sleep(0.02)
                answer = await share_group.beat(client, "first", answer.member_epoch)
        assert count_of(answer) == count


@pytest.mark.parametrize(("most", "kinds"), [("2", "SUUSU"), ("0", "SSSSS"), ("500", "SUUUU")])
async def test_so_many_updates_come_before_a_snapshot_of_a_share_state(
    connect: Any, most: str, kinds: str
) -> None:
    config = {**FEW_PARTITIONS, "share.coordinator.snapshot.update.records.per.snapshot": most}
    async with test_broker(config) as broker:
        client = await connect(broker)
        broker.create_topic("t", 1)
        topic_id = broker.topic_id("t")
        await share_state.find_coordinator(client, topic_id)
        await share_state.initialize(client, topic_id)
        for number in range(1, 5):
            written = await share_state.write(client, topic_id, start_offset=number)
            assert written.error_code == NONE
        files = broker.data_dir.glob(f"{SHARE_STATE_TOPIC}-*/*.log")
        data = b"".join(path.read_bytes() for path in files)
    keys = [record.key for batch in iterate_batches(data) for record in iterate_records(batch)]
    assert "".join("SU"[int.from_bytes((key or b"")[:2])] for key in keys) == kinds


# -- segments of the metadata


def metadata_segments(broker: test_broker) -> int:
    return len(list(broker.data_dir.glob(f"{METADATA_TOPIC}-0/*.log")))


@pytest.mark.parametrize(
    ("config", "advanced", "count"),
    [
        ({"internal.metadata.log.segment.bytes": "500"}, "0s", 2),
        ({"metadata.log.segment.ms": "3600000"}, "2h", 2),
        ({"metadata.log.segment.ms": "3600000"}, "0s", 1),
        ({}, "2h", 1),
    ],
)
async def test_segments_of_the_metadata(config: dict[str, str], advanced: str, count: int) -> None:
    config |= {"metadata.log.max.snapshot.interval.ms": "0"}
    async with test_broker(config) as broker:
        broker.create_topic("a", 1)
        await broker.asynchronous.clock.advance(advanced)
        broker.create_topic("b", 1)
        assert metadata_segments(broker) >= count
        assert count > 1 or metadata_segments(broker) == 1


@pytest.mark.slow
@pytest.mark.holds_the_loop  # by megabytes of a config
@pytest.mark.parametrize(("size", "count"), [("8388608", 2), ("16777216", 1)])
async def test_a_full_segment_of_the_metadata(size: str, count: int) -> None:
    """Two configs of 32 kB, of many topics: 9 MB."""
    replicas = ",".join(["0:1"] * 8000)
    names = (f"{side}.replication.throttled.replicas" for side in ("leader", "follower"))
    configs = dict.fromkeys(names, replicas)
    async with test_broker({"metadata.log.segment.bytes": size}) as broker:
        for number in range(150):
            broker.create_topic(f"t{number}", 1, configs=configs)
        assert metadata_segments(broker) == count
