"""Share partitions: what the leader of a partition keeps for each share group that reads it
(KIP-932)."""
