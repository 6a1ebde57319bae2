"""What both brokers have before the first story: the internal topics, and their coordinators."""

from __future__ import annotations

from conformance.differential.pair import Pair
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.describe_groups import DescribeGroupsRequest
from kafkalite.wire.messages.describe_transactions import DescribeTransactionsRequest
from kafkalite.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkalite.wire.messages.init_producer_id import InitProducerIdRequest

# There is such an id, or there is none.
LOADED = {0, 105}
MANY = [f"group-{number}" for number in range(50)]


def prepare(pair: Pair) -> None:
    """Make the internal topics, and wait for the coordinator of every partition of them."""
    for side in pair.sides:
        for key_type in (0, 1):
            find = FindCoordinatorRequest(key_type=key_type, coordinator_keys=MANY)
            side.until_no_error(ApiKey.FIND_COORDINATOR, 6, find)
        side.until_no_error(ApiKey.DESCRIBE_GROUPS, 5, DescribeGroupsRequest(groups=MANY))
        described = DescribeTransactionsRequest(transactional_ids=MANY)
        side.until(
            ApiKey.DESCRIBE_TRANSACTIONS,
            0,
            described,
            lambda answer: {s.error_code for s in answer.transaction_states} <= LOADED,
        )
        # its first producer id comes a little later
        producer = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1)
        side.until_no_error(ApiKey.INIT_PRODUCER_ID, 4, producer)
