"""The cluster's metadata: an image in memory, and the log of Kafka's own records it is made from."""
