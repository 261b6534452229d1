"""Strings as ragged tensors of their characters, bytes and sequences of words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base import errors
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import INTEGER, INTEGERS, TENSOR, TEXT, Kind, or_none, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import array_join, array_ops
from millstream._impl.ops.ragged_tensor import RaggedTensor
from millstream._impl.values import dtypes

_RAGGED = Kind(
    "a tensor, a ragged tensor or a value",
    lambda value: isinstance(value, RaggedTensor) or TENSOR.accepts(value),
)
_CODES = {"input_encoding": TEXT, "errors": TEXT, "replacement_char": INTEGER}


def _given(value: Any, dtype: Any, name: str) -> Any:
    """A tensor or a ragged one, of known rank."""
    found = value if isinstance(value, RaggedTensor) else convert_to_tensor(value, dtype, name)
    if found.shape.ndims is None:
        raise ValueError(f"{name}: Rank of `{name}` must be statically known.")
    return found


def _rows_of(value: Any) -> Any:
    """A value of rank 2 or more as a ragged tensor, whose flat values are a vector."""
    rank = value.shape.ndims
    if not isinstance(value, RaggedTensor):
        return RaggedTensor.from_tensor(value, ragged_rank=rank - 1)
    inner = value.flat_values
    if inner.shape.ndims == 1:
        return value
    return value.with_flat_values(RaggedTensor.from_tensor(inner, ragged_rank=len(inner.shape) - 1))


def _for_each_string(value: Any, split: Callable[[Tensor], list[Any]]) -> list[Any]:
    """The parts of strings, one dimension more than the strings have.

    Parameters
    ----------
    value
        The strings.
    split
        A function of a vector of strings. It gives the splits of the rows and the values of each
        result.
    """
    rank = value.shape.ndims
    if rank == 0:
        _, *flat = split(array_ops.reshape(value, [1]))
        return flat
    outer = value if rank == 1 and not isinstance(value, RaggedTensor) else _rows_of(value)
    vector = outer.flat_values if isinstance(outer, RaggedTensor) else outer
    splits, *flat = split(vector)
    rows = [RaggedTensor.from_row_splits(one, splits, validate=False) for one in flat]
    if isinstance(outer, RaggedTensor):
        return [outer.with_flat_values(one) for one in rows]
    return rows


@public("strings.bytes_split")
@takes(input=_RAGGED)
def bytes_split(input: Any, name: str | None = None) -> Any:  # noqa: A002  (the public name)
    """Each string as its bytes.

    Parameters
    ----------
    input
        Strings of known rank, as a tensor or a ragged tensor.
    name
        Name of the scope.

    Returns
    -------
    RaggedTensor
        One dimension more; of a scalar, a vector.

    Examples
    --------
    >>> tf.strings.bytes_split("ab").eval().tolist()
    [b'a', b'b']
    """
    with scopes.name_scope(name, "StringsByteSplit"):
        strings = _given(input, dtypes.string, "input")

        def split(vector: Tensor) -> list[Any]:
            found = gen_ops.string_split(vector, "", False)
            rows = RaggedTensor.from_value_rowids(
                found.values,
                found.indices[:, 0],
                gen_ops.cast(found.shape[0], dtypes.int64),
                validate=False,
            )
            return [rows.row_splits, found.values]

        return _for_each_string(strings, split)[0]


def _decoded(
    strings: Any, encoding: str, on_error: str, replacement: int, control: bool, offsets: bool
) -> list[Any]:
    """The characters of strings as numbers, and the bytes at which they begin."""

    def split(vector: Tensor) -> list[Any]:
        arguments = (encoding, on_error, replacement, control)
        if offsets:
            return list(gen_ops.unicode_decode_with_offsets(vector, *arguments))
        return list(gen_ops.unicode_decode(vector, *arguments))

    return _for_each_string(strings, split)


@public("strings.unicode_decode")
@takes(input=_RAGGED, **_CODES)
def unicode_decode(
    input: Any,  # noqa: A002  (the public name)
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Any:
    """Each string as the numbers of its characters.

    Parameters
    ----------
    input
        Strings of known rank, as a tensor or a ragged tensor.
    input_encoding
        How they are encoded, as "UTF-8".
    errors
        What happens at bytes that are no character: "replace" puts `replacement_char` there,
        "ignore" leaves them out, "strict" fails the step.
    replacement_char
        The number of a character.
    replace_control_characters
        Whether control characters are replaced too.
    name
        Name of the scope.

    Returns
    -------
    RaggedTensor
        One dimension more; of a scalar, a vector.

    Examples
    --------
    >>> tf.strings.unicode_decode("aß", "UTF-8").eval().tolist()
    [97, 223]
    """
    with scopes.name_scope(name, "UnicodeDecode"):
        strings = _given(input, dtypes.string, "input")
        control = replace_control_characters
        return _decoded(strings, input_encoding, errors, replacement_char, control, False)[0]


@public("strings.unicode_decode_with_offsets")
@takes(input=_RAGGED, **_CODES)
def unicode_decode_with_offsets(
    input: Any,  # noqa: A002  (the public name)
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Each string as the numbers of its characters, and the bytes at which these begin.

    Parameters
    ----------
    input, input_encoding, errors, replacement_char, replace_control_characters, name
        As for `unicode_decode`.

    Examples
    --------
    >>> numbers, starts = tf.strings.unicode_decode_with_offsets("aßb", "UTF-8")
    >>> starts.eval().tolist()
    [0, 1, 3]
    """
    with scopes.name_scope(name, "UnicodeDecodeWithOffsets"):
        strings = _given(input, dtypes.string, "input")
        control = replace_control_characters
        found = _decoded(strings, input_encoding, errors, replacement_char, control, True)
        return found[0], found[1]


