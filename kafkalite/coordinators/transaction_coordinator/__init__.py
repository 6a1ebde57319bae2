"""Transactions: what producers write to several partitions, seen whole or not at all (KIP-98,
KIP-890).

Read `transaction.py` (what a transaction is and may become), `end.py` (how one ends),
`state_log.py` (how it survives), `markers.py` (how partitions are told), `coordinator.py` (all of
it together).
"""
