"""Queues, whatever is killed: accepted is never delivered again (`make queue-proof`)."""
