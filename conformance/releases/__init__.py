"""The APIs and features of each release of Apache Kafka, found out by its own classes."""
