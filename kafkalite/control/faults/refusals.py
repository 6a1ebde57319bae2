"""Refusals that rules ask for: of a whole request, or of each of its partitions by itself."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from kafkalite.requests.mirrors import MIRRORS, Mirror, mirror_of
from kafkalite.requests.refusals import refuse_in_steps, refused
from kafkalite.requests.slices import at_once, mapped_in_steps
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.api_messages import response_class
from kafkalite.wire.errors import ERROR_FIELDS, ErrorCode
from kafkalite.wire.schema import fields_of

# An answer's fields that say it is about a topic.
_TOPICS: Final = frozenset({"name", "topic", "topic_name", "topic_id"})


def refusal(
    api_key: ApiKey, version: int, request: Any, code: ErrorCode, message: str | None = None
) -> Any:
    """The answer to a request that says this error; None for a Produce that wants no answer."""
    if api_key is ApiKey.API_VERSIONS and code is ErrorCode.UNSUPPORTED_VERSION:
        from kafkalite.apis.api_versions import unsupported_version

        return unsupported_version()
    return at_once(refuse_in_steps(api_key, version, request, code, message, insists=True))


def partition_refusal(
    api_key: ApiKey, version: int, request: Any, code: ErrorCode, message: str | None = None
) -> Any:
    """The answer that refuses each partition by itself, and says no error of the whole.

    None where the API's answer has no errors of partitions.
    """
    if not has_partition_errors(api_key):
        return None
    response = response_class(api_key)()
    mirror = mirror_of(api_key, request)
    assert mirror is not None
    answers = mapped_in_steps(
        lambda each: refused(api_key, mirror, each, code, message, version=version, innermost=True),
        getattr(request, mirror.asked) or (),
    )
    setattr(response, mirror.answered, at_once(answers))
    return response


def partition_lists(api_key: ApiKey) -> tuple[tuple[str, str], ...]:
    """The lists of the answer and of the request under which an API's partitions lie."""
    return tuple((each.answered, each.asked) for each in MIRRORS.get(api_key, ()))


@cache
def has_partition_errors(api_key: ApiKey) -> bool:
    """Tells whether single partitions, or topics, of a request of this API can be refused."""
    response = response_class(api_key)
    return any(_has_errors(response, mirror) for mirror in MIRRORS.get(api_key, ()))


def _has_errors(class_: type[Any], mirror: Mirror, *, of_topics: bool = False) -> bool:
    element: Any = next(each.element for each in fields_of(class_) if each.name == mirror.answered)
    of_topics = of_topics or not _TOPICS.isdisjoint(mirror.taken)
    if mirror.inner is not None:
        return _has_errors(element, mirror.inner, of_topics=of_topics)
    return of_topics and any(each.name in ERROR_FIELDS for each in fields_of(element))
