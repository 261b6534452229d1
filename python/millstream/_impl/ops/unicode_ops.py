"""Strings as rows of characters of Unicode: their code points, and strings of one each."""

from __future__ import annotations

from typing import Any, NamedTuple

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import INTEGER, TENSOR, TEXT, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.graph.tensor_like import TensorLike
from millstream._impl.ops.ragged_tensor import RaggedTensor
from millstream._impl.values import dtypes


class _Decoding(NamedTuple):
    """The attributes of the ops that decode."""

    input_encoding: str
    errors: str
    replacement_char: int
    replace_control_characters: bool


class _Decoded(NamedTuple):
    """The characters of strings.

    `points` and `starts` are flat, with an element for each character. `splits` are the rows that
    the strings are.
    """

    strings: Any
    points: Tensor
    starts: Tensor | None
    splits: Tensor

    def shaped(self, values: Tensor) -> Any:
        """An element of each character, with a row for each of the strings."""
        if self.strings.shape.ndims == 0:
            return values
        rows = RaggedTensor(values, self.splits, internal=True)
        if not isinstance(self.strings, RaggedTensor):
            return rows
        return self.strings.with_flat_values(rows)


def _decode(strings: Any, decoding: _Decoding, with_starts: bool) -> _Decoded:
    if not isinstance(strings, RaggedTensor):
        strings = convert_to_tensor(strings, dtypes.string, "input")
    rank = strings.shape.ndims
    if rank is None:
        raise ValueError("input: Rank of `input` must be statically known.")
    if rank > 1:
        strings = _in_flat_rows(strings, rank)
    is_ragged = isinstance(strings, RaggedTensor)
    splits_dtype = strings.row_splits.dtype if is_ragged else dtypes.int64
    flat = strings.flat_values if is_ragged else gen_ops.reshape(strings, [-1])
    if with_starts:
        found = gen_ops.unicode_decode_with_offsets(flat, *decoding, Tsplits=splits_dtype)
        return _Decoded(strings, found[1], found[2], found[0])
    splits, points = gen_ops.unicode_decode(flat, *decoding, Tsplits=splits_dtype)
    return _Decoded(strings, points, None, splits)


def _in_flat_rows(strings: Any, rank: int) -> RaggedTensor:
    """Strings of rank 2 or more as rows whose flat values are a vector."""
    if not isinstance(strings, RaggedTensor):
        return RaggedTensor.from_tensor(strings, ragged_rank=rank - 1)
    inner = rank - strings.ragged_rank - 1
    if inner == 0:
        return strings
    dtype = strings.row_splits.dtype
    flat = RaggedTensor.from_tensor(strings.flat_values, ragged_rank=inner, row_splits_dtype=dtype)
    result: RaggedTensor = strings.with_flat_values(flat)
    return result


def _each_as_string(decoded: _Decoded, encoding: str, errors: str, replacement_char: int) -> Tensor:
    """A string of each character."""
    count = gen_ops.size(decoded.points, out_type=dtypes.int64)
    zero, one = (convert_to_tensor(number, dtypes.int64) for number in (0, 1))
    splits = gen_ops.range(zero, count + 1, one)
    return gen_ops.unicode_encode(decoded.points, splits, encoding, errors, replacement_char)


