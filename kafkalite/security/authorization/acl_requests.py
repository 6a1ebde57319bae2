"""Rules for requests about ACLs: what Kafka does not parse is for the handler, which closes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kafkalite.requests.slices import Steps, mapped
from kafkalite.security.acls import Operation, numbers_of_entry, numbers_of_filter
from kafkalite.security.authorization.rules import Asked, Rule, Verdict, cluster, handled


def _parsed(
    elements: Callable[[Any], list[Any]], numbers: Callable[[Any], tuple[int, ...]], rule: Rule
) -> Rule:
    def parsed(asked: Asked) -> Steps[Verdict]:
        unknown = yield from mapped(lambda each: 0 in numbers(each), elements(asked.request))
        return handled(asked) if any(unknown) else (yield from rule(asked))

    return parsed


describe_acls: Final = _parsed(
    lambda request: [request], numbers_of_filter, cluster(Operation.DESCRIBE)
)
create_acls: Final = _parsed(
    lambda request: request.creations, numbers_of_entry, cluster(Operation.ALTER)
)
delete_acls: Final = _parsed(
    lambda request: request.filters, numbers_of_filter, cluster(Operation.ALTER)
)
