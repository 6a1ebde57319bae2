"""The metadata: an image in memory, the log of Kafka's records behind it, and decisions on them."""
