"""Settings of the transaction coordinator."""

from msgspec import Struct


class TransactionConfig(Struct, frozen=True):
    """The broker's configs about transactions, under their names."""

    transaction_max_timeout_ms: int
    transactional_id_expiration_ms: int
    transaction_abort_timed_out_transaction_cleanup_interval_ms: int
    transaction_remove_expired_transaction_cleanup_interval_ms: int
