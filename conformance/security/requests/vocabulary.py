"""Resources of the requests: of each kind one that ACLs may open, and one that they never do."""

from __future__ import annotations

from typing import Any
from uuid import UUID

TOPICS = ("open-topic", "shut-topic")
MISSING = ("open-missing", "shut-missing")
GROUPS = ("open-group", "shut-group")
TRANSACTIONS = ("open-transaction", "shut-transaction")
TopicIds = dict[str, UUID]
Requests = dict[str, tuple[Any, int | None]]