def _characters(
    strings: Any, encoding: str, on_error: str, replacement: int, offsets: bool
) -> list[Any]:
    """The characters of strings as strings, and the bytes at which they begin."""
    found = _decoded(strings, encoding, on_error, replacement, False, offsets)
    numbers = found[0]
    flat = numbers.flat_values if isinstance(numbers, RaggedTensor) else numbers
    count = array_ops.shape(flat, out_type=dtypes.int64)[0]
    splits = gen_ops.range(
        convert_to_tensor(0, dtypes.int64), count + 1, convert_to_tensor(1, dtypes.int64)
    )
    texts = gen_ops.unicode_encode(
        flat,
        splits,
        errors=on_error,
        output_encoding=encoding,
        replacement_char=replacement,
    )
    is_ragged = isinstance(numbers, RaggedTensor)
    return [numbers.with_flat_values(texts) if is_ragged else texts, *found[1:]]


@public("strings.unicode_split")
@takes(input=_RAGGED, **_CODES)
def unicode_split(
    input: Any,  # noqa: A002  (the public name)
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    name: str | None = None,
) -> Any:
    """Each string as its characters, which are strings of the same encoding.

    Parameters
    ----------
    input, input_encoding, errors, replacement_char, name
        As for `unicode_decode`. The encoding is "UTF-8", "UTF-16-BE" or "UTF-32-BE".

    Examples
    --------
    >>> [c.decode() for c in tf.strings.unicode_split("aß", "UTF-8").eval()]
    ['a', 'ß']
    """
    with scopes.name_scope(name, "UnicodeSplit"):
        strings = _given(input, dtypes.string, "input")
        return _characters(strings, input_encoding, errors, replacement_char, False)[0]


