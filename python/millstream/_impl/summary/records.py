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
_PIECE = 1 << 20  # what is read at a time


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
            raise _truncated(file, offset)
        length, checksum = _HEADER.unpack(header)
        if checksum != masked_crc32c(header[:8]):
            raise _corrupted(file, "of the length", offset)
        data, footer = _read(file, length), file.read(_FOOTER.size)
        if len(data) < length or len(footer) < _FOOTER.size:
            raise _truncated(file, offset)
        if _FOOTER.unpack(footer) != (masked_crc32c(data),):
            raise _corrupted(file, "of the record", offset)
        yield data
        offset += _HEADER.size + length + _FOOTER.size


def _read(file: BinaryIO, count: int) -> bytes:
    """So many bytes, or those that there are. A hostile length asks for no more memory."""
    if count <= _PIECE:
        return file.read(count)
    pieces: list[bytes] = []
    while count > 0 and (piece := file.read(min(count, _PIECE))):
        pieces.append(piece)
        count -= len(piece)
    return b"".join(pieces)


def _truncated(file: BinaryIO, offset: int) -> errors.DataLossError:
    what = f"ends within the record at byte {offset}: truncated record at {offset}"
    return errors.DataLossError(None, None, f"{getattr(file, 'name', 'the file')} {what}")


def _corrupted(file: BinaryIO, checksum: str, offset: int) -> errors.DataLossError:
    what = f"has a wrong checksum {checksum} at byte {offset}: corrupted record at {offset}"
    return errors.DataLossError(None, None, f"{getattr(file, 'name', 'the file')} {what}")
