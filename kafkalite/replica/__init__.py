"""Partitions, their logs, and reads from them: Kafka's ReplicaManager."""
