"""Making, reshaping, joining and cutting tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from millstream import dtypes, gen_ops, scopes, tensor_shape
from millstream.arguments import one_of
from millstream.convert import constant, constant_value, convert_to_tensor, holds_tensor
from millstream.dtypes import DType
from millstream.operation import Tensor
from millstream.tensor_like import TensorLike

__all__ = [
    "concat",
    "expand_dims",
    "fill",
    "gather",
    "get_static_value",
    "identity",
    "identity_n",
    "invert_permutation",
    "newaxis",
    "one_hot",
    "ones",
    "ones_like",
    "pack",
    "pad",
    "placeholder",
    "placeholder_with_default",
    "rank",
    "reshape",
    "shape",
    "shape_n",
    "size",
    "slice",
    "split",
    "squeeze",
    "stack",
    "stop_gradient",
    "strided_slice",
    "tile",
    "transpose",
    "unpack",
    "unstack",
    "where",
    "zeros",
    "zeros_like",
]

newaxis = None

identity = gen_ops.identity
identity_n = gen_ops.identity_n
stop_gradient = gen_ops.stop_gradient
invert_permutation = gen_ops.invert_permutation


def pack_list(value: Any, dtype: DType | None, name: str) -> Tensor:
    """A nested list in which tensors occur, stacked; for the package."""
    if dtype is None:
        dtype = _dtype_of_tensor_in(value)
    with scopes.name_scope(name) as scope:
        items = [
            pack_list(item, dtype, str(index))
            if isinstance(item, (list, tuple)) and holds_tensor(item)
            else convert_to_tensor(item, dtype, str(index))
            for index, item in enumerate(value)
        ]
        return gen_ops.pack(items, name=scope)


def _dtype_of_tensor_in(value: Any) -> DType | None:
    if isinstance(value, TensorLike):
        return value.dtype.base_dtype
    if isinstance(value, (list, tuple)):
        for item in value:
            found = _dtype_of_tensor_in(item)
            if found is not None:
                return found
    return None


def shape(input: Any, name: str | None = None, out_type: Any = dtypes.int32) -> Tensor:  # noqa: A002
    """The dimensions of a tensor, as a tensor.

    Parameters
    ----------
    input
        The tensor.
    name
        Name of the result.
    out_type
        int32 or int64.

    Returns
    -------
    Tensor
        Shape [rank].
    """
    return gen_ops.shape(input, out_type, name)


def shape_n(input: Any, out_type: Any = dtypes.int32, name: str | None = None) -> list[Tensor]:  # noqa: A002
    """The dimensions of each of several tensors.

    Parameters
    ----------
    input
        The tensors.
    out_type
        int32 or int64.
    name
        Name of the result.
    """
    return gen_ops.shape_n(input, out_type, name)


def size(input: Any, name: str | None = None, out_type: Any = dtypes.int32) -> Tensor:  # noqa: A002
    """The number of elements of a tensor, as a scalar tensor.

    Parameters
    ----------
    input
        The tensor.
    name
        Name of the result.
    out_type
        int32 or int64.
    """
    return gen_ops.size(input, out_type, name)


def rank(input: Any, name: str | None = None) -> Tensor:  # noqa: A002
    """The number of dimensions of a tensor, as a scalar tensor of int32.

    Parameters
    ----------
    input
        The tensor.
    name
        Name of the result.
    """
    return gen_ops.rank(input, name)


def _dims_tensor(shape: Any) -> Tensor:
    if isinstance(shape, TensorLike):
        return shape.as_tensor()
    if isinstance(shape, tensor_shape.TensorShape):
        shape = shape.as_list()
    if not isinstance(shape, (list, tuple, np.ndarray)):
        shape = [shape]
    if holds_tensor(shape):
        dtype = _dtype_of_tensor_in(shape)
        return convert_to_tensor(shape, dtype, "shape/packed")
    return convert_to_tensor(shape, dtypes.int32, "shape")


def zeros(shape: Any, dtype: Any = dtypes.float32, name: str | None = None) -> Tensor:
    """A tensor of zeros (empty strings, False).

    Parameters
    ----------
    shape
        A shape, list of integers and scalar tensors, or a vector tensor.
    dtype
        Type of the elements.
    name
        Name of the result.

    Examples
    --------
    >>> import millstream as tf
    >>> tf.zeros([2, 3]).shape.as_list()
    [2, 3]
    """
    wanted = dtypes.as_dtype(dtype).base_dtype
    zero: Any = "" if wanted == dtypes.string else False if wanted.is_bool else 0
    return _filled(shape, zero, wanted, name, "zeros")


def ones(shape: Any, dtype: Any = dtypes.float32, name: str | None = None) -> Tensor:
    """A tensor of ones (True).

    Parameters
    ----------
    shape
        A shape, list of integers and scalar tensors, or a vector tensor.
    dtype
        Type of the elements.
    name
        Name of the result.
    """
    wanted = dtypes.as_dtype(dtype).base_dtype
    return _filled(shape, True if wanted.is_bool else 1, wanted, name, "ones")


def _filled(shape: Any, value: Any, dtype: DType, name: str | None, default_name: str) -> Tensor:
    with scopes.name_scope(name, default_name) as scope:
        known = _known_dims(shape)
        if known is not None and int(np.prod(known, dtype=np.int64)) < 1000:
            return constant(value, dtype, known, scope)
        return gen_ops.fill(_dims_tensor(shape), constant(value, dtype), name=scope)


def _known_dims(shape: Any) -> list[int] | None:
    """The dimensions of a shape argument that holds no tensor, None when it does."""
    if isinstance(shape, TensorLike) or holds_tensor(shape):
        return None
    dims = tensor_shape.TensorShape(
        np.asarray(shape).tolist() if isinstance(shape, np.ndarray) else shape
    )
    if not dims.is_fully_defined():
        raise ValueError(f"shape: expected known dimensions, got {dims}")
    return [size or 0 for size in dims.as_list()]


def zeros_like(
    tensor: Any, dtype: Any = None, name: str | None = None, optimize: bool = True
) -> Tensor:
    """A tensor of zeros with the shape of another.

    Parameters
    ----------
    tensor
        The other tensor.
    dtype
        Type of the elements, by default that of `tensor`.
    name
        Name of the result.
    optimize
        Not used: the runtime folds constants by itself.
    """
    with scopes.name_scope(name, "zeros_like", [tensor]) as scope:
        value = convert_to_tensor(tensor, name="tensor")
        if dtype is not None and value.dtype.base_dtype != dtypes.as_dtype(dtype):
            return zeros(shape(value), dtype, scope)
        return gen_ops.zeros_like(value, scope)


def ones_like(
    tensor: Any, dtype: Any = None, name: str | None = None, optimize: bool = True
) -> Tensor:
    """A tensor of ones with the shape of another.

    Parameters
    ----------
    tensor
        The other tensor.
    dtype
        Type of the elements, by default that of `tensor`.
    name
        Name of the result.
    optimize
        Not used: the runtime folds constants by itself.
    """
    with scopes.name_scope(name, "ones_like", [tensor]) as scope:
        value = convert_to_tensor(tensor, name="tensor")
        wanted = value.dtype.base_dtype if dtype is None else dtypes.as_dtype(dtype)
        if value.shape.is_fully_defined():
            return ones(value.shape, wanted, scope)
        return ones(shape(value), wanted, scope)


def fill(dims: Any, value: Any, name: str | None = None) -> Tensor:
    """A tensor whose elements are all one value.

    Parameters
    ----------
    dims
        Its dimensions.
    value
        The value, a scalar.
    name
        Name of the result.
    """
    return gen_ops.fill(dims, value, name)


def placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> Tensor:
    """A tensor whose value each step is fed.

    Parameters
    ----------
    dtype
        Type of the elements.
    shape
        What is known of the shape; None when nothing is.
    name
        Name of the operation.

    Raises
    ------
    TypeError
        `dtype` is no data type, or `shape` no shape.

    Examples
    --------
    >>> import millstream as tf
    >>> tf.placeholder(tf.float32, [None, 784]).shape.as_list()
    [None, 784]
    """
    return gen_ops.placeholder(dtypes.as_dtype(dtype), tensor_shape.TensorShape(shape), name=name)


def placeholder_with_default(input: Any, shape: Any, name: str | None = None) -> Tensor:  # noqa: A002
    """A tensor that has a value unless a step is fed another.

    Parameters
    ----------
    input
        The value.
    shape
        What is known of the shape of what may be fed.
    name
        Name of the operation.
    """
    return gen_ops.placeholder_with_default(input, tensor_shape.TensorShape(shape), name=name)


def reshape(tensor: Any, shape: Any, name: str | None = None) -> Tensor:
    """The elements of a tensor in another shape.

    Parameters
    ----------
    tensor
        The tensor.
    shape
        The dimensions; one may be -1, and is computed from the others.
    name
        Name of the result.
    """
    return gen_ops.reshape(tensor, shape, name)


def expand_dims(
    input: Any,  # noqa: A002
    axis: Any = None,
    name: str | None = None,
    dim: Any = None,
) -> Tensor:
    """A tensor with a dimension of size 1 inserted.

    Parameters
    ----------
    input
        The tensor.
    axis
        Where to insert it; negative counts from the end.
    name
        Name of the result.
    dim
        Old name of `axis`.
    """
    axis = one_of(axis, dim, "axis", "dim")
    if axis is None:
        raise ValueError("axis: expected where to insert a dimension")
    return gen_ops.expand_dims(input, axis, name)


def squeeze(
    input: Any,  # noqa: A002
    axis: Any = None,
    name: str | None = None,
    squeeze_dims: Any = None,
) -> Tensor:
    """A tensor without dimensions of size 1.

    Parameters
    ----------
    input
        The tensor.
    axis
        Which dimensions to drop, by default all of size 1.
    name
        Name of the result.
    squeeze_dims
        Old name of `axis`.
    """
    axis = one_of(axis, squeeze_dims, "axis", "squeeze_dims")
    dims = [] if axis is None else list(np.atleast_1d(axis).tolist())
    return gen_ops.squeeze(input, dims, name)


def transpose(
    a: Any, perm: Any = None, name: str | None = "transpose", conjugate: bool = False
) -> Tensor:
    """A tensor with its dimensions in another order.

    Parameters
    ----------
    a
        The tensor.
    perm
        Which dimension of `a` each dimension of the result is; by default the reverse order.
    name
        Name of the result.
    conjugate
        Take the complex conjugate as well.
    """
    if conjugate:
        raise NotImplementedError("conjugate: complex numbers are not there yet")
    with scopes.name_scope(name, "transpose", [a]) as scope:
        value = convert_to_tensor(a, name="a")
        if perm is None:
            known = value.shape.ndims
            if known is not None:
                perm = np.arange(known, dtype=np.int32)[::-1]
            else:
                count = gen_ops.rank(value)
                perm = (count - 1) - gen_ops.range(0, count, 1)
        return gen_ops.transpose(value, perm, scope)


def concat(values: Any, axis: Any, name: str | None = "concat") -> Tensor:
    """Tensors one after the other along a dimension.

    Parameters
    ----------
    values
        The tensors, of one type and of shapes that differ in that dimension only.
    axis
        The dimension; negative counts from the end.
    name
        Name of the result.
    """
    if not isinstance(values, (list, tuple)):
        values = [values]
    if len(values) == 1:
        with scopes.name_scope(name, "concat") as scope:
            convert_to_tensor(axis, dtypes.int32, "concat_dim").shape.assert_has_rank(0)
            return gen_ops.identity(values[0], scope)
    return gen_ops.concat_v2(list(values), axis, name or "concat")


def stack(values: Any, axis: int = 0, name: str | None = "stack") -> Tensor:
    """Tensors of one shape, stacked along a new dimension.

    Parameters
    ----------
    values
        The tensors.
    axis
        Where the new dimension is; negative counts from the end.
    name
        Name of the result.
    """
    if axis == 0 and not isinstance(values, TensorLike):
        if not holds_tensor(values):
            return convert_to_tensor(values, name=name or "stack")
        values = list(values)
    if isinstance(values, TensorLike):
        values = unstack(values)
    dtype = _dtype_of_tensor_in(list(values))
    items = [convert_to_tensor(value, dtype) for value in values]
    if items and None not in (items[0].shape.ndims,):
        count = (items[0].shape.ndims or 0) + 1
        if not -count <= axis < count:
            raise ValueError(f"axis: expected one in [{-count}, {count}), got {axis}")
    return gen_ops.pack(items, axis, name or "stack")


pack = stack


def unstack(
    value: Any, num: int | None = None, axis: int = 0, name: str | None = "unstack"
) -> list[Tensor]:
    """The parts of a tensor along a dimension, which they lack.

    Parameters
    ----------
    value
        The tensor.
    num
        How many parts, where the static shape does not say it.
    axis
        The dimension; negative counts from the end.
    name
        Name of the results.

    Raises
    ------
    ValueError
        `num` is needed, or `axis` beyond the rank.
    """
    tensor = convert_to_tensor(value)
    if num is None:
        count = tensor.shape.ndims
        if count is None:
            raise ValueError("num: needed, because the rank of value is not known")
        if not -count <= axis < count:
            raise ValueError(f"axis: expected one in [{-count}, {count}), got {axis}")
        num = tensor.shape[axis].value
        if num is None:
            raise ValueError(f"num: needed, because dimension {axis} of {tensor.shape} is unknown")
    return gen_ops.unpack(tensor, num, axis, name or "unstack")


unpack = unstack


def split(
    value: Any,
    num_or_size_splits: Any,
    axis: Any = 0,
    num: int | None = None,
    name: str | None = "split",
) -> list[Tensor]:
    """Parts of a tensor along a dimension.

    Parameters
    ----------
    value
        The tensor.
    num_or_size_splits
        The number of equal parts, or the size of each part, one of which may be -1 for the rest.
    axis
        The dimension.
    num
        How many parts, where the sizes are a tensor of unknown shape.
    name
        Name of the results.
    """
    sizes = num_or_size_splits
    if isinstance(sizes, (int, np.integer)) and not isinstance(sizes, bool):
        return gen_ops.split(axis, value, int(sizes), name or "split")
    tensor = convert_to_tensor(sizes, preferred_dtype=dtypes.int32)
    if num is None:
        num = tensor.shape[0].value if tensor.shape.ndims == 1 else None
        if num is None:
            raise ValueError("num: needed, because the number of sizes is not known")
    return gen_ops.split_v(value, tensor, axis, num, name or "split")


def slice(input_: Any, begin: Any, size: Any, name: str | None = None) -> Tensor:  # noqa: A001
    """A box of a tensor.

    Parameters
    ----------
    input_
        The tensor.
    begin
        Its first index in each dimension.
    size
        Its size in each dimension; -1 takes all that is left.
    name
        Name of the result.
    """
    return gen_ops.slice(input_, begin, size, name)


def strided_slice(
    input_: Any,
    begin: Any,
    end: Any,
    strides: Any = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    var: Any = None,
    name: str | None = None,
) -> Tensor:
    """Every so many elements of a box of a tensor, as ``tensor[...]`` takes them.

    Parameters
    ----------
    input_
        The tensor.
    begin, end, strides
        Bounds and step of each position.
    begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask
        A bit for each position: no lower bound, no upper bound, as many dimensions as are left, a
        new dimension, one index only.
    var
        Not used.
    name
        Name of the result.
    """
    if strides is None:
        strides = ones_like(convert_to_tensor(begin))
    return gen_ops.strided_slice(
        input_,
        begin,
        end,
        strides,
        begin_mask,
        end_mask,
        ellipsis_mask,
        new_axis_mask,
        shrink_axis_mask,
        name,
    )


def tile(input: Any, multiples: Any, name: str | None = None) -> Tensor:  # noqa: A002
    """A tensor repeated along each dimension.

    Parameters
    ----------
    input
        The tensor.
    multiples
        How often, for each dimension.
    name
        Name of the result.
    """
    return gen_ops.tile(input, multiples, name)


def pad(
    tensor: Any,
    paddings: Any,
    mode: str = "CONSTANT",
    name: str | None = None,
    constant_values: Any = 0,
) -> Tensor:
    """A tensor with a margin.

    Parameters
    ----------
    tensor
        The tensor.
    paddings
        Shape [rank, 2]: how much before and behind, for each dimension.
    mode
        "CONSTANT".
    name
        Name of the result.
    constant_values
        Value of the margin: 0.
    """
    if mode.upper() != "CONSTANT":
        if mode.upper() in ("REFLECT", "SYMMETRIC"):
            raise NotImplementedError(f"mode: {mode} is not there yet")
        raise ValueError(f"mode: expected CONSTANT, REFLECT or SYMMETRIC, got {mode!r}")
    if isinstance(constant_values, TensorLike) or constant_values != 0:
        raise NotImplementedError("constant_values: only 0 is there yet")
    return gen_ops.pad(tensor, paddings, name)


def gather(
    params: Any,
    indices: Any,
    validate_indices: Any = None,
    name: str | None = None,
    axis: Any = None,
    batch_dims: int = 0,
) -> Tensor:
    """The parts of a tensor at given indices of a dimension.

    Parameters
    ----------
    params
        The tensor, or a variable.
    indices
        The indices, of any shape; it takes the place of the dimension.
    validate_indices
        Not used: indices are always checked.
    name
        Name of the result.
    axis
        The dimension, by default `batch_dims`.
    batch_dims
        How many leading dimensions `params` and `indices` share.
    """
    if axis is None:
        axis = batch_dims
    rows = getattr(params, "sparse_read", None)
    if rows is not None and isinstance(axis, int) and axis == 0 and batch_dims == 0:
        return rows(indices, name=name)
    return gen_ops.gather_v2(params, indices, axis, batch_dims, name)


def one_hot(
    indices: Any,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: int | None = None,
    dtype: Any = None,
    name: str | None = None,
) -> Tensor:
    """Vectors that have one value at an index and another elsewhere.

    Parameters
    ----------
    indices
        The indices; those outside [0, depth) give no such place.
    depth
        Length of the vectors.
    on_value, off_value
        The values, by default 1 and 0.
    axis
        Where the new dimension is, by default last.
    dtype
        Type of the elements, by default that of the values, else float32.
    name
        Name of the result.
    """
    with scopes.name_scope(name, "one_hot", [indices]) as scope:
        found = _dtype_of_tensor_in([on_value, off_value])
        wanted = found if dtype is None else dtypes.as_dtype(dtype)
        if wanted is None and on_value is None and off_value is None:
            wanted = dtypes.float32
        if found is not None and wanted != found:
            raise TypeError(f"dtype: expected that of the values, {found.name}, got {wanted}")
        on = convert_to_tensor(1 if on_value is None else on_value, wanted, "on_value")
        off = convert_to_tensor(0 if off_value is None else off_value, on.dtype, "off_value")
        return gen_ops.one_hot(indices, depth, on, off, -1 if axis is None else axis, scope)


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """Elements of `x` where a condition holds, of `y` elsewhere.

    Parameters
    ----------
    condition
        Truth values: of the shape of `x`, or a vector that chooses rows.
    x, y
        Tensors of one type and shape.
    name
        Name of the result.

    Raises
    ------
    ValueError
        Only one of `x` and `y` is given.
    """
    if x is None and y is None:
        raise NotImplementedError("where() without x and y is not there yet")
    if x is None or y is None:
        raise ValueError("x and y must both be given or both be left out")
    return gen_ops.select(condition, x, y, name)


def get_static_value(tensor: Any, partial: bool = False) -> Any:
    """The value of a constant tensor, or None, see `millstream.convert.constant_value`."""
    return constant_value(tensor, partial)
