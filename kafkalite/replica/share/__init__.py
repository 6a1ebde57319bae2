"""Share partitions: a leader's record of what each share group does with a partition (KIP-932)."""
