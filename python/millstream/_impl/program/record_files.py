"""Files of records: what input pipelines read, compressed or not."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO, ClassVar

from millstream._impl.base import errors
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import INTEGER, PATH, Kind, or_none, takes
from millstream._impl.program.files import path_text, typed_errors
from millstream._impl.summary.records import framed, read_records

_CHUNK = 1 << 18  # bytes that are read, and decompressed, at once
_GZIP_WINDOW = 16  # is added to the window's bits for a file with gzip's header
_SMALLEST_WINDOW, _LARGEST_WINDOW = 9, 15


@public("python_io.TFRecordCompressionType", "io.TFRecordCompressionType")
class TFRecordCompressionType:
    """How a file of records is compressed.

    Examples
    --------
    >>> tf.python_io.TFRecordCompressionType.GZIP
    2
    """

    NONE = 0
    ZLIB = 1
    GZIP = 2


@public("python_io.TFRecordOptions", "io.TFRecordOptions")
class TFRecordOptions:
    """How a file of records is compressed.

    Parameters
    ----------
    compression_type
        A constant of `TFRecordCompressionType`, or "GZIP", "ZLIB", "" or None.
    flush_mode, input_buffer_size, output_buffer_size, compression_method
        Not used.
    window_bits
        The logarithm of the size of the window, from 9 to 15.
    compression_level
        From 0 (none) to 9 (best).
    mem_level
        From 1 to 9, the memory of the compressor.
    compression_strategy
        The number of one of zlib's strategies.

    Examples
    --------
    >>> options = tf.python_io.TFRecordOptions(tf.python_io.TFRecordCompressionType.GZIP)
    >>> tf.python_io.TFRecordOptions.get_compression_type_string(options)
    'GZIP'
    """

    compression_type_map: ClassVar[dict[Any, str]] = {
        TFRecordCompressionType.NONE: "",
        TFRecordCompressionType.ZLIB: "ZLIB",
        TFRecordCompressionType.GZIP: "GZIP",
    }

    @takes(
        window_bits=or_none(INTEGER),
        compression_level=or_none(INTEGER),
        mem_level=or_none(INTEGER),
        compression_strategy=or_none(INTEGER),
    )
    def __init__(
        self,
        compression_type: Any = None,
        flush_mode: int | None = None,
        input_buffer_size: int | None = None,
        output_buffer_size: int | None = None,
        window_bits: int | None = None,
        compression_level: int | None = None,
        compression_method: int | None = None,
        mem_level: int | None = None,
        compression_strategy: int | None = None,
    ) -> None:
        self.get_compression_type_string(compression_type)
        self.compression_type = compression_type
        self.flush_mode = flush_mode
        self.input_buffer_size = input_buffer_size
        self.output_buffer_size = output_buffer_size
        self.window_bits = window_bits
        self.compression_level = compression_level
        self.compression_method = compression_method
        self.mem_level = mem_level
        self.compression_strategy = compression_strategy

    @classmethod
    def get_compression_type_string(cls, options: Any) -> str:
        """The name of a kind of compression, "" for none.

        Parameters
        ----------
        options
            `TFRecordOptions`, or what they take as `compression_type`.

        Raises
        ------
        ValueError
            It is none of these.
        """
        if isinstance(options, TFRecordOptions):
            return cls.get_compression_type_string(options.compression_type)
        if options is None:
            return ""
        if isinstance(options, str) and options in cls.compression_type_map.values():
            return options
        if isinstance(options, int) and options in cls.compression_type_map:
            return cls.compression_type_map[options]
        raise ValueError(
            f'compression_type: Not a valid compression_type: "{options}"; expected "GZIP", "ZLIB" '
            'or ""'
        )


def _window(options: Any) -> int:
    """The bits of the window as zlib's functions take them; 0 for a file that is not compressed."""
    kind = TFRecordOptions.get_compression_type_string(options)
    bits = getattr(options, "window_bits", None)
    bits = min(max(abs(bits or _LARGEST_WINDOW), _SMALLEST_WINDOW), _LARGEST_WINDOW)
    return {"": 0, "ZLIB": bits, "GZIP": _GZIP_WINDOW + bits}[kind]


def _is_options(value: Any) -> bool:
    """Whether it is of a type of options. Other values of these types are a ValueError."""
    return value is None or isinstance(value, (TFRecordOptions, str, int))


_OPTIONS = Kind("a TFRecordOptions or a compression type", _is_options)