@public("strings.unicode_split_with_offsets")
@takes(input=_RAGGED, **_CODES)
def unicode_split_with_offsets(
    input: Any,  # noqa: A002  (the public name)
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Each string as its characters, and the bytes at which these begin.

    Parameters
    ----------
    input, input_encoding, errors, replacement_char, name
        As for `unicode_split`.

    Examples
    --------
    >>> tf.strings.unicode_split_with_offsets("aßb", "UTF-8")[1].eval().tolist()
    [0, 1, 3]
    """
    with scopes.name_scope(name, "UnicodeSplitWithOffsets"):
        strings = _given(input, dtypes.string, "input")
        found = _characters(strings, input_encoding, errors, replacement_char, True)
        return found[0], found[1]


@public("strings.unicode_encode")
@takes(input=_RAGGED, output_encoding=TEXT, errors=TEXT, replacement_char=INTEGER)
def unicode_encode(
    input: Any,  # noqa: A002  (the public name)
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    name: str | None = None,
) -> Any:
    """Strings of the characters whose numbers are in the last dimension.

    Parameters
    ----------
    input
        Numbers of characters, int32, as a tensor of rank 1 or more or a ragged tensor.
    output_encoding
        "UTF-8", "UTF-16-BE" or "UTF-32-BE".
    errors
        What happens at numbers of no character: "replace", "ignore" or "strict".
    replacement_char
        The number of the character that replaces them.
    name
        Name of the scope.

    Examples
    --------
    >>> tf.strings.unicode_encode([97, 98], "UTF-8").eval()
    b'ab'
    """
    with scopes.name_scope(name, "UnicodeEncode"):
        numbers = _given(input, dtypes.int32, "input")
        return _encoded(numbers, output_encoding, errors, replacement_char)


def _encoded(numbers: Any, encoding: str, on_error: str, replacement: int) -> Any:
    def encode(value: Any) -> Any:
        return _encoded(value, encoding, on_error, replacement)

    if isinstance(numbers, RaggedTensor):
        if len(numbers.flat_values.shape) > 1:
            return numbers.with_flat_values(encode(numbers.flat_values))
        if numbers.ragged_rank > 1:
            return numbers.with_values(encode(numbers.values))
        return gen_ops.unicode_encode(
            numbers.values,
            numbers.row_splits,
            errors=on_error,
            output_encoding=encoding,
            replacement_char=replacement,
        )
    rank = numbers.shape.ndims
    if rank == 0:
        raise ValueError("input: the rank must be at least 1, got a scalar")
    shape = array_ops.shape(numbers)
    rows = array_ops.reshape(numbers, array_join.stack([_size(shape[:-1]), shape[-1]]))
    texts = encode(RaggedTensor.from_tensor(rows))
    result: Tensor = array_ops.reshape(texts, shape[:-1])
    result.set_shape(numbers.shape[:-1])
    return result


def _size(shape: Tensor) -> Tensor:
    return gen_ops.prod(shape, [0])


@public("strings.ngrams")
@takes(data=_RAGGED, ngram_width=INTEGERS, separator=TEXT, padding_width=or_none(INTEGER))
def ngrams(
    data: Any,
    ngram_width: Any,
    separator: str = " ",
    pad_values: Any = None,
    padding_width: int | None = None,
    preserve_short_sequences: bool = False,
    name: str | None = None,
) -> Any:
    """Each sequence of `ngram_width` neighbours in the last dimension, joined.

    Parameters
    ----------
    data
        Strings of rank 1 or more, as a tensor or a ragged tensor.
    ngram_width
        An integer, or a list of several, whose results follow each other.
    separator
        What stands between the strings.
    pad_values
        A string that stands before and after each row, or a pair of two.
    padding_width
        How often at most; by default as often as every sequence holds one string of the row.
    preserve_short_sequences
        Whether a row that is too short is one sequence.
    name
        Name of the scope.

    Returns
    -------
    RaggedTensor
        As many dimensions; of a vector, a vector.

    Raises
    ------
    InvalidArgumentError
        A width is not positive.

    Examples
    --------
    >>> tf.strings.ngrams(["a", "b", "c"], 2).eval().tolist()
    [b'a b', b'b c']
    """
    widths = [ngram_width] if isinstance(ngram_width, int) else [int(one) for one in ngram_width]
    for width in widths:
        if width < 1:
            message = f"ngram_width: All ngram_widths must be greater than 0. Got {ngram_width}"
            raise errors.InvalidArgumentError(None, None, message)
    left, right = _pads(pad_values)
    if padding_width is not None and padding_width < 1:
        message = f"padding_width: padding_width must be greater than 0. Got {padding_width!r}"
        raise errors.InvalidArgumentError(None, None, message)
    if padding_width is not None and pad_values is None:
        raise ValueError("pad_values: pad_values must be provided if padding_width is set.")
    pad_width = 0 if pad_values is None else -1 if padding_width is None else padding_width

    def joined(rows: Any) -> Any:
        if rows.ragged_rank > 1:
            return rows.with_values(joined(rows.values))
        values, splits = gen_ops.string_n_grams(
            rows.values,
            rows.row_splits,
            separator=separator,
            ngram_widths=widths,
            left_pad=left,
            right_pad=right,
            pad_width=pad_width,
            preserve_short_sequences=preserve_short_sequences,
        )
        return RaggedTensor.from_row_splits(values, splits, validate=False)

    with scopes.name_scope(name, "StringNGrams"):
        strings = _given(data, dtypes.string, "data")
        rank = strings.shape.ndims
        if rank == 0:
            raise ValueError("data: the rank must be at least 1, got a scalar")
        if rank > 1:
            return joined(_rows_of(strings))
        size = array_ops.shape(strings, out_type=dtypes.int64)[0]
        splits = array_join.stack([convert_to_tensor(0, dtypes.int64), size])
        return joined(RaggedTensor.from_row_splits(strings, splits, validate=False)).values


def _pads(pad_values: Any) -> tuple[str, str]:
    if pad_values is None:
        return "", ""
    if isinstance(pad_values, str):
        return pad_values, pad_values
    if (
        isinstance(pad_values, (list, tuple))
        and len(pad_values) == 2
        and all(isinstance(one, str) for one in pad_values)
    ):
        return pad_values[0], pad_values[1]
    raise TypeError(
        f"pad_values: pad_values must be a string, tuple of strings, or None, got {pad_values!r}"
    )
