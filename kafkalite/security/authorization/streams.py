"""Rules for streams groups (KIP-1071): the topics of a topology."""

from __future__ import annotations

from kafkalite.requests.slices import Steps
from kafkalite.requests.topology_names import check_topic_names, topic_names
from kafkalite.security.acls import Operation, ResourceType
from kafkalite.security.authorization.rules import Asked, Verdict, handled, refused_whole
from kafkalite.wire.errors import ErrorCode, KafkaError


def heartbeat(asked: Asked) -> Steps[Verdict]:
    """READ on the group, DESCRIBE on every topic of the topology.

    The handler asks whether it may create those that are missing (RequestContext.may_create).
    """
    request = asked.request
    if not asked.access.may(Operation.READ, ResourceType.GROUP, request.group_id):
        return (yield from refused_whole(asked, ErrorCode.GROUP_AUTHORIZATION_FAILED))
    names = set[str]()
    if request.topology is not None:
        try:
            check_topic_names(request.topology)
        except KafkaError:
            return handled(asked)  # it is refused for that
        names.update(topic_names(request.topology))
    allowed = yield from asked.access.allowed(Operation.DESCRIBE, ResourceType.TOPIC, names)
    if len(allowed) < len(names):
        return (yield from refused_whole(asked, ErrorCode.TOPIC_AUTHORIZATION_FAILED))
    return handled(asked)
