"""A request that only a controller decides: it goes there as it came, and so does its answer."""

from __future__ import annotations

import logging
import threading
from types import SimpleNamespace
from typing import Any

import pytest
import trio

from kafkalite.apis import APIS
from kafkalite.requests.context import CloseConnection, RequestContext
from kafkalite.requests.principal import Principal
from kafkalite.requests.request_memory import RequestMemory
from kafkalite.server import forwarded as forwarded_module
from kafkalite.server.forwarded import forwarded
from kafkalite.server.gates import Gates
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.codec import decode_request, encode_response
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.message_codec import join
from kafkalite.wire.messages import alter_configs
from kafkalite.wire.messages.create_acls import CreateAclsRequest, CreateAclsResponse
from kafkalite.wire.messages.create_delegation_token import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from kafkalite.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from kafkalite.wire.messages.delete_acls import DeleteAclsRequest, DeleteAclsResponse
from kafkalite.wire.messages.expire_delegation_token import ExpireDelegationTokenRequest
from kafkalite.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from kafkalite.wire.messages.renew_delegation_token import RenewDelegationTokenRequest
from tests.kafkalite.server.one_dispatcher import OneDispatcher, one_dispatcher

BROKER_LOGGER, BROKER, TOPIC = 8, 4, 2
ALICE = Principal("User", "alice", token_authenticated=True)
BOB = Principal("User", "bob")


class Controller:
    """The active controller, as far as a broker hears of it."""

    def __init__(self, response: object, error: KafkaError | None = None) -> None:
        self.asked: list[tuple[bytes, dict[str, Any]]] = []
        self._response = response
        self._error = error

    async def forward(self, frame: bytes, client_host: str, **principal: Any) -> bytes:
        self.asked.append((frame, {"client_host": client_host, **principal}))
        if self._error is not None:
            raise self._error
        key, version = int.from_bytes(frame[:2]), int.from_bytes(frame[2:4])
        return join(encode_response(key, version, 0, self._response))[4:]


async def ask(
    asked: OneDispatcher,
    controller: Controller,
    request: Any,
    api_key: ApiKey,
    request_bytes: int = 0,
    principal: Principal = ALICE,
) -> Any:
    moved: list[bool] = []

    async def move_to_task() -> None:
        moved.append(True)

    api = APIS[api_key]
    handle = Gates().around(api, forwarded(controller.forward)(api))
    context = RequestContext(
        node_id=1,
        api_key=api_key,
        api_version=api.max_version,
        client_id="me",
        client_host="10.0.0.7",
        listener_name="PLAINTEXT",
        received_at=0.0,
        connection=SimpleNamespace(move_to_task=move_to_task),
    )
    context.principal = principal
    context.security_protocol = "SASL_PLAINTEXT"
    context.request_bytes = request_bytes
    vars(asked.services.cluster)["is_observed"] = True  # what a topic may have they look at
    response = await handle(asked.services, context, request)
    assert moved or not controller.asked, "only a task may wait for another node"
    return response


async def test_the_request_goes_as_it_came_and_says_whose_it_is() -> None:
    request = CreateTopicsRequest(
        topics=[CreatableTopic(name="t", num_partitions=3, replication_factor=1)], timeout_ms=500
    )
    answer = CreateTopicsResponse(topics=[CreatableTopicResult(name="t", num_partitions=3)])
    controller = Controller(answer)
    with one_dispatcher() as asked:
        response = await ask(asked, controller, request, ApiKey.CREATE_TOPICS)
        assert asked.services.topics.get("t") is None, "nothing is done here"
    assert response == answer
    ((frame, whose),) = controller.asked
    decoded = decode_request(frame)
    assert (decoded.api_key, decoded.client_id, decoded.body) == (
        ApiKey.CREATE_TOPICS,
        "me",
        request,
    )
    assert whose == {
        "client_host": "10.0.0.7",
        "principal_type": "User",
        "principal_name": "alice",
        "token_authenticated": True,
    }


