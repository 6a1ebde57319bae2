"""Strategies for requests: derived from the declared messages and the vocabulary."""

from __future__ import annotations

from dataclasses import dataclass, is_dataclass
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from conformance.differential.generated_requests import other_groups
from conformance.differential.generated_requests.consumer_protocol import PROTOCOLS
from conformance.differential.generated_requests.values_by_api import BY_API
from conformance.differential.generated_requests.vocabulary import (
    DESCRIBED,
    ENTITIES,
    FIELDS,
    IDENTITY,
    JOINERS,
    MAY_REPEAT,
    NEVER_EMPTY,
    OFTEN_NULL,
    ONE_AT_MOST,
    RESOURCES,
    TOPIC_CONFIGS,
    often,
)
from kafkalite.apis import APIS
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.api_messages import request_class
from kafkalite.wire.fields import FieldType
from kafkalite.wire.schema import UNKNOWN, Field, Shape, fields_of, message_of


@dataclass(frozen=True)
class Step:
    """One request of a story."""

    api: ApiKey
    version: int
    body: Any

    def __repr__(self) -> str:
        return f"{self.api.name} v{self.version} {shown(self.body)}"


def shown(value: Any) -> str:
    """A message without what is at its default."""
    if isinstance(value, list):
        return "[" + ", ".join(map(shown, value)) + "]"
    names = getattr(type(value), "__wire_fields__", None)
    if names is None:
        return repr(value)
    default = type(value)()
    parts = [
        f"{field.name}={shown(getattr(value, field.name))}"
        for field in names
        if getattr(value, field.name) != getattr(default, field.name)
    ]
    return f"({', '.join(parts)})"


# Stories ask often for their subjects; the rest must be met, too.
WEIGHTS: dict[ApiKey, int] = {
    ApiKey.PRODUCE: 14,
    ApiKey.FETCH: 10,
    ApiKey.LIST_OFFSETS: 4,
    ApiKey.METADATA: 4,
    ApiKey.OFFSET_COMMIT: 6,
    ApiKey.OFFSET_FETCH: 6,
    ApiKey.JOIN_GROUP: 8,
    ApiKey.SYNC_GROUP: 6,
    ApiKey.HEARTBEAT: 4,
    ApiKey.LEAVE_GROUP: 3,
    ApiKey.CONSUMER_GROUP_HEARTBEAT: 8,
    ApiKey.STREAMS_GROUP_HEARTBEAT: 2,
    ApiKey.INIT_PRODUCER_ID: 5,
    ApiKey.ADD_PARTITIONS_TO_TXN: 5,
    ApiKey.ADD_OFFSETS_TO_TXN: 3,
    ApiKey.TXN_OFFSET_COMMIT: 4,
    ApiKey.END_TXN: 5,
    ApiKey.CREATE_TOPICS: 2,
    ApiKey.DELETE_TOPICS: 1,
    ApiKey.DELETE_RECORDS: 3,
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: 2,
    ApiKey.INITIALIZE_SHARE_GROUP_STATE: 2,
    ApiKey.READ_SHARE_GROUP_STATE: 2,
    ApiKey.WRITE_SHARE_GROUP_STATE: 3,
    ApiKey.GET_TELEMETRY_SUBSCRIPTIONS: 2,
    ApiKey.PUSH_TELEMETRY: 3,
}
RARELY = 1
# Tagged fields that no broker knows yet.
FROM_LATER_CLIENTS = often((), ((9999, b"later"),), times=80)
TOPIC = 2
BROKER = 4
LIST_OPERATIONS = {2, 3}
STATIC_MEMBERS_SINCE = 5


def steps() -> SearchStrategy[Step]:
    """Any request of any API in any version that is served and has a vocabulary."""
    weighted = [
        api
        for api in APIS.values()
        if api.key not in NOT_GENERATED
        for _ in range(WEIGHTS.get(api.key, RARELY))
    ]
    return st.sampled_from(weighted).flatmap(
        lambda api: st.integers(api.min_version, api.max_version).flatmap(
            lambda version: step(api.key, version)
        )
    )


# Members of queues have stories of their own, of requests in an order that time and chance cannot
# change (queue_stories.py). ACLs, tokens and SASL need brokers that have them
# (conformance/security/).
NOT_GENERATED = frozenset(
    {
        ApiKey.CREATE_ACLS,
        ApiKey.DELETE_ACLS,
        ApiKey.DESCRIBE_ACLS,
        ApiKey.CREATE_DELEGATION_TOKEN,
        ApiKey.DESCRIBE_DELEGATION_TOKEN,
        ApiKey.EXPIRE_DELEGATION_TOKEN,
        ApiKey.RENEW_DELEGATION_TOKEN,
        ApiKey.SASL_AUTHENTICATE,
        ApiKey.SASL_HANDSHAKE,
        ApiKey.SHARE_FETCH,
        ApiKey.SHARE_ACKNOWLEDGE,
    }
)


def joining(body: Any, joiner: tuple[Any, str | None], version: int) -> Any:
    """A member that joins, and its instance. Where there are no static members, it joins as a new
    one."""
    body.member_id, instance_id = joiner
    if version >= STATIC_MEMBERS_SINCE:
        body.group_instance_id = instance_id
    elif instance_id is not None:
        body.member_id = ""
    return body


def reading(body: Any) -> Any:
    """An epoch only of a member that says who it is: of null Apache Kafka's map makes an error
    (-1)."""
    for group in body.groups:
        if group.member_id is None:
            group.member_epoch = -1
    return body


_made: dict[Any, SearchStrategy[Any]] = {}


