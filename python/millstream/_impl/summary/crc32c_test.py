"""The checksum of record files."""

from __future__ import annotations

import numpy as np
import pytest

from millstream._impl.summary.crc32c import crc32c, masked_crc32c


def bit_by_bit(data: bytes) -> int:
    """The definition: division by the polynomial, one bit after the other."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def test_checksum_is_castagnolis() -> None:
    # RFC 3720, appendix B.4
    assert crc32c(bytes(32)) == 0x8A9136AA
    assert crc32c(bytes([0xFF] * 32)) == 0x62A8AB43
    assert crc32c(bytes(range(32))) == 0x46DD794E


@pytest.mark.parametrize("size", [*range(18), 4095, 4096, 20001])
def test_long_and_short_data_follow_the_definition(size: int) -> None:
    data = np.random.default_rng(size).bytes(size)
    assert crc32c(data) == bit_by_bit(data)


def test_mask_rotates_and_shifts() -> None:
    crc = crc32c(b"123456789")
    assert crc == 0xE3069283
    rotated = (crc >> 15 | crc << 17) & 0xFFFFFFFF
    assert masked_crc32c(b"123456789") == (rotated + 0xA282EAD8) % 2**32
