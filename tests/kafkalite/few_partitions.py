"""Internal topics with few partitions: a test's groups and transactions are few, and 50 logs take
longer to make than most tests take."""

FEW_PARTITIONS = {
    "offsets.topic.num.partitions": 3,
    "transaction.state.log.num.partitions": 3,
    "share.coordinator.state.topic.num.partitions": 3,
}