@public("python_io.TFRecordWriter", "io.TFRecordWriter")
class TFRecordWriter:
    """Writes records to a file.

    What was written is in the file after `flush` and `close`.

    Parameters
    ----------
    path
        The file, which is replaced if it is there.
    options
        `TFRecordOptions`, or what they take as `compression_type`.

    Raises
    ------
    OpError
        By any method: the file could not be written.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "records")
    >>> with tf.python_io.TFRecordWriter(path) as writer:
    ...     writer.write(b"one")
    ...     writer.write(b"two")
    >>> list(tf.python_io.tf_record_iterator(path))
    [b'one', b'two']
    """

    @takes(path=PATH, options=_OPTIONS)
    def __init__(self, path: str | os.PathLike[str], options: Any = None) -> None:
        self._path = path
        window = _window(options)
        self._compressor: Any = None
        if window:
            level = getattr(options, "compression_level", None)
            self._compressor = zlib.compressobj(
                zlib.Z_DEFAULT_COMPRESSION if level is None else level,
                zlib.DEFLATED,
                window,
                getattr(options, "mem_level", None) or zlib.DEF_MEM_LEVEL,
                getattr(options, "compression_strategy", None) or zlib.Z_DEFAULT_STRATEGY,
            )
        with typed_errors(path):
            self._file: BinaryIO | None = open(path_text(path), "wb")  # noqa: SIM115

    def write(self, record: bytes) -> None:
        """Write one record, bytes.

        Raises
        ------
        FailedPreconditionError
            The file is closed.
        """
        if isinstance(record, str):
            record = record.encode()
        if not isinstance(record, (bytes, bytearray, memoryview)):
            raise TypeError(f"record: expected bytes, got {record!r}")
        self._append(framed(bytes(record)))

    def _append(self, data: bytes) -> None:
        if self._file is None:
            message = f"{path_text(self._path)}: Writer is closed."
            raise errors.FailedPreconditionError(None, None, message)
        with typed_errors(self._path):
            self._file.write(data if self._compressor is None else self._compressor.compress(data))

    def flush(self) -> None:
        """Hand what was written to the system."""
        if self._file is not None:
            with typed_errors(self._path):
                if self._compressor is not None:
                    self._file.write(self._compressor.flush(zlib.Z_SYNC_FLUSH))
                self._file.flush()

    def close(self) -> None:
        """Write what is left and close the file. Idempotent."""
        file, self._file = self._file, None
        if file is not None:
            with typed_errors(self._path), file:
                if self._compressor is not None:
                    file.write(self._compressor.flush())

    def __enter__(self) -> TFRecordWriter:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class _Decompressed:
    """A compressed file that is read as what it was made of."""

    def __init__(self, file: BinaryIO, window: int) -> None:
        self._file = file
        self._stream = zlib.decompressobj(window)
        self._ready = bytearray()
        self.name = file.name

    def read(self, size: int) -> bytes:
        """The next bytes, fewer only at the end; DataLossError where the file is damaged."""
        while len(self._ready) < size:
            data = self._stream.unconsumed_tail or self._file.read(_CHUNK)
            if not data:
                break
            try:
                self._ready += self._stream.decompress(data, _CHUNK)
            except zlib.error as error:
                raise errors.DataLossError(
                    None, None, f"{self.name} is not compressed as it should be: {error}"
                ) from None
        found = bytes(self._ready[:size])
        del self._ready[:size]
        return found


@public("python_io.tf_record_iterator", "io.tf_record_iterator")
@takes(path=PATH, options=_OPTIONS)
def tf_record_iterator(path: str | os.PathLike[str], options: Any = None) -> Iterator[bytes]:
    """The records of a file.

    Parameters
    ----------
    path
        The file.
    options
        `TFRecordOptions`, or what they take as `compression_type`.

    Raises
    ------
    NotFoundError
        There is no such file.
    DataLossError
        The file is damaged or cut off; what stands before was given.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "records")
    >>> options = tf.python_io.TFRecordOptions("GZIP")
    >>> with tf.python_io.TFRecordWriter(path, options) as writer:
    ...     writer.write(b"one")
    >>> list(tf.python_io.tf_record_iterator(path, options))
    [b'one']
    """
    window = _window(options)
    with typed_errors(path), open(path_text(path), "rb") as file:
        source: Any = _Decompressed(file, window) if window else file
        yield from read_records(source)
