"""Releases of Apache Kafka: the table, and a broker that looks like one of them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
import trio

from kafkalite.apis import APIS, apis_of
from kafkalite.cluster.features import BOOTSTRAP_FEATURES
from kafkalite.config import BrokerConfig, ConfigError
from kafkalite.config.definition import BROKER_CONFIGS
from kafkalite.config.releases import releases
from kafkalite.testing import broker
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.metadata import MetadataRequest
from tests.kafkalite.control.clients import produced
from tests.kafkalite.frames import GOOD

# Listed where client telemetry is on.
OPTIONAL = {ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, ApiKey.PUSH_TELEMETRY}


def test_the_newest_release_is_the_one_we_serve() -> None:
    """Every API that is served, with the highest version that Apache Kafka has as stable."""
    newest = releases()["4.3"]
    for key, api in APIS.items():
        assert newest.apis[key][1] == api.max_version, api.key.name
    # The level of kraft.version is not in the metadata: our voters are fixed.
    assert newest.features == {**BOOTSTRAP_FEATURES, "kraft.version": 1}


def test_versions_only_grow() -> None:
    for before, after in pairwise(releases().values()):
        for key, (_, highest) in before.apis.items():
            if key in after.apis:
                assert after.apis[key][1] >= highest, (after.name, key)
        for feature, level in before.features.items():
            assert after.features[feature] >= level


def test_the_config_has_the_releases_of_the_table() -> None:
    for name in releases():
        config = BrokerConfig({"kafkalite.as.version": name})
        assert config.release is releases()[name]
    assert BrokerConfig({}).release is None
    assert "kafkalite.as.version" in BROKER_CONFIGS
    with pytest.raises(ConfigError, match=r"kafkalite.as.version"):
        BrokerConfig({"kafkalite.as.version": "1.0"})


@pytest.mark.parametrize("name", releases())
def test_what_is_served_is_what_both_have(name: str) -> None:
    release = releases()[name]
    served = apis_of(release)
    for key, api in served.items():
        assert APIS[key].min_version <= api.min_version <= api.max_version
        assert api.max_version <= min(release.apis[key][1], APIS[key].max_version)
    for key in APIS.keys() - served.keys():
        assert key not in release.apis or release.apis[key][1] < APIS[key].min_version


@pytest.mark.parametrize("name", ["2.8", "3.9", "4.0", "4.3"])
async def test_a_broker_answers_as_that_release(name: str, connect: Any) -> None:
    release = releases()[name]
    async with broker({"kafkalite.as.version": name}) as b:
        client = await connect(b)
        said = await client.ask(GOOD, 3)
    found = {each.api_key: each.max_version for each in said.api_keys}
    served = {key: api.max_version for key, api in apis_of(release).items()}
    assert found == {key: each for key, each in served.items() if key not in OPTIONAL}
    finalized = {each.name: each.max_version_level for each in said.finalized_features}
    assert finalized.items() <= dict(release.features).items()
    assert ("transaction.version" in finalized) == (name >= "4.0")
    assert ("group.version" in finalized) == (name >= "4.0")


async def test_what_an_older_release_does_not_have_is_refused(connect: Any) -> None:
    async with broker({"kafkalite.as.version": "3.9"}) as b:
        client = await connect(b)
        assert (await client.ask(MetadataRequest(topics=[]), 12)).brokers
        closed = trio.Event()
        b._running.connections.ended = lambda _: closed.set()
        await client.send(MetadataRequest(topics=[]), 13)
        with trio.fail_after(30):
            await closed.wait()


@pytest.mark.parametrize("name", ["3.9", "4.0"])
def test_clients_work_with_it(name: str) -> None:
    with broker({"kafkalite.as.version": name}, profile="test") as k:
        k.create_topic("t")
        k.spy()
        assert produced(k) == [None]
        assert len(k.records("t")) == 1
        highest = apis_of(releases()[name])[ApiKey.PRODUCE].max_version
        assert all(each.version <= highest for each in k.requests("Produce"))
