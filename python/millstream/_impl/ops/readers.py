"""Readers: files whose names come out of a queue, as one sequence of records."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import INTEGER, TENSOR, TEXT, Kind, or_none, takes
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.graph.tensor_like import TensorLike
from millstream._impl.ops.queue_ops import QueueBase

_QUEUE = Kind("a queue or its handle", lambda value: isinstance(value, (QueueBase, TensorLike)))
_HANDLE = Kind("the handle of a reader", lambda value: isinstance(value, TensorLike))


@public("ReaderBase")
class ReaderBase:
    """What all readers have in common.

    A reader takes the name of a file out of a queue, gives the records of the file one by one, and
    then takes the next name. A read waits while the queue is empty, without a thread of the
    session's pool, and fails with `OutOfRangeError` when the queue is closed and empty.

    Parameters
    ----------
    reader_ref
        The tensor that is the reader's handle.
    supports_serialize
        Whether the state can be saved: that of `WholeFileReader` and of `IdentityReader`.

    Examples
    --------
    >>> reader = tf.IdentityReader()
    >>> isinstance(reader, tf.ReaderBase), reader.supports_serialize
    (True, True)
    """

    @takes(reader_ref=_HANDLE)
    def __init__(self, reader_ref: Tensor, supports_serialize: bool = False) -> None:
        self._reader_ref = reader_ref
        self._supports_serialize = supports_serialize

    @property
    def reader_ref(self) -> Tensor:
        """The handle, which operations on the reader take."""
        return self._reader_ref

    @property
    def supports_serialize(self) -> bool:
        """Whether the state can be saved."""
        return self._supports_serialize

    @takes(queue=_QUEUE)
    def read(self, queue: Any, name: str | None = None) -> Any:
        """The next record: a pair of strings, its key and its value.

        Parameters
        ----------
        queue
            A queue of strings, the names of the files, or its handle.
        name
            Name of the operation.
        """
        return gen_ops.reader_read_v2(self._reader_ref, _handle_of(queue), name=name)

    @takes(queue=_QUEUE, num_records=TENSOR)
    def read_up_to(self, queue: Any, num_records: Any, name: str | None = None) -> Any:
        """The next records of one file: a pair of vectors of strings, keys and values.

        Parameters
        ----------
        queue
            A queue of strings, the names of the files, or its handle.
        num_records
            How many records at most, an integer or a scalar tensor of int64. There are fewer at the
            end of a file, but at least one.
        name
            Name of the operation.
        """
        return gen_ops.reader_read_up_to_v2(
            self._reader_ref, _handle_of(queue), num_records, name=name
        )

    def num_records_produced(self, name: str | None = None) -> Tensor:
        """How many records it has read."""
        return gen_ops.reader_num_records_produced_v2(self._reader_ref, name=name)

    def num_work_units_completed(self, name: str | None = None) -> Tensor:
        """How many files it has read to their ends."""
        return gen_ops.reader_num_work_units_completed_v2(self._reader_ref, name=name)

    def reset(self, name: str | None = None) -> Operation:
        """An operation after which the reader begins with the next file, and counts from 0."""
        return gen_ops.reader_reset_v2(self._reader_ref, name=name)

    def serialize_state(self, name: str | None = None) -> Tensor:
        """How far it has come, as a string. An UnimplementedError of the step for other readers."""
        return gen_ops.reader_serialize_state_v2(self._reader_ref, name=name)

    @takes(state=TENSOR)
    def restore_state(self, state: Any, name: str | None = None) -> Operation:
        """An operation after which the reader goes on from a state.

        Parameters
        ----------
        state
            What `serialize_state` gave, a scalar string.
        name
            Name of the operation.
        """
        return gen_ops.reader_restore_state_v2(self._reader_ref, state, name=name)


def _handle_of(queue: Any) -> Any:
    return queue.queue_ref if isinstance(queue, QueueBase) else queue


@public("TextLineReader")
class TextLineReader(ReaderBase):
    r"""Lines of files, without their ends. Keys are ``"PATH:NUMBER"``, from 1.

    Parameters
    ----------
    skip_header_lines
        How many lines at the start of each file are left out.
    name
        Name of the operation.

    Examples
    --------
    >>> import tempfile
    >>> file = tempfile.NamedTemporaryFile()
    >>> file.write(b"one,1\ntwo,2\n"), file.flush()
    (12, None)
    >>> queue = tf.FIFOQueue(10, tf.string)
    >>> queue.enqueue(file.name).run()
    >>> key, value = tf.TextLineReader().read(queue)
    >>> value.eval(), value.eval()
    (b'one,1', b'two,2')
    """

    @takes(skip_header_lines=or_none(INTEGER))
    def __init__(self, skip_header_lines: int | None = None, name: str | None = None) -> None:
        super().__init__(gen_ops.text_line_reader_v2(skip_header_lines or 0, name=name))


@public("WholeFileReader")
class WholeFileReader(ReaderBase):
    """Whole files. Keys are the paths.

    Parameters
    ----------
    name
        Name of the operation.

    Examples
    --------
    >>> import tempfile
    >>> file = tempfile.NamedTemporaryFile()
    >>> file.write(b"text"), file.flush()
    (4, None)
    >>> queue = tf.FIFOQueue(10, tf.string)
    >>> queue.enqueue(file.name).run()
    >>> tf.WholeFileReader().read(queue).value.eval()
    b'text'
    """

    def __init__(self, name: str | None = None) -> None:
        super().__init__(gen_ops.whole_file_reader_v2(name=name), supports_serialize=True)


@public("IdentityReader")
class IdentityReader(ReaderBase):
    """The names in the queue themselves, as keys and values.

    Parameters
    ----------
    name
        Name of the operation.

    Examples
    --------
    >>> queue = tf.FIFOQueue(10, tf.string)
    >>> queue.enqueue("name").run()
    >>> tf.IdentityReader().read(queue).value.eval()
    b'name'
    """

    def __init__(self, name: str | None = None) -> None:
        super().__init__(gen_ops.identity_reader_v2(name=name), supports_serialize=True)


def _compression(options: Any) -> str:
    """The name of the compression of `TFRecordOptions`, or of None."""
    return "" if options is None else str(options.get_compression_type_string(options))


@public("TFRecordReader")
class TFRecordReader(ReaderBase):
    """Records of files that `python_io.TFRecordWriter` writes. Keys are ``"PATH:BYTE"``.

    Parameters
    ----------
    name
        Name of the operation.
    options
        `python_io.TFRecordOptions`: how the files are compressed. None: they are not.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "records")
    >>> with tf.python_io.TFRecordWriter(path) as writer:
    ...     writer.write(b"one")
    >>> queue = tf.FIFOQueue(10, tf.string)
    >>> queue.enqueue(path).run()
    >>> tf.TFRecordReader().read(queue).value.eval()
    b'one'
    """

    @takes(
        options=Kind(
            "a TFRecordOptions or None",
            lambda value: value is None or hasattr(value, "get_compression_type_string"),
        )
    )
    def __init__(self, name: str | None = None, options: Any = None) -> None:
        super().__init__(
            gen_ops.tf_record_reader_v2(compression_type=_compression(options), name=name)
        )


@public("FixedLengthRecordReader")
class FixedLengthRecordReader(ReaderBase):
    """Records of one size. Keys are ``"PATH:NUMBER"``, from 0.

    Parameters
    ----------
    record_bytes
        The size of a record.
    header_bytes, footer_bytes
        How many bytes at the start and at the end of a file are left out.
    hop_bytes
        How far the start of a record is from that of the one before, by default `record_bytes`.
    name
        Name of the operation.
    encoding
        How the files are compressed: "GZIP" or "ZLIB". None or "": they are not.

    Examples
    --------
    >>> import tempfile
    >>> file = tempfile.NamedTemporaryFile()
    >>> file.write(b"head12345678"), file.flush()
    (12, None)
    >>> queue = tf.FIFOQueue(10, tf.string)
    >>> queue.enqueue(file.name).run()
    >>> value = tf.FixedLengthRecordReader(4, header_bytes=4).read(queue).value
    >>> value.eval(), value.eval()
    (b'1234', b'5678')
    """

    @takes(
        record_bytes=INTEGER,
        header_bytes=or_none(INTEGER),
        footer_bytes=or_none(INTEGER),
        hop_bytes=or_none(INTEGER),
        encoding=or_none(TEXT),
    )
    def __init__(
        self,
        record_bytes: int,
        header_bytes: int | None = None,
        footer_bytes: int | None = None,
        hop_bytes: int | None = None,
        name: str | None = None,
        encoding: str | None = None,
    ) -> None:
        super().__init__(
            gen_ops.fixed_length_record_reader_v2(
                record_bytes=record_bytes,
                header_bytes=header_bytes or 0,
                footer_bytes=footer_bytes or 0,
                hop_bytes=hop_bytes or 0,
                encoding=encoding or "",
                name=name,
            )
        )