def step(api: ApiKey, version: int) -> SearchStrategy[Step]:
    if (api, version) not in _made:
        bodies = other_groups.REQUESTS.get(api)
        if bodies is None:
            bodies = messages(api, request_class(api), version)
        if api is ApiKey.JOIN_GROUP:
            bodies = st.builds(joining, bodies, JOINERS, st.just(version))
        elif api is ApiKey.OFFSET_FETCH:
            bodies = bodies.map(reading)
        _made[api, version] = bodies.map(lambda body: Step(api, version, body))
    return _made[api, version]


def messages(api: ApiKey, class_: type[Any], version: int) -> SearchStrategy[Any]:
    """Instances of a struct of this API: what the version does not have is at its default."""
    key = (api, class_, version)
    if key not in _made:
        present = {
            field.name: values_of(api, field, version)
            for field in fields_of(class_)
            if field.is_in(version)
        }
        if message_of(request_class(api)).is_flexible(version):
            present[UNKNOWN] = FROM_LATER_CLIENTS
        _made[key] = st.fixed_dictionaries(present).map(lambda drawn: class_(**drawn))
    return _made[key]


def values_of(api: ApiKey, field: Field, version: int) -> SearchStrategy[Any]:
    if field.name == "protocols":
        made: Any = field.element
        return PROTOCOLS.map(lambda pairs: [made(name=n, metadata=data) for n, data in pairs])
    if field.name == "entity":
        part: Any = field.element
        return ENTITIES.map(lambda pairs: [part(entity_type=t, entity_name=n) for t, n in pairs])
    own = BY_API.get(api, {}) | other_groups.BY_API.get(api, {})
    is_array = field.shape is Shape.ARRAY
    name = f"{field.name}[]" if is_array else field.name
    if field.tag is not None:
        return st.builds(field.make_default)
    values = own.get(name, FIELDS.get(name))
    if not isinstance(field.element, FieldType):
        values = structs(api, field, version)
    elif values is None:
        raise LookupError(f"{api.name}.{name}: the vocabulary has nothing for it")
    elif not is_array:
        if field.element.name == "string" and not field.nullable_in(version):
            values = values.map(lambda value: "" if value is None else value)
        elif name == "records" and version < 0:
            values = values.filter(lambda value: value is not None)
        return values
    if is_array:
        of_field = api, field.name
        values = lists(
            values,
            may_repeat=api in MAY_REPEAT,
            least=int(of_field in NEVER_EMPTY),
            most=1 if of_field in ONE_AT_MOST else 3,
        )
    if field.nullable_in(version):
        nulls = 5 if field.name in OFTEN_NULL else 1
        choice = [values] * 6 + [st.none()] * nulls
        values = st.sampled_from(choice).flatmap(lambda chosen: chosen)
    return values


def lists(
    values: SearchStrategy[Any], *, may_repeat: bool = False, least: int = 0, most: int = 3
) -> SearchStrategy[list[Any]]:
    """Mostly one of them."""
    sizes = st.sampled_from([min(size, most) for size in (1, 1, 1, 1, 2, 2, 3, least)])
    found = sizes.flatmap(lambda size: st.lists(values, min_size=size, max_size=size))
    if may_repeat:
        return found
    return found.map(lambda items: list({identity(item): item for item in items}.values()))


def identity(item: Any) -> Any:
    """The name of an item of a list, or the item itself if it has none."""
    known = tuple(getattr(item, name) for name in IDENTITY if hasattr(item, name))
    if hasattr(item, "entity"):
        return tuple(map(identity, item.entity))
    return known or (repr(item) if is_dataclass(item) else item)


def structs(api: ApiKey, field: Field, version: int) -> SearchStrategy[Any]:
    """Structs, with those values that belong together drawn together."""
    assert not isinstance(field.element, FieldType)
    class_ = field.element
    if field.name == "resources":
        return resources(api, class_, version)
    if field.name == "state_batches":
        return other_groups.STATE_BATCHES
    if field.name == "configs":  # of CreateTopics
        return st.builds(lambda pair: class_(name=pair[0], value=pair[1]), TOPIC_CONFIGS)
    return messages(api, class_, version)


def resources(api: ApiKey, class_: type[Any], version: int) -> SearchStrategy[Any]:
    """A resource with a name and configs that go with its type."""
    if api is ApiKey.DESCRIBE_CONFIGS:
        field = next(f for f in fields_of(class_) if f.name == "configuration_keys")
        keys = values_of(api, field, version)
        return st.sampled_from(DESCRIBED).flatmap(
            lambda described: st.builds(
                class_,
                resource_type=st.just(described[0]),
                resource_name=described[1],
                # not all of a broker's: what a server was started with is its own
                configuration_keys=keys.filter(bool) if described[0] == BROKER else keys,
            )
        )
    configs = next(f for f in fields_of(class_) if f.name == "configs")
    assert not isinstance(configs.element, FieldType)
    config_class: Any = configs.element
    if api is ApiKey.INCREMENTAL_ALTER_CONFIGS:
        operations = BY_API[api]["config_operation"]
    else:
        operations = st.none()

    def config(pair: tuple[str, str | None], operation: int | None) -> Any:
        options = {} if operation is None else {"config_operation": operation}
        return config_class(name=pair[0], value=pair[1], **options)

    return st.sampled_from(RESOURCES).flatmap(
        lambda resource: st.builds(
            class_,
            resource_type=st.just(resource[0]),
            resource_name=resource[1],
            configs=lists(
                st.builds(config, resource[2], operations), most=3 if resource[0] == TOPIC else 1
            ).map(one_list_changed),
        )
    )


def one_list_changed(configs: list[Any]) -> list[Any]:
    """If several changed configs are no lists, Kafka names the first of its hash table."""
    changed = [each for each in configs if getattr(each, "config_operation", 0) in LIST_OPERATIONS]
    return [each for each in configs if each not in changed[1:]]
