"""AlterReplicaLogDirs: what is refused, and where later topics go."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kafkalite.wire.errors import ErrorCode
from tests.kafkalite.data_directories import ask, core, directory_of, other, running


async def test_what_kafka_refuses_is_refused(tmp_path: Path, connect: Any) -> None:
    async with running(tmp_path) as broker:
        broker.create_topic("t", 2)
        long = "l" * 249
        broker.create_topic(long)
        client = await connect(broker)
        here = directory_of(broker, "t")
        there = other(broker, here)
        assert await ask(client, tmp_path / "c", "t", 0) == [ErrorCode.LOG_DIR_NOT_FOUND]
        assert await ask(client, "b", "t", 0) == [ErrorCode.LOG_DIR_NOT_FOUND]
        assert await ask(client, there, "t", 2) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
        assert await ask(client, there, long, 0) == [ErrorCode.INVALID_TOPIC_EXCEPTION]
        # A replica that does not exist yet will be made there.
        for i, path in enumerate((here, there, there, there)):
            name = f"later-{i}"
            assert await ask(client, path, name, 0) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
            broker.create_topic(name)
            assert directory_of(broker, name) == path
        # A directory that breaks: nothing goes there, and nothing goes anywhere.
        broken = core(broker).services.logs.manager.directory_at(str(there))
        assert broken is not None
        broken.failed(OSError(5, "sick"))
        assert await ask(client, there, "t", 0) == [ErrorCode.KAFKA_STORAGE_ERROR]
        assert await ask(client, here, "t", 0) == [0]
