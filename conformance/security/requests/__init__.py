"""Requests of every API that a client may send, about resources of which there are two kinds:
`open-*`, which ACLs may allow, and `shut-*`, which they never do.
"""

from __future__ import annotations

from conformance.security.requests.access import access
from conformance.security.requests.brokers import brokers
from conformance.security.requests.cluster import cluster
from conformance.security.requests.groups import groups
from conformance.security.requests.records import records
from conformance.security.requests.share import share
from conformance.security.requests.streams import streams
from conformance.security.requests.topics import topics
from conformance.security.requests.transactions import transactions
from conformance.security.requests.vocabulary import Requests, TopicIds


def requests(ids: TopicIds) -> Requests:
    """By name: a request, and its version; None is the highest."""
    made: Requests = {}
    for family in (topics, records, groups, share, streams, transactions, cluster, brokers, access):
        made |= family(ids)
    return made
