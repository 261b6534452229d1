"""Matrices: their diagonals, those of ones on the diagonal, and transposed ones."""

from __future__ import annotations

from typing import Any

import numpy as np

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import (
    DTYPE,
    INTEGERS,
    NUMBER,
    SHAPE,
    TENSOR,
    or_none,
    takes,
)
from millstream._impl.graph.convert import constant_value, convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import array_creation, array_join, array_ops, math_ops
from millstream._impl.values import dtypes

diag = public("diag", "linalg.tensor_diag")(gen_ops.diag)
diag_part = public("diag_part", "linalg.tensor_diag_part")(gen_ops.diag_part)
matrix_band_part = public("matrix_band_part", "linalg.band_part")(gen_ops.matrix_band_part)


def _padding(value: Any, dtype: dtypes.DType) -> Tensor:
    """A padding in the type of the elements, of which 0 also stands for False."""
    if dtype.base_dtype == dtypes.bool and value == 0:
        value = False
    return convert_to_tensor(value, dtype.base_dtype, "padding_value")


@public("matrix_diag", "linalg.diag")
@takes(diagonal=TENSOR, k=INTEGERS, num_rows=NUMBER, num_cols=NUMBER, padding_value=TENSOR)
def matrix_diag(
    diagonal: Any,
    name: str | None = "diag",
    k: Any = 0,
    num_rows: Any = -1,
    num_cols: Any = -1,
    padding_value: Any = 0,
) -> Tensor:
    """Matrices with given diagonals.

    Parameters
    ----------
    diagonal
        The diagonals: the last dimension is one, or, if there are several, the last two are, the
        uppermost first.
    name
        Name of the result.
    k
        Which diagonal it is, or the lowest and the highest of several: 0 is the main one, 1 the
        one above it, -1 the one below.
    num_rows, num_cols
        Sizes of the matrices; -1 stands for the smallest that hold the diagonals.
    padding_value
        What the other elements are.

    Examples
    --------
    >>> tf.matrix_diag([1, 2]).eval().tolist()
    [[1, 0], [0, 2]]
    >>> tf.matrix_diag([1, 2], k=1, padding_value=9).eval().tolist()
    [[9, 1, 9], [9, 9, 2], [9, 9, 9]]
    """
    value = convert_to_tensor(diagonal, name="diagonal")
    padding = _padding(padding_value, value.dtype)
    return gen_ops.matrix_diag_v2(value, k, num_rows, num_cols, padding, name)


@public("matrix_diag_part", "linalg.diag_part")
@takes(input=TENSOR, k=INTEGERS, padding_value=TENSOR)
def matrix_diag_part(
    input: Any,  # noqa: A002
    name: str | None = "diag_part",
    k: Any = 0,
    padding_value: Any = 0,
) -> Tensor:
    """Diagonals of matrices.

    Parameters
    ----------
    input
        The matrices, the last two dimensions.
    name
        Name of the result.
    k
        Which diagonal, or the lowest and the highest of several: 0 is the main one, 1 the one above
        it, -1 the one below.
    padding_value
        What diagonals that are shorter than others end with.

    Returns
    -------
    Tensor
        The diagonals in the last dimension, or, if there are several, in the last two, the
        uppermost first.

    Examples
    --------
    >>> x = [[1, 2], [3, 4]]
    >>> tf.matrix_diag_part(x).eval()
    array([1, 4], dtype=int32)
    >>> tf.matrix_diag_part(x, k=[0, 1]).eval().tolist()
    [[2, 0], [1, 4]]
    """
    value = convert_to_tensor(input, name="input")
    return gen_ops.matrix_diag_part_v2(value, k, _padding(padding_value, value.dtype), name)


@public("matrix_set_diag", "linalg.set_diag")
@takes(input=TENSOR, diagonal=TENSOR, k=INTEGERS)
def matrix_set_diag(
    input: Any,  # noqa: A002
    diagonal: Any,
    name: str | None = "set_diag",
    k: Any = 0,
) -> Tensor:
    """Matrices with some of their diagonals replaced.

    Parameters
    ----------
    input
        The matrices, the last two dimensions.
    diagonal
        The new diagonals, as `tf.matrix_diag_part` gives them.
    name
        Name of the result.
    k
        Which diagonal, or the lowest and the highest of several.

    Examples
    --------
    >>> tf.matrix_set_diag([[1, 2], [3, 4]], [7, 8]).eval().tolist()
    [[7, 2], [3, 8]]
    """
    return gen_ops.matrix_set_diag_v2(input, diagonal, k, name)


