"""Files of records, each framed by its length and two checksums.

A record is: its length (8 bytes, little endian), the masked CRC-32C of those 8 bytes, the data, the
masked CRC-32C of the data. Reference: tensorflow.org/tutorials/load_data/tfrecord, "TFRecords
format details".
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO

from millstream._impl.base import errors
from millstream._impl.summary.crc32c import masked_crc32c

_HEADER = struct.Struct("<QI")  # length, its checksum
_FOOTER = struct.Struct("<I")  # checksum of the data


def framed(data: bytes) -> bytes:
    """The record that holds `data`."""
    length = struct.pack("<Q", len(data))
    return b"".join(
        [
            length,
            _FOOTER.pack(masked_crc32c(length)),
            data,
            _FOOTER.pack(masked_crc32c(data)),
        ]
    )


def read_records(file: BinaryIO) -> Iterator[bytes]:
    """The data of each record of a file.

    Raises
    ------
    DataLossError
        A checksum is wrong, or the file ends within a record.
    """
    offset = 0
    while header := file.read(_HEADER.size):
        if len(header) < _HEADER.size:
            raise _damaged(file, f"ends within the record at byte {offset}")
        length, checksum = _HEADER.unpack(header)
        if checksum != masked_crc32c(header[:8]):
            raise _damaged(file, f"has a wrong checksum of the length at byte {offset}")
        data, footer = file.read(length), file.read(_FOOTER.size)
        if len(data) < length or len(footer) < _FOOTER.size:
            raise _damaged(file, f"ends within the record at byte {offset}")
        if _FOOTER.unpack(footer) != (masked_crc32c(data),):
            raise _damaged(file, f"has a wrong checksum of the record at byte {offset}")
        yield data
        offset += _HEADER.size + length + _FOOTER.size


def _damaged(file: BinaryIO, what: str) -> errors.DataLossError:
    return errors.DataLossError(None, None, f"{getattr(file, 'name', 'the file')} {what}")
