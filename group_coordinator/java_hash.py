"""The partition of `__consumer_offsets` of a group: it must not depend on who computes
it."""

from functools import lru_cache


@lru_cache(maxsize=65_536)
def java_hash(text: str) -> int:
    """The absolute value of Java's String.hashCode; 0 for the smallest int, which has none (Kafka's
    Utils.abs)."""
    code_units = text.encode("utf-16-be", "surrogatepass")
    result = 0
    for high, low in zip(code_units[::2], code_units[1::2], strict=True):
        result = (31 * result + (high << 8 | low)) & 0xFFFFFFFF
    return 0 if result == 1 << 31 else min(result, (1 << 32) - result)
