"""The checksum of record files: CRC-32C (Castagnoli), RFC 3720, appendix B.4."""

from __future__ import annotations

from millstream import _runtime


def crc32c(data: bytes) -> int:
    """The CRC-32C of `data`."""
    return _runtime.crc32c(data)


def masked_crc32c(data: bytes) -> int:
    """The checksum as records hold it: rotated and shifted, so that it differs from a plain one."""
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
