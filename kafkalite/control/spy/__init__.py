"""The spy: requests as they came and were answered, and what changed in the cluster, and why."""
