"""The table of verbs: one row each, whose path, request and function agree."""

from __future__ import annotations

import re

import msgspec
import pytest

from kafkalite.control.answers import TopicView
from kafkalite.control.paging import Page
from kafkalite.control.problems import Problem
from kafkalite.control.verbs import VERBS, Verb, run_in
from kafkalite.testing import broker as test_broker
from tests.each import for_each


def test_no_two_verbs_have_one_route() -> None:
    routes = [(verb.method, re.sub(r"{\w+}", "{}", verb.path)) for verb in VERBS.values()]
    assert len(set(routes)) == len(routes)


@for_each(VERBS.values())
def test_a_row_agrees_with_its_function(verb: Verb) -> None:
    first = verb.doc.partition("\n\n")[0]
    assert first.endswith(".")
    fields = {each.encode_name for each in msgspec.structs.fields(verb.request)}
    in_path = set(verb.in_path)
    assert in_path - {"cluster"} <= fields
    assert verb.is_of_cluster <= ("cluster" in in_path)
    assert verb.has_body == (verb.method in {"POST", "PUT"})
    if verb.method == "GET":
        nested = [each for each in msgspec.structs.fields(verb.request) if _is_struct(each.type)]
        assert nested == []  # a query has no structs


def _is_struct(type_: object) -> bool:
    return isinstance(type_, type) and issubclass(type_, msgspec.Struct)


async def test_a_verb_is_run_in_one_cluster(broker: test_broker) -> None:
    """Arguments of a fault's action, as JSON has them: text for numbers too."""
    clusters = broker._clusters
    assert clusters is not None
    made = await run_in(clusters, "default", "topics.create", {"topic": "t", "partitions": "3"})
    assert isinstance(made, TopicView)
    assert len(made.partitions) == 3
    with pytest.raises(Problem, match="no topic 'none'"):
        await run_in(clusters, "default", "topics.delete", {"topic": "none"})
    with pytest.raises(Problem, match=r"topics\.delete does not take this") as caught:
        await run_in(clusters, "default", "topics.delete", {"name": "t"})
    assert caught.value.code == "invalid_fault"


async def test_a_verb_is_given_what_it_names(broker: test_broker) -> None:
    clusters = broker._clusters
    assert clusters is not None
    (shown,) = await VERBS["clusters.list"].run(clusters, "none", Page())
    assert shown.name == "default"
    assert await VERBS["topics.list"].run(clusters, "default", Page()) == []
    with pytest.raises(Problem, match="no cluster 'none'"):
        await VERBS["topics.list"].run(clusters, "none", Page())
