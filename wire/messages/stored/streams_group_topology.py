"""StreamsGroupTopology (record type 23 of __consumer_offsets), version 0, flexible since 0.

The topology of a streams group: subtopologies and their topics (KIP-1071).
"""

from kafkalite.wire.fields import int16, int32, string
from kafkalite.wire.schema import array, field, record_key, record_value, struct


@record_key(23)
class StreamsGroupTopologyKey:
    group_id: str = field(string)


@struct
class TopicConfig:
    key: str = field(string)
    value: str = field(string)


@struct
class TopicInfo:
    name: str = field(string)
    partitions: int = field(int32)
    replication_factor: int = field(int16)
    topic_configs: list[TopicConfig] = array(TopicConfig)


@struct
class CopartitionGroup:
    source_topics: list[int] = array(int16)
    source_topic_regex: list[int] = array(int16)
    repartition_source_topics: list[int] = array(int16)


@struct
class Subtopology:
    subtopology_id: str = field(string)
    source_topics: list[str] = array(string)
    source_topic_regex: list[str] = array(string)
    state_changelog_topics: list[TopicInfo] = array(TopicInfo)
    repartition_sink_topics: list[str] = array(string)
    repartition_source_topics: list[TopicInfo] = array(TopicInfo)
    copartition_groups: list[CopartitionGroup] = array(CopartitionGroup)


@record_value(23, versions=(0, 0), flexible=0)
class StreamsGroupTopologyValue:
    epoch: int = field(int32)
    subtopologies: list[Subtopology] = array(Subtopology)
