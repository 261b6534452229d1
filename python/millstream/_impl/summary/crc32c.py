"""The checksum of record files: CRC-32C (Castagnoli), RFC 3720, appendix B.4."""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt

_Words = npt.NDArray[np.uint32]

_POLYNOMIAL = 0x82F63B78  # bits reversed
_LANE = 256  # bytes
# From here on the lanes pay.
_LONG = 4096


@functools.cache
def _table() -> tuple[int, ...]:
    """What each byte does to a checksum of zero."""
    entries = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ (_POLYNOMIAL if crc & 1 else 0)
        entries.append(crc)
    return tuple(entries)


@functools.cache
def _table_array() -> _Words:
    return np.array(_table(), np.uint32)


@functools.cache
def _lane_shifts() -> list[list[int]]:
    """What a lane of zeros makes of each value of each byte of a checksum.

    A checksum is linear in its start: that of four bytes is the sum (xor) of those of each.
    """
    bytes_of = np.arange(256, dtype=np.uint32)
    starts = np.stack([bytes_of << np.uint32(8 * place) for place in range(4)])
    shifted = starts.ravel()
    for _ in range(_LANE):
        shifted = shifted >> np.uint32(8) ^ _table_array()[shifted & np.uint32(0xFF)]
    return [row.tolist() for row in shifted.reshape(4, 256)]


def _update(crc: int, data: bytes) -> int:
    table = _table()
    for byte in data:
        crc = crc >> 8 ^ table[(crc ^ byte) & 0xFF]
    return crc


def _update_by_lanes(crc: int, lanes: npt.NDArray[np.uint8]) -> int:
    """`_update` by rows of `_LANE` bytes: all rows at once, then their sums one after the other."""
    table = _table_array()
    sums = np.zeros(len(lanes), np.uint32)
    for column in np.ascontiguousarray(lanes.T):
        sums = sums >> np.uint32(8) ^ table[(sums ^ column) & np.uint32(0xFF)]
    low, second, third, high = _lane_shifts()
    for lane in sums.tolist():
        shifted = low[crc & 0xFF] ^ second[crc >> 8 & 0xFF]
        crc = shifted ^ third[crc >> 16 & 0xFF] ^ high[crc >> 24] ^ lane
    return crc


def crc32c(data: bytes) -> int:
    """The CRC-32C of `data`."""
    crc = 0xFFFFFFFF
    if len(data) >= _LONG:
        count = len(data) // _LANE
        lanes = np.frombuffer(data, np.uint8, count * _LANE).reshape(count, _LANE)
        crc = _update_by_lanes(crc, lanes)
        data = data[count * _LANE :]
    return _update(crc, data) ^ 0xFFFFFFFF


def masked_crc32c(data: bytes) -> int:
    """The checksum as records hold it: rotated and shifted, so that it differs from a plain one."""
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
