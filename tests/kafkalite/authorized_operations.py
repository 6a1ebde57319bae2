"""The sets of operations that Kafka 4.3 answers without an authorizer (AclOperation, as bits)."""

NO_OPERATIONS = -0x80000000
TOPIC_OPERATIONS = 3576
CLUSTER_OPERATIONS = 8096
GROUP_OPERATIONS = 3400
