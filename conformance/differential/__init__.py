"""The same questions to Apache Kafka and to kafkalite, and every field of the answers compared."""