def test_all_that_the_controllers_of_apache_kafka_decide_goes_to_them() -> None:
    """KafkaApis.forwardToController; without the raft, which has none here to be asked for."""
    decided = {each.key for each in APIS.values() if each.forwarded}
    assert decided == {
        *(ApiKey.CREATE_TOPICS, ApiKey.DELETE_TOPICS, ApiKey.CREATE_PARTITIONS),
        *(ApiKey.CREATE_ACLS, ApiKey.DELETE_ACLS, ApiKey.ELECT_LEADERS),
        *(ApiKey.ALTER_PARTITION_REASSIGNMENTS, ApiKey.LIST_PARTITION_REASSIGNMENTS),
        *(ApiKey.ALTER_CLIENT_QUOTAS, ApiKey.ALTER_USER_SCRAM_CREDENTIALS),
        *(ApiKey.UPDATE_FEATURES, ApiKey.UNREGISTER_BROKER, ApiKey.DESCRIBE_QUORUM),
        *(ApiKey.ADD_RAFT_VOTER, ApiKey.REMOVE_RAFT_VOTER),
        *(ApiKey.ALTER_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS),
        *(ApiKey.CREATE_DELEGATION_TOKEN, ApiKey.RENEW_DELEGATION_TOKEN),
        ApiKey.EXPIRE_DELEGATION_TOKEN,
    }


@pytest.mark.parametrize(
    ("api_key", "request_body"),
    [
        (ApiKey.CREATE_DELEGATION_TOKEN, CreateDelegationTokenRequest()),
        (ApiKey.RENEW_DELEGATION_TOKEN, RenewDelegationTokenRequest()),
        (ApiKey.EXPIRE_DELEGATION_TOKEN, ExpireDelegationTokenRequest()),
    ],
)
async def test_only_a_broker_knows_who_may_ask_for_tokens(
    api_key: ApiKey, request_body: object
) -> None:
    """A controller is asked on a connection of the broker's."""
    controller = Controller(None)
    with one_dispatcher() as asked:
        response = await ask(asked, controller, request_body, api_key)
    assert response.error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    assert response.expiry_timestamp_ms == -1
    assert controller.asked == []


async def test_renewers_are_users_before_a_controller_is_asked() -> None:
    group = CreatableRenewers(principal_type="Group", principal_name="g")
    request = CreateDelegationTokenRequest(renewers=[group])
    controller = Controller(None)
    with one_dispatcher() as asked:
        api_key = ApiKey.CREATE_DELEGATION_TOKEN
        response = await ask(asked, controller, request, api_key, principal=BOB)
    assert response.error_code == ErrorCode.INVALID_PRINCIPAL_TYPE
    assert (response.max_timestamp_ms, controller.asked) == (-1, [])


@pytest.mark.parametrize(
    ("api_key", "request_body", "answer"),
    [
        (
            ApiKey.CREATE_DELEGATION_TOKEN,
            CreateDelegationTokenRequest(),
            CreateDelegationTokenResponse(token_id="t"),
        ),
        (ApiKey.CREATE_ACLS, CreateAclsRequest(), CreateAclsResponse()),
        (ApiKey.DELETE_ACLS, DeleteAclsRequest(), DeleteAclsResponse()),
    ],
)
async def test_acls_and_tokens_are_the_controllers(
    api_key: ApiKey, request_body: object, answer: object
) -> None:
    controller = Controller(answer)
    with one_dispatcher() as asked:
        assert await ask(asked, controller, request_body, api_key, principal=BOB) == answer
    assert len(controller.asked) == 1


@pytest.mark.parametrize("code", [ErrorCode.REQUEST_TIMED_OUT, ErrorCode.UNKNOWN_SERVER_ERROR])
async def test_without_an_answer_each_element_is_refused(code: ErrorCode) -> None:
    controller = Controller(None, KafkaError(code))
    request = CreateTopicsRequest(topics=[CreatableTopic(name="one"), CreatableTopic(name="two")])
    with one_dispatcher() as asked:
        response = await ask(asked, controller, request, ApiKey.CREATE_TOPICS)
    refused = [(each.name, each.error_code, each.error_message) for each in response.topics]
    assert refused == [("one", code, None), ("two", code, None)]


