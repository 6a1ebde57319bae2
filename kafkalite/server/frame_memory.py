"""The memory of large requests on their way in: `queued.max.request.bytes` (KIP-72).

A frame that is too large to be received in one go is received once there is memory left, whatever
its own size: so all of them together may go beyond the limit by one frame each time. It gives the
memory back when it is answered. Smaller ones take no part, as each is answered when it is there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable


class FrameMemory:
    """The bytes that are left, and the frames that wait for some, first come first served."""

    def __init__(self, most_bytes: int) -> None:
        self._left = most_bytes
        self._waiting: deque[FrameClaim] = deque()

    def claim(self, size: int, resume: Callable[[], None]) -> FrameClaim:
        """Claim memory for a frame. If it has to wait, `resume` is called once it is granted."""
        claim = FrameClaim(self, size, resume)
        if self._left > 0:
            self._left -= size
            claim.is_granted = True
        else:
            self._waiting.append(claim)
        return claim

    def give_back(self, claim: FrameClaim) -> None:
        """The frame is answered, or will never come."""
        if not claim.is_granted:
            self._waiting.remove(claim)
            return
        self._left += claim.size
        while self._waiting and self._left > 0:
            first = self._waiting.popleft()
            self._left -= first.size
            first.is_granted = True
            first.resume()


class FrameClaim:
    """The memory of one frame, `is_granted` or waited for."""

    __slots__ = ("is_granted", "memory", "resume", "size")

    def __init__(self, memory: FrameMemory, size: int, resume: Callable[[], None]) -> None:
        self.memory = memory
        self.size = size
        self.resume = resume
        self.is_granted = False
