"""Strings as rows of parts: of their bytes, and of neighbours joined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import (
    FLAG,
    INTEGER,
    INTEGERS,
    TENSOR,
    TEXT,
    Kind,
    or_none,
    takes,
)
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.ops.ragged_tensor import RaggedTensor
from millstream._impl.ops.sparse_tensor import SparseTensor
from millstream._impl.values import dtypes

_PADS = Kind(
    "a text or a pair of texts", lambda value: isinstance(value, (str, bytes, list, tuple))
)


def rows_of_parts(parts: SparseTensor) -> RaggedTensor:
    """A sparse matrix, whose elements are at the beginnings of rows, as rows."""
    rowids, count = parts.indices[:, 0], parts.dense_shape[0]
    return RaggedTensor.from_value_rowids(parts.values, rowids, count, validate=False)


def split_in_rows(strings: Any, sep: str, maxsplit: int, name: str | None) -> RaggedTensor:
    """The parts of each string of a tensor between separators: `tf.strings.split`."""
    with scopes.name_scope(name, "StringSplit", [strings]):
        rank = strings.shape.ndims
        is_deep = rank is not None and rank > 1
        flat = gen_ops.reshape(strings, [-1]) if is_deep else strings
        rows = rows_of_parts(SparseTensor(*gen_ops.string_split_v2(flat, sep, maxsplit)))
        if not is_deep:
            return rows
        outer = RaggedTensor.from_tensor(strings, ragged_rank=rank - 1)
        result: RaggedTensor = outer.with_flat_values(rows)
        return result


def _strings(value: Any, argument: str) -> Any:
    if isinstance(value, RaggedTensor):
        return value
    strings = convert_to_tensor(value, dtypes.string, argument)
    if strings.shape.ndims is None:
        raise ValueError(f"{argument}: {argument} must have a statically-known rank.")
    return strings


@public("strings.bytes_split")
@takes(input=TENSOR)
def bytes_split(input: Any, name: str | None = None) -> Any:  # noqa: A002
    """The bytes of strings, each as a string.

    Parameters
    ----------
    input
        The strings: a tensor of known rank, or a ragged one.
    name
        Name of the scope.

    Returns
    -------
    Tensor or RaggedTensor
        Of a scalar a vector, else a row for each string.

    Raises
    ------
    ValueError
        The rank is not known.

    Examples
    --------
    >>> parts = tf.strings.bytes_split(["ab", "c"])
    >>> tf.get_default_session().run(parts).to_list()
    [[b'a', b'b'], [b'c']]
    """
    with scopes.name_scope(name, "StringsByteSplit", [input]):
        return _bytes_of(_strings(input, "input"))


def _bytes_of(strings: Any) -> Any:
    if isinstance(strings, RaggedTensor):
        return strings.with_flat_values(_bytes_of(strings.flat_values))
    rank = strings.shape.ndims
    if rank is None:
        raise ValueError("input: input must have a statically-known rank.")
    if rank > 1:
        return _bytes_of(RaggedTensor.from_tensor(strings))
    vector = gen_ops.reshape(strings, [1]) if rank == 0 else strings
    rows = rows_of_parts(SparseTensor(*gen_ops.string_split(vector, "", False)))
    return rows.values if rank == 0 else rows


@public("strings.ngrams")
@takes(
    data=TENSOR,
    ngram_width=INTEGERS,
    separator=TEXT,
    pad_values=or_none(_PADS),
    padding_width=or_none(INTEGER),
    preserve_short_sequences=FLAG,
)
def ngrams(
    data: Any,
    ngram_width: int | Sequence[int],
    separator: str = " ",
    pad_values: Any = None,
    padding_width: int | None = None,
    preserve_short_sequences: bool = False,
    name: str | None = None,
) -> Any:
    """Neighbours in rows of strings, joined.

    Parameters
    ----------
    data
        The strings: a tensor of known rank, at least 1, or a ragged one. The last dimension is that
        of the rows.
    ngram_width
        How many neighbours are joined, or a list of such numbers. Those of the first number come
        first in a row.
    separator
        What comes between two strings.
    pad_values
        What is put before and behind each row: a text, or one for the left and one for the right;
        by default nothing.
    padding_width
        How often, but at most one time less than neighbours are joined; by default as often.
    preserve_short_sequences
        Whether a row that is too short for all widths is joined as a whole.
    name
        Name of the scope.

    Returns
    -------
    Tensor or RaggedTensor
        Of a vector a vector, else rows.

    Raises
    ------
    TypeError
        `pad_values` holds something else than texts.
    ValueError
        The rank is not known or 0, a width is not positive, or `padding_width` is given without
        `pad_values`.

    Examples
    --------
    >>> tf.strings.ngrams(["a", "b", "c"], 2).eval().tolist()
    [b'a b', b'b c']
    >>> tf.strings.ngrams(["a", "b"], 2, pad_values=("<", ">"), separator="").eval().tolist()
    [b'<a', b'ab', b'b>']
    """
    with scopes.name_scope(name, "StringNGrams", [data]):
        left, right = _pads(pad_values)
        if padding_width is not None and padding_width < 1:
            raise ValueError(f"padding_width must be greater than 0, got {padding_width}")
        if padding_width is not None and pad_values is None:
            raise ValueError("pad_values must be provided if padding_width is set.")
        if pad_values is None:
            padding_width = 0
        listed: Any = ngram_width if isinstance(ngram_width, (list, tuple)) else [ngram_width]
        widths = [int(width) for width in listed]
        if any(width < 1 for width in widths):
            raise ValueError(f"All ngram_widths must be greater than 0. Got {ngram_width}")
        attrs = (
            separator,
            widths,
            left,
            right,
            -1 if padding_width is None else padding_width,
            bool(preserve_short_sequences),
        )
        strings = _strings(data, "data")
        if isinstance(strings, RaggedTensor):
            return _joined(strings, attrs)
        rank = strings.shape.ndims
        if rank == 0:
            raise ValueError("data: data must have rank > 0, got a scalar")
        if rank > 1:
            return _joined(RaggedTensor.from_tensor(strings, ragged_rank=rank - 1), attrs)
        one_row = RaggedTensor.from_row_starts(strings, [0], validate=False)
        return _joined(one_row, attrs).flat_values


def _pads(pad_values: Any) -> tuple[Any, Any]:
    """What is put before rows, and behind them."""
    pads = pad_values if isinstance(pad_values, (list, tuple)) else (pad_values, pad_values)
    if pad_values is None:
        return "", ""
    if len(pads) != 2 or not all(isinstance(pad, (str, bytes)) for pad in pads):
        raise TypeError(
            f"pad_values must be a string, tuple of strings, or None, got {pad_values!r}"
        )
    return pads[0], pads[1]


def _joined(rows: RaggedTensor, attrs: tuple[Any, ...]) -> Any:
    if rows.ragged_rank > 1:
        return rows.with_values(_joined(rows.values, attrs))
    found, splits = gen_ops.string_n_grams(rows.flat_values, rows.row_splits, *attrs)
    return RaggedTensor(found, splits, internal=True)