async def test_a_version_that_the_controller_does_not_know_closes_the_connection() -> None:
    """The client connects again, and learns which versions there are."""
    controller = Controller(None, KafkaError(ErrorCode.UNSUPPORTED_VERSION))
    request = CreateTopicsRequest(topics=[])
    refused = pytest.raises(CloseConnection, match="does not know CREATE_TOPICS version 7")
    with one_dispatcher() as asked, refused:
        await ask(asked, controller, request, ApiKey.CREATE_TOPICS)


def legacy_configs_of(*resources: Any) -> alter_configs.AlterConfigsRequest:
    return alter_configs.AlterConfigsRequest(
        resources=[
            alter_configs.AlterConfigsResource(
                resource_type=kind,
                resource_name=name,
                configs=[alter_configs.AlterableConfig(name=key, value=value)],
            )
            for kind, name, key, value in resources
        ]
    )


def legacy_answered(*resources: tuple[int, str, str, str]) -> alter_configs.AlterConfigsResponse:
    return alter_configs.AlterConfigsResponse(
        responses=[
            alter_configs.AlterConfigsResourceResponse(resource_type=kind, resource_name=name)
            for kind, name, _, _ in resources
        ]
    )


def configs_of(*resources: Any) -> IncrementalAlterConfigsRequest:
    return IncrementalAlterConfigsRequest(
        resources=[
            AlterConfigsResource(
                resource_type=kind,
                resource_name=name,
                configs=[AlterableConfig(name=key, config_operation=0, value=value)],
            )
            for kind, name, key, value in resources
        ]
    )


LEVEL = (BROKER_LOGGER, "1", "kafkalite.tests.forwarded", "INFO")
DYNAMIC = (BROKER, "1", "log.cleaner.threads", "2")
OF_ANOTHER = (BROKER, "2", "log.cleaner.threads", "2")
EVERYWHERE = (BROKER, "", "log.cleaner.threads", "2")
OF_TOPIC = (TOPIC, "t", "retention.ms", "1")
OTHER_TOPIC = (TOPIC, "u", "retention.ms", "1")


async def test_levels_of_loggers_are_set_here() -> None:
    logging.getLogger("kafkalite.tests.forwarded")
    controller = Controller(IncrementalAlterConfigsResponse())
    with one_dispatcher() as asked:
        response = await ask(asked, controller, configs_of(LEVEL), ApiKey.INCREMENTAL_ALTER_CONFIGS)
    assert controller.asked == []
    assert [(each.resource_type, each.error_code) for each in response.responses] == [
        (BROKER_LOGGER, 0)
    ]


def answered(*resources: tuple[int, str, str, str]) -> IncrementalAlterConfigsResponse:
    """The controllers', which have done it."""
    return IncrementalAlterConfigsResponse(
        responses=[
            AlterConfigsResourceResponse(resource_type=kind, resource_name=name)
            for kind, name, _, _ in resources
        ]
    )


@pytest.mark.parametrize("resources", [[], [DYNAMIC], [EVERYWHERE, OF_TOPIC]])
async def test_other_configs_are_forwarded(resources: list[tuple[int, str, str, str]]) -> None:
    controller = Controller(answered(*resources))
    with one_dispatcher() as asked:
        request = configs_of(*resources)
        response = await ask(asked, controller, request, ApiKey.INCREMENTAL_ALTER_CONFIGS)
    assert response == answered(*resources)
    ((frame, _),) = controller.asked
    assert decode_request(frame).body == request


async def test_each_part_goes_where_it_belongs() -> None:
    """A refusal of this broker is not sent on. The answers are in the order of the request."""
    logging.getLogger(LEVEL[2])
    controller = Controller(answered(OF_TOPIC, DYNAMIC))
    with one_dispatcher() as asked:
        request = configs_of(OF_ANOTHER, DYNAMIC, LEVEL, OF_TOPIC)
        response = await ask(asked, controller, request, ApiKey.INCREMENTAL_ALTER_CONFIGS)
    assert [(each.resource_name, each.error_code) for each in response.responses] == [
        ("2", ErrorCode.INVALID_REQUEST),
        ("1", 0),
        ("1", 0),
        ("t", 0),
    ]
    told = response.responses[0].error_message
    assert told == "Unexpected broker id, expected 1, but received 2"
    assert logging.getLogger(LEVEL[2]).level == logging.INFO
    ((frame, _),) = controller.asked
    assert decode_request(frame).body == configs_of(DYNAMIC, OF_TOPIC)


