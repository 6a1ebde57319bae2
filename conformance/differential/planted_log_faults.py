"""kafkalite with one fault planted in its cleaner, its producers' states or the ends of
transactions: `python -m conformance.differential.planted_log_faults NAME [FLAGS]`.

The stories of compaction, or those of ends, come upon each.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from conformance.differential.planted_faults import wrap
from kafkalite.__main__ import main


def around(owner: Any, name: str, change: Callable[[Any], Any]) -> None:
    """Put what `change` makes of a function in its place. Raises AttributeError if there is
    none."""
    setattr(owner, name, change(getattr(owner, name)))


def tombstones_go_early() -> None:
    """They go with the next round, and not after delete.retention.ms."""
    from kafkalite.log.compaction import Compaction

    around(
        Compaction,
        "_still_valid",
        lambda valid: (
            lambda self, records, batch, horizon_ms: valid(
                self, records, batch, None if horizon_ms is None else -1
            )
        ),
    )


def tombstones_stay() -> None:
    """They stay for good."""
    from kafkalite.log.compaction import Compaction

    around(
        Compaction,
        "_still_valid",
        lambda valid: lambda self, records, batch, horizon_ms: valid(self, records, batch, None),
    )


def aborted_records_stay() -> None:
    """The cleaner takes all transactions for committed ones."""
    from kafkalite.log.cleaned_transactions import CleanedTransactions

    wrap(CleanedTransactions, "batch_met", lambda is_aborted: False)


def open_transactions_are_cleaned() -> None:
    """Records are cleaned up to the active segment, whatever is undecided."""
    from kafkalite.log import cleaner

    def least(*given: Any) -> Any:
        return given[0][1] if isinstance(given[0], list) else min(*given)

    vars(cleaner)["min"] = least


def busy_producers_expire() -> None:
    """A producer is forgotten with its open transaction."""
    from kafkalite.log.producer_state import ProducerState

    def remove_expired(self: Any, now_ms: int, expiration_ms: int) -> Any:
        for producer_id, entry in list(self.producers.items()):
            if now_ms - entry.last_timestamp >= expiration_ms:
                del self.producers[producer_id]
        yield

    around(ProducerState, "remove_expired", lambda before: remove_expired)


def the_same_epoch_ends() -> None:
    """A marker of the second generation may have the epoch of its transaction."""
    from kafkalite.log.producer_state import ProducerState

    around(
        ProducerState,
        "check_marker",
        lambda check: (
            lambda self, batch, marker, offset, transaction_version=0: check(
                self, batch, marker, offset
            )
        ),
    )


def markers_leave_the_epoch() -> None:
    """A marker does not raise the epoch of its producer."""
    from kafkalite.log.producer_state import ProducerState

    def left(update: Any) -> Any:
        def update_marker(self: Any, batch: Any, marker: Any, offset: int) -> Any:
            known = self.producers.get(batch.producer_id)
            epoch = None if known is None else known.producer_epoch
            completed = update(self, batch, marker, offset)
            if epoch is not None:
                self.producers[batch.producer_id].producer_epoch = epoch
            return completed

        return update_marker

    around(ProducerState, "update_marker", left)


def anybody_recovers() -> None:
    """A client may recover with any producer id."""
    from kafkalite.coordinators.transaction_coordinator import coordinator, transaction

    for module in (coordinator, transaction):
        around(module, "check_expected", lambda check: lambda *given: None)


def administrators_end_no_offsets() -> None:
    """A marker of an administrator ends nothing for the group coordinator."""
    from kafkalite.apis import write_txn_markers

    class Deaf:
        def __init__(self, groups: Any) -> None:
            self.shards = groups.shards

        def transaction_ended(self, *given: Any, **named: Any) -> None:
            pass

    around(
        write_txn_markers,
        "MarkerWriter",
        lambda writer: lambda topics, groups, now_ms: writer(topics, Deaf(groups), now_ms),
    )


def repetitions_are_written() -> None:
    """A batch that is sent again is another one."""
    from kafkalite.log.producer_state import ProducerState

    around(ProducerState, "find_duplicate", lambda find: lambda self, batch: None)


CLEANER_FAULTS: dict[str, Callable[[], None]] = {
    "tombstones go early": tombstones_go_early,
    "tombstones stay": tombstones_stay,
    "aborted records stay": aborted_records_stay,
    "open transactions are cleaned": open_transactions_are_cleaned,
}
END_FAULTS: dict[str, Callable[[], None]] = {
    "busy producers expire": busy_producers_expire,
    "the same epoch ends": the_same_epoch_ends,
    "markers leave the epoch": markers_leave_the_epoch,
    "anybody recovers": anybody_recovers,
    "administrators end no offsets": administrators_end_no_offsets,
    "repetitions are written": repetitions_are_written,
}


if __name__ == "__main__":
    (CLEANER_FAULTS | END_FAULTS)[sys.argv[1]]()
    sys.exit(main(sys.argv[2:]))
