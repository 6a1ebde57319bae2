"""audit: whether a data directory, kafkalite's or Apache Kafka's, is what a broker must have
written.

Batches, records, producers, transactions, indexes, snapshots and checkpoints are held against each
other; a table of what can be found is in `findings.py`. Nothing is written to the directory.
"""