MALFORMED = [
    ([(99, "x", "y", "1")], "Unknown resource type 99"),
    ([(TOPIC, "t", "retention.ms", None)], "Null value not supported for : retention.ms"),
    ([OF_TOPIC, OF_TOPIC], "Each resource must appear at most once."),
]


@pytest.mark.parametrize(("resources", "message"), MALFORMED)
@pytest.mark.parametrize("api_key", [ApiKey.ALTER_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS])
async def test_malformed_changes_are_refused_here_and_the_others_go_on(
    resources: Any, message: str, api_key: ApiKey
) -> None:
    """ConfigAdminManager.preprocess looks at all, whoever decides."""
    controller = Controller(answered(OTHER_TOPIC))
    request: Any = configs_of(*resources, OTHER_TOPIC)
    if api_key is ApiKey.ALTER_CONFIGS:
        controller = Controller(legacy_answered(OTHER_TOPIC))
        request = legacy_configs_of(*resources, OTHER_TOPIC)
    with one_dispatcher() as asked:
        response = await ask(asked, controller, request, api_key)
    *refused, done = response.responses
    assert {(each.error_code, each.error_message) for each in refused} == {
        (ErrorCode.INVALID_REQUEST, message)
    }
    assert done.error_code == 0
    ((frame, _),) = controller.asked
    assert [each.resource_type for each in decode_request(frame).body.resources] == [TOPIC]


async def test_configs_of_another_broker_are_refused_here() -> None:
    controller = Controller(None)
    with one_dispatcher() as asked:
        request = configs_of(OF_ANOTHER)
        response = await ask(asked, controller, request, ApiKey.INCREMENTAL_ALTER_CONFIGS)
    assert [each.error_code for each in response.responses] == [ErrorCode.INVALID_REQUEST]
    assert controller.asked == []


@pytest.mark.parametrize(("count", "is_elsewhere"), [(1, False), (5_000, True)])
async def test_what_takes_long_to_write_and_read_is_done_in_a_thread(
    monkeypatch: pytest.MonkeyPatch, count: int, is_elsewhere: bool
) -> None:
    threads: dict[str, bool] = {}

    def noted(name: str) -> None:
        whole = getattr(forwarded_module, name)

        def work(*arguments: Any) -> Any:
            threads[name] = threading.current_thread() is not threading.main_thread()
            return whole(*arguments)

        monkeypatch.setattr(forwarded_module, name, work)

    noted("encode_request")
    noted("decode_response")
    names = [f"topic-{number}" for number in range(count)]
    request = CreateTopicsRequest(topics=[CreatableTopic(name=each) for each in names])
    answer = CreateTopicsResponse(topics=[CreatableTopicResult(name=each) for each in names])
    controller = Controller(answer)
    with one_dispatcher() as asked:
        found = await ask(asked, controller, request, ApiKey.CREATE_TOPICS, 10 * count)
    assert [each.name for each in found.topics] == names
    (frame, _), *_ = controller.asked
    assert [each.name for each in decode_request(frame).body.topics] == names
    assert threads == {"encode_request": is_elsewhere, "decode_response": is_elsewhere}


async def test_a_huge_request_keeps_no_other_waiting_while_the_controllers_are() -> None:
    memory = RequestMemory(10)
    request = CreateTopicsRequest(topics=[CreatableTopic(name="t")])
    others: list[bool] = []

    class Slow(Controller):
        async def forward(self, frame: bytes, client_host: str, **principal: Any) -> bytes:
            with trio.move_on_after(1):
                async with memory.taken(10):
                    others.append(True)
            return await super().forward(frame, client_host, **principal)

    with one_dispatcher() as asked:
        async with memory.taken(10):
            controller = Slow(CreateTopicsResponse(topics=[CreatableTopicResult(name="t")]))
            await ask(asked, controller, request, ApiKey.CREATE_TOPICS)
    assert others