@public("strings.unicode_decode")
@takes(input=TENSOR, input_encoding=TEXT, errors=TEXT, replacement_char=INTEGER)
def unicode_decode(
    input: Any,  # noqa: A002
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Any:
    """The code points of strings.

    Parameters
    ----------
    input
        The strings: a tensor of known rank, or a ragged one.
    input_encoding
        Their encoding, such as "UTF-8" or "UTF-16-BE".
    errors
        What becomes of bytes that are no character: "replace", "ignore", or "strict" for an error.
    replacement_char
        The code point that replaces them.
    replace_control_characters
        Whether characters below 32 are replaced, or left out, as well.
    name
        Name of the scope.

    Returns
    -------
    Tensor or RaggedTensor
        int32: of a scalar a vector, else a row for each string.

    Raises
    ------
    ValueError
        The rank is not known.

    Examples
    --------
    >>> points = tf.strings.unicode_decode(["aé", "b"], "UTF-8")
    >>> tf.get_default_session().run(points).to_list()
    [[97, 233], [98]]
    """
    with scopes.name_scope(name, "UnicodeDecode", [input]):
        decoding = _Decoding(
            input_encoding, errors, replacement_char, bool(replace_control_characters)
        )
        decoded = _decode(input, decoding, with_starts=False)
        return decoded.shaped(decoded.points)


@public("strings.unicode_decode_with_offsets")
@takes(input=TENSOR, input_encoding=TEXT, errors=TEXT, replacement_char=INTEGER)
def unicode_decode_with_offsets(
    input: Any,  # noqa: A002
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> tuple[Any, Any]:
    """The code points of strings, and where their characters begin.

    Parameters
    ----------
    input, input_encoding, errors, replacement_char, replace_control_characters
        See `tf.strings.unicode_decode`.
    name
        Name of the scope.

    Returns
    -------
    codepoints, start_offsets
        See `unicode_decode`; of each character the first byte, int64, in the same rows.

    Examples
    --------
    >>> points, starts = tf.strings.unicode_decode_with_offsets("aéb", "UTF-8")
    >>> points.eval().tolist(), starts.eval().tolist()
    ([97, 233, 98], [0, 1, 3])
    """
    with scopes.name_scope(name, "UnicodeDecodeWithOffsets", [input]):
        decoding = _Decoding(
            input_encoding, errors, replacement_char, bool(replace_control_characters)
        )
        decoded = _decode(input, decoding, with_starts=True)
        return decoded.shaped(decoded.points), decoded.shaped(_starts_of(decoded))


def _starts_of(decoded: _Decoded) -> Tensor:
    assert decoded.starts is not None
    return decoded.starts


@public("strings.unicode_split")
@takes(input=TENSOR, input_encoding=TEXT, errors=TEXT, replacement_char=INTEGER)
def unicode_split(
    input: Any,  # noqa: A002
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    name: str | None = None,
) -> Any:
    """The characters of strings, each as a string.

    Parameters
    ----------
    input
        The strings: a tensor of known rank, or a ragged one.
    input_encoding
        Their encoding, which the results have as well: "UTF-8", "UTF-16-BE" or "UTF-32-BE".
    errors, replacement_char
        See `tf.strings.unicode_decode`.
    name
        Name of the scope.

    Returns
    -------
    Tensor or RaggedTensor
        Of a scalar a vector, else a row for each string.

    Examples
    --------
    >>> parts = tf.strings.unicode_split(["aé", "b"], "UTF-8")
    >>> [[part.decode() for part in row] for row in tf.get_default_session().run(parts).to_list()]
    [['a', 'é'], ['b']]
    """
    with scopes.name_scope(name, "UnicodeSplit", [input]):
        decoding = _Decoding(input_encoding, errors, replacement_char, False)
        decoded = _decode(input, decoding, with_starts=False)
        return decoded.shaped(_each_as_string(decoded, input_encoding, errors, replacement_char))


@public("strings.unicode_split_with_offsets")
@takes(input=TENSOR, input_encoding=TEXT, errors=TEXT, replacement_char=INTEGER)
def unicode_split_with_offsets(
    input: Any,  # noqa: A002
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    name: str | None = None,
) -> tuple[Any, Any]:
    """The characters of strings, each as a string, and where they begin.

    Parameters
    ----------
    input, input_encoding, errors, replacement_char
        See `tf.strings.unicode_split`.
    name
        Name of the scope.

    Returns
    -------
    chars, start_offsets
        See `unicode_split`; of each character the first byte, int64, in the same rows.

    Examples
    --------
    >>> parts, starts = tf.strings.unicode_split_with_offsets("éb", "UTF-8")
    >>> [part.decode() for part in parts.eval()], starts.eval().tolist()
    (['é', 'b'], [0, 2])
    """
    with scopes.name_scope(name, "UnicodeSplitWithOffsets", [input]):
        decoding = _Decoding(input_encoding, errors, replacement_char, False)
        decoded = _decode(input, decoding, with_starts=True)
        parts = _each_as_string(decoded, input_encoding, errors, replacement_char)
        return decoded.shaped(parts), decoded.shaped(_starts_of(decoded))


@public("strings.unicode_encode")
@takes(input=TENSOR, output_encoding=TEXT, errors=TEXT, replacement_char=INTEGER)
def unicode_encode(
    input: Any,  # noqa: A002
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    name: str | None = None,
) -> Any:
    """Strings of code points.

    Parameters
    ----------
    input
        The code points, int32: a tensor of known rank, at least 1, or a ragged one. The last
        dimension is that of the strings.
    output_encoding
        "UTF-8", "UTF-16-BE" or "UTF-32-BE".
    errors
        What becomes of numbers that are no code points: "replace", "ignore", or "strict" for an
        error.
    replacement_char
        The code point that replaces them.
    name
        Name of the scope.

    Returns
    -------
    Tensor or RaggedTensor
        A string for each row.

    Raises
    ------
    ValueError
        The rank is not known, or it is 0.

    Examples
    --------
    >>> tf.strings.unicode_encode(tf.ragged.constant([[97, 98], [99]]), "UTF-8").eval().tolist()
    [b'ab', b'c']
    >>> tf.strings.unicode_encode([72, 105], "UTF-8").eval()
    b'Hi'
    """
    with scopes.name_scope(name, "UnicodeEncode", [input]):
        points = input
        if not isinstance(points, RaggedTensor):
            wanted = None if isinstance(points, TensorLike) else dtypes.int32
            points = convert_to_tensor(points, wanted, "input")
        if points.shape.ndims is None:
            raise ValueError("input: Rank of `input` must be statically known.")
        return _encode(points, (output_encoding, errors, replacement_char))


def _encode(points: Any, encoding: tuple[str, str, int]) -> Any:
    """See `unicode_encode`."""
    if isinstance(points, RaggedTensor):
        if points.flat_values.shape.ndims != 1:
            return points.with_flat_values(_encode(points.flat_values, encoding))
        if points.ragged_rank > 1:
            return points.with_values(_encode(points.values, encoding))
        return gen_ops.unicode_encode(points.values, points.row_splits, *encoding)
    rank = points.shape.ndims
    if rank == 0:
        raise ValueError("input: the rank of `input` must be at least 1, got a scalar")
    shape = gen_ops.shape(points, out_type=dtypes.int64)
    flat = gen_ops.reshape(points, [-1])
    count = gen_ops.prod(shape[:-1], [0])
    zero, one = (convert_to_tensor(number, dtypes.int64) for number in (0, 1))
    splits = gen_ops.range(zero, count + 1, one) * shape[-1]
    texts = gen_ops.unicode_encode(flat, splits, *encoding)
    return gen_ops.reshape(texts, shape[:-1])
