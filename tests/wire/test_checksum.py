"""CRC-32C, without what the package imports around it."""

import pytest

from kafkalite.wire.checksum import crc32c


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_the_check_value(kind: type) -> None:
    assert crc32c(kind(b"123456789")) == 0xE3069283  # of RFC 3720's polynomial
