"""Files of records, each framed by its length and two checksums.

A record is: its length (8 bytes, little endian), the masked CRC-32C of those 8 bytes, the data, the
masked CRC-32C of the data. Reference: tensorflow.org/tutorials/load_data/tfrecord, "TFRecords
format details"; the checksum is that of RFC 3720, appendix B.4.
"""

from __future__ import annotations

import struct
from typing import BinaryIO


def _table() -> tuple[int, ...]:
    entries = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
        entries.append(crc)
    return tuple(entries)


_CRC_TABLE = _table()


def crc32c(data: bytes) -> int:
    """The CRC-32C (Castagnoli) of `data`."""
    crc = 0xFFFFFFFF
    table = _CRC_TABLE
    for byte in data:
        crc = crc >> 8 ^ table[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def masked_crc32c(data: bytes) -> int:
    """The checksum as records hold it: rotated and shifted, so that it differs from a plain one."""
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


class RecordWriter:
    """Appends records to a file.

    Parameters
    ----------
    file
        A file opened for writing bytes; it is closed with the writer.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def write(self, data: bytes) -> None:
        """Append one record."""
        length = struct.pack("<Q", len(data))
        self._file.write(
            length
            + struct.pack("<I", masked_crc32c(length))
            + data
            + struct.pack("<I", masked_crc32c(data))
        )

    def flush(self) -> None:
        """Hand everything to the operating system."""
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()
