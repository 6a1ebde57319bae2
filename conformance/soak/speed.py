"""The speed of a core at this moment.

Cores of a virtual machine are often halves of one: beside another's work each takes twice as long
as alone, and Linux counts all of it as the thread's own. So what a thread may take in a test is a
piece of work, and not a time: that which takes 20 ms on a core that nobody else uses.
"""

from __future__ import annotations

from time import thread_time
from typing import Final

# The time of `_work` on the machine that the figures of README are from, when nothing else ran.
ALONE_SECONDS: Final = 0.00105
_TIMES: Final = 3
# A core that was shared a moment ago may be alone again when its speed is measured.
_UNSEEN: Final = 1.5
_STEPS: Final = 6500


def slowness() -> float:
    """The time that a thread takes now beside that on such a core."""
    return max(_UNSEEN, max(_timed() for _ in range(_TIMES)) / ALONE_SECONDS)


def _timed() -> float:
    began = thread_time()
    _work()
    return thread_time() - began


def _work() -> int:
    """Make small objects, look them up and let them go, as a broker does most of the time.

    The garbage collector does not count them.
    """
    table = {number: str(number) for number in range(_STEPS)}
    return sum(len(table[number]) for number in range(_STEPS))
