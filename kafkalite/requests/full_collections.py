"""The garbage collector while long work is done: it does not go through all objects again and
again."""

from __future__ import annotations

import gc
from typing import Final

_NEVER: Final = 1_000_000
# To go through as many takes some five milliseconds.
_MANY: Final = 10_000


class _WithoutFullCollections:
    """While huge requests are handled, the garbage collector does not go through all objects.

    It would do so again and again, as there are more and more of them, and take 100 ms each time.
    """

    def __init__(self) -> None:
        self._depth = 0
        self._thresholds = gc.get_threshold()
        # Objects that slices of long work have left, since they were gone through.
        self._left = 0
        # True while a full collection goes through new objects alone, as others are kept from it.
        # What long work leaves is gone through piece by piece then, and not at its end in one go.
        self.are_short = False

    def __enter__(self) -> None:
        if not self._depth:
            self._thresholds = gc.get_threshold()
            gc.set_threshold(*self._thresholds[:2], _NEVER)
        self._depth += 1

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if not self._depth:
            gc.set_threshold(*self._thresholds)

    def collect_young(self) -> None:
        """Go through what a slice has made.

        The collector counts what is made, less what is freed: where others free much, young objects
        pile up, and it goes through all of them at once.
        """
        self._left += gc.get_count()[0]
        if self._left > _MANY and self.are_short:
            self._left = 0
            gc.collect()
        else:
            gc.collect(1)


without_full_collections: Final = _WithoutFullCollections()
