"""Elements that are set or that differ, places among sorted numbers, counts of numbers."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.apply_op import for_ragged
from millstream._impl.graph.arguments import DTYPE, NUMBER, TENSOR, TEXT, Kind, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import binary_ops, math_ops, reductions
from millstream._impl.ops.indexed_slices import IndexedSlices
from millstream._impl.values import dtypes

_SLICES = Kind("IndexedSlices", lambda value: isinstance(value, IndexedSlices))

unravel_index = public("unravel_index")(gen_ops.unravel_index)


@public("unique")
@takes(x=TENSOR, out_idx=DTYPE)
def unique(x: Any, out_idx: Any = dtypes.int32, name: str | None = None) -> Any:
    """The different elements of a vector, in the order of their first places.

    Parameters
    ----------
    x
        A vector.
    out_idx
        Type of the indices: int32 or int64.
    name
        Name of the operation.

    Returns
    -------
    y, idx
        The elements, and the place in `y` of each element of `x`.

    Examples
    --------
    >>> y, idx = tf.unique([3, 1, 3, 2])
    >>> y.eval().tolist(), idx.eval().tolist()
    ([3, 1, 2], [0, 1, 0, 2])
    """
    return gen_ops.unique(x, out_idx, name)


@public("unique_with_counts")
@takes(x=TENSOR, out_idx=DTYPE)
def unique_with_counts(x: Any, out_idx: Any = dtypes.int32, name: str | None = None) -> Any:
    """The different elements of a vector, with the number of times that each is there.

    Parameters
    ----------
    x
        A vector.
    out_idx
        Type of the indices and numbers: int32 or int64.
    name
        Name of the operation.

    Returns
    -------
    y, idx, count
        As for `unique`, and the numbers.

    Examples
    --------
    >>> tf.unique_with_counts([3, 1, 3, 2]).count.eval().tolist()
    [2, 1, 1]
    """
    return gen_ops.unique_with_counts(x, out_idx, name)


@public("where_v2")
@takes(condition=TENSOR, x=TENSOR, y=TENSOR)
@for_ragged("where_v2")
def where_v2(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """Elements of `x` where a condition holds, of `y` elsewhere; or where it holds.

    Parameters
    ----------
    condition
        Truth values; without `x` and `y` also numbers, of which those that are not 0 count.
    x, y
        Tensors of one type. They and the condition are broadcast to one shape.
    name
        Name of the result.

    Returns
    -------
    Tensor
        The elements; without `x` and `y`, the indices of the true elements, one a row, of int64.

    Raises
    ------
    ValueError
        Only one of `x` and `y` is given.

    Examples
    --------
    >>> tf.where_v2([[True], [False]], [1, 2], 0).eval().tolist()
    [[1, 2], [0, 0]]
    >>> tf.where_v2([False, True, True]).eval().tolist()
    [[1], [2]]
    """
    if x is None and y is None:
        return gen_ops.where(condition, name)
    if x is None or y is None:
        raise ValueError("x and y must both be given or both be left out")
    return gen_ops.select_v2(condition, x, y, name)


@public("setdiff1d")
@takes(x=TENSOR, y=TENSOR, index_dtype=DTYPE)
def setdiff1d(x: Any, y: Any, index_dtype: Any = dtypes.int32, name: str | None = None) -> Any:
    """The elements of a vector that another one lacks, and their places in it.

    Parameters
    ----------
    x, y
        Vectors of one type.
    index_dtype
        Type of the places: int32 or int64.
    name
        Name of the results.

    Examples
    --------
    >>> out, idx = tf.setdiff1d([1, 2, 3, 4], [2, 4])
    >>> out.eval(), idx.eval()
    (array([1, 3], dtype=int32), array([0, 2], dtype=int32))
    """
    return gen_ops.list_diff(x, y, index_dtype, name)


@public("sparse_mask", "sparse.mask")
@takes(a=_SLICES, mask_indices=TENSOR)
def sparse_mask(a: Any, mask_indices: Any, name: str | None = None) -> IndexedSlices:
    """The rows of slices without those of given indices.

    Parameters
    ----------
    a
        The slices.
    mask_indices
        The indices of the rows that are left out, a vector.
    name
        Name of the rows.

    Examples
    --------
    >>> rows = tf.IndexedSlices(tf.constant([[1.0], [2.0], [3.0]]), tf.constant([5, 7, 9]))
    >>> kept = tf.sparse_mask(rows, [7])
    >>> kept.indices.eval().tolist(), kept.values.eval().tolist()
    ([5, 9], [[1.0], [3.0]])
    """
    with scopes.name_scope(name, "sparse_mask", [a, mask_indices]) as scope:
        left_out = convert_to_tensor(mask_indices, a.indices.dtype, "mask_indices")
        indices, places = gen_ops.list_diff(a.indices, left_out)
        values = gen_ops.gather_v2(a.values, places, 0, name=scope)
        return IndexedSlices(values, indices, a.dense_shape)


@public("searchsorted")
@takes(sorted_sequence=TENSOR, values=TENSOR, side=TEXT, out_type=DTYPE)
def searchsorted(
    sorted_sequence: Any,
    values: Any,
    side: str = "left",
    out_type: Any = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """Where numbers would stand among sorted ones.

    Parameters
    ----------
    sorted_sequence
        Numbers in ascending order along the last dimension.
    values
        The numbers to find, in as many rows.
    side
        "left" or "right": before or behind those that equal them.
    out_type
        Type of the places: int32 or int64.
    name
        Name of the result.

    Examples
    --------
    >>> tf.searchsorted([1, 3, 3, 5], [3, 4]).eval()
    array([1, 3], dtype=int32)
    >>> tf.searchsorted([1, 3, 3, 5], [3, 4], side="right").eval()
    array([3, 3], dtype=int32)
    """
    if side not in ("left", "right"):
        raise ValueError(f"side: expected 'left' or 'right', got {side!r}")
    find = gen_ops.lower_bound if side == "left" else gen_ops.upper_bound
    rows = _rows(convert_to_tensor(sorted_sequence, name="sorted_sequence"))
    wanted = convert_to_tensor(values, name="values")
    found = find(rows, _rows(wanted), out_type, name)
    return gen_ops.reshape(found, gen_ops.shape(wanted))


def _rows(tensor: Tensor) -> Tensor:
    """A tensor as a matrix of its rows."""
    return gen_ops.reshape(tensor, [-1, gen_ops.shape(tensor)[-1]])


@public("bincount", "math.bincount")
@takes(arr=TENSOR, weights=TENSOR, minlength=NUMBER, maxlength=NUMBER, dtype=DTYPE)
def bincount(
    arr: Any,
    weights: Any = None,
    minlength: Any = None,
    maxlength: Any = None,
    dtype: Any = dtypes.int32,
) -> Tensor:
    """How often each number comes, from 0 on.

    Parameters
    ----------
    arr
        Numbers of int32, none negative.
    weights
        Added up in place of counts: a tensor of the shape of `arr`.
    minlength, maxlength
        The least and the greatest length of the result, which is by default one more than the
        largest number. Numbers beyond it are left out.
    dtype
        Type of the counts; sums of weights have that of the weights.

    Examples
    --------
    >>> tf.bincount([1, 3, 1]).eval()
    array([0, 2, 0, 1], dtype=int32)
    >>> tf.bincount([1, 3, 1], weights=[0.5, 2.0, 1.0], maxlength=2).eval()
    array([0. , 1.5], dtype=float32)
    """
    with scopes.name_scope(None, "bincount", [arr, weights]):
        numbers = convert_to_tensor(arr, dtypes.int32, "arr")
        is_nonempty = gen_ops.greater(gen_ops.size(numbers), 0)
        length = math_ops.cast(is_nonempty, dtypes.int32) * (reductions.reduce_max(numbers) + 1)
        if minlength is not None:
            length = gen_ops.maximum(convert_to_tensor(minlength, dtypes.int32), length)
        if maxlength is not None:
            length = gen_ops.minimum(convert_to_tensor(maxlength, dtypes.int32), length)
        if weights is None:
            none = convert_to_tensor([], dtypes.as_dtype(dtype).base_dtype)
            return gen_ops.bincount(numbers, length, none)
        return gen_ops.bincount(numbers, length, convert_to_tensor(weights, name="weights"))


@public("histogram_fixed_width")
@takes(values=TENSOR, value_range=TENSOR, nbins=NUMBER, dtype=DTYPE)
def histogram_fixed_width(
    values: Any,
    value_range: Any,
    nbins: Any = 100,
    dtype: Any = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """How many numbers lie in each bin, of bins of equal width.

    Parameters
    ----------
    values, value_range, nbins
        As for `histogram_fixed_width_bins`.
    dtype
        Type of the result: int32 or int64.
    name
        Name of the operation.

    Examples
    --------
    >>> tf.histogram_fixed_width([-1.0, 0.5, 1.5, 4.0], [0.0, 2.0], nbins=2).eval()
    array([2, 2], dtype=int32)
    """
    return gen_ops.histogram_fixed_width(values, value_range, nbins, dtype, name)


@public("histogram_fixed_width_bins")
@takes(values=TENSOR, value_range=TENSOR, nbins=NUMBER, dtype=DTYPE)
def histogram_fixed_width_bins(
    values: Any,
    value_range: Any,
    nbins: Any = 100,
    dtype: Any = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """The bin in which each number lies, of bins of equal width.

    Parameters
    ----------
    values
        The numbers.
    value_range
        The least and the greatest value, which the bins divide. What lies outside is in the first
        or the last one.
    nbins
        The number of bins.
    dtype
        Not used: the bins are numbered in int32.
    name
        Name of the scope.

    Examples
    --------
    >>> tf.histogram_fixed_width_bins([-1.0, 0.5, 1.5, 4.0], [0.0, 2.0], nbins=2).eval()
    array([0, 0, 1, 1], dtype=int32)
    """
    with scopes.name_scope(name, "histogram_fixed_width_bins", [values, value_range, nbins]):
        numbers = convert_to_tensor(values, name="values")
        limits = convert_to_tensor(value_range, numbers.dtype, "value_range")
        count = math_ops.cast(convert_to_tensor(nbins, dtypes.int32, "nbins"), numbers.dtype)
        part = binary_ops.truediv(numbers - limits[0], limits[1] - limits[0])
        places = gen_ops.floor(math_ops.cast(count, part.dtype) * part)
        last = math_ops.cast(count, part.dtype) - 1
        inside = gen_ops.maximum(gen_ops.minimum(places, last), gen_ops.zeros_like(last))
        return math_ops.cast(inside, dtypes.int32)