@public("eye", "linalg.eye")
@takes(num_rows=NUMBER, num_columns=NUMBER, batch_shape=SHAPE, dtype=DTYPE)
def eye(
    num_rows: Any,
    num_columns: Any = None,
    batch_shape: Any = None,
    dtype: Any = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """Matrices with ones on the diagonal and zeros elsewhere.

    Parameters
    ----------
    num_rows
        The number of rows.
    num_columns
        The number of columns, by default that of the rows.
    batch_shape
        Dimensions before those of the matrix, by default none.
    dtype
        Dtype of the result.
    name
        Name of the scope.

    Returns
    -------
    Tensor
        Of the shape ``[*batch_shape, num_rows, num_columns]``.

    Examples
    --------
    >>> tf.eye(2, 3, dtype=tf.int32).eval().tolist()
    [[1, 0, 0], [0, 1, 0]]
    """
    wanted = dtypes.as_dtype(dtype)
    with scopes.name_scope(name, "eye", [num_rows, num_columns, batch_shape]):
        columns = num_rows if num_columns is None else num_columns
        row = math_ops.range(num_rows)
        column = math_ops.range(columns)
        matrix = math_ops.cast(gen_ops.equal(array_ops.expand_dims(row, 1), column), wanted)
        if batch_shape is None:
            return matrix
        batch = convert_to_tensor(batch_shape, dtypes.int32, "shape")
        ones = array_creation.ones([gen_ops.size(batch)], dtypes.int32)
        one = gen_ops.reshape(matrix, array_join.concat([ones, gen_ops.shape(matrix)], 0))
        return gen_ops.tile(one, array_join.concat([batch, [1, 1]], 0))


@public("matrix_transpose", "linalg.matrix_transpose", "linalg.transpose")
@takes(a=TENSOR)
def matrix_transpose(a: Any, name: str = "matrix_transpose", conjugate: bool = False) -> Tensor:
    """The tensor with its last two dimensions exchanged.

    Parameters
    ----------
    a
        A tensor of rank 2 or more.
    name
        Name of the scope.
    conjugate
        Whether complex elements are conjugated.

    Raises
    ------
    ValueError
        The rank is known to be below 2.

    Examples
    --------
    >>> tf.matrix_transpose([[[1, 2], [3, 4]]]).eval().tolist()
    [[[1, 3], [2, 4]]]
    """
    with scopes.name_scope(name, "matrix_transpose", [a]):
        tensor = convert_to_tensor(a, name="a")
        rank = tensor.shape.ndims
        if rank is None:
            known = gen_ops.rank(tensor)
            first = math_ops.range(known - 2)
            order = array_join.concat([first, array_join.stack([known - 1, known - 2])], 0)
        elif rank < 2:
            raise ValueError(
                "Argument 'a' should be a (batch) matrix, with rank >= 2. Found: "
                f"{tensor.shape} of {tensor!r}"
            )
        else:
            order = convert_to_tensor([*range(rank - 2), rank - 1, rank - 2])
        return array_ops.transpose(tensor, order, conjugate=conjugate)


@public("sequence_mask")
@takes(lengths=TENSOR, maxlen=or_none(TENSOR), dtype=DTYPE)
def sequence_mask(
    lengths: Any, maxlen: Any = None, dtype: Any = dtypes.bool, name: str | None = None
) -> Tensor:
    """Which places of padded sequences are within them: place j of row i if ``j < lengths[i]``.

    Parameters
    ----------
    lengths
        Lengths of the sequences, a tensor of integers of any shape.
    maxlen
        Length of a padded sequence, by default the greatest of `lengths`.
    dtype
        Dtype of the result.
    name
        Name of the scope.

    Returns
    -------
    Tensor
        Of the shape ``[*shape of lengths, maxlen]``; True or 1 within a sequence.

    Raises
    ------
    ValueError
        `maxlen` is no scalar.

    Examples
    --------
    >>> tf.sequence_mask([1, 3], dtype=tf.int32).eval().tolist()
    [[1, 0, 0], [1, 1, 1]]
    """
    with scopes.name_scope(name, "SequenceMask", [lengths, maxlen]):
        counts = convert_to_tensor(lengths)
        if maxlen is None:
            every = math_ops.range(gen_ops.rank(counts))
            longest = gen_ops.maximum(
                convert_to_tensor(0, counts.dtype), gen_ops.max(counts, every)
            )
        else:
            longest = convert_to_tensor(maxlen)
        if longest.shape.ndims not in (None, 0):
            raise ValueError(f"maxlen must be scalar for sequence_mask, got shape {longest.shape}")
        places = math_ops.range(
            convert_to_tensor(0, longest.dtype), longest, convert_to_tensor(1, longest.dtype)
        )
        ends = math_ops.cast(array_ops.expand_dims(counts, -1), longest.dtype)
        mask = gen_ops.less(places, ends)
        fixed = constant_value(longest)
        if fixed is not None and counts.shape.ndims is not None:
            mask.set_shape([*counts.shape.as_list(), max(0, int(fixed))])
        wanted = dtypes.as_dtype(dtype)
        return mask if wanted == dtypes.bool else math_ops.cast(mask, wanted)


@public("meshgrid")
def meshgrid(*args: Any, indexing: str = "xy", name: str = "meshgrid") -> list[Tensor]:
    """Coordinates of the points of a grid.

    Parameters
    ----------
    args
        The coordinates along each axis, tensors of rank 1 and one dtype.
    indexing
        "xy" if the first axis is that of the columns, "ij" if it is that of the rows.
    name
        Name of the scope.

    Returns
    -------
    list of Tensor
        One for each axis: its coordinate at each point of the grid.

    Raises
    ------
    ValueError
        `indexing` is neither.

    Examples
    --------
    >>> x, y = tf.meshgrid([1, 2, 3], [4, 5])
    >>> x.eval().tolist(), y.eval().tolist()
    ([[1, 2, 3], [1, 2, 3]], [[4, 4, 4], [5, 5, 5]])
    """
    if indexing not in ("xy", "ij"):
        raise ValueError("indexing parameter must be either 'xy' or 'ij'")
    count = len(args)
    axes = list(range(count))
    if indexing == "xy" and count > 1:
        axes[:2] = [1, 0]
    with scopes.name_scope(name, "meshgrid", args):
        tensors = [convert_to_tensor(arg) for arg in args]
        grids = []
        sizes = [gen_ops.size(tensor) for tensor in tensors]
        for tensor, axis in zip(tensors, axes, strict=True):
            sides = np.ones(count, np.int32)
            sides[axis] = -1
            repeats: list[Any] = [1] * count
            for other, size in zip(axes, sizes, strict=True):
                if other != axis:
                    repeats[other] = size
            grids.append(gen_ops.tile(gen_ops.reshape(tensor, sides), array_join.stack(repeats)))
        return grids
