"""Batches of matrices, with sizes that are numbers where they are known and tensors elsewhere.

A shape here is an array of int32, or a vector of int32 in the graph. A size is an integer, or a
scalar in the graph.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.ops import array_join, array_ops, math_ops, matrices, static_shapes
from millstream._impl.values import dtypes
from millstream._impl.values.dtypes import DType
from millstream._impl.values.tensor_shape import TensorShape

# ---- Shapes ----


def shape_of(tensor: Tensor) -> Any:
    """The shape of a tensor."""
    static = tensor.shape
    if static.is_fully_defined():
        return np.array(static.as_list(), np.int32)
    return gen_ops.shape(tensor)


def vector(sizes: Sequence[Any]) -> Any:
    """The shape that has these sizes."""
    if any(isinstance(size, Tensor) for size in sizes):
        return array_join.stack([convert_to_tensor(size, dtypes.int32) for size in sizes])
    return np.array(sizes, np.int32)


def joined(*parts: Any) -> Any:
    """A shape of shapes, or of lists of sizes, one after the other."""
    shapes = [vector(part) if isinstance(part, (list, tuple)) else part for part in parts]
    if all(isinstance(shape, np.ndarray) for shape in shapes):
        return np.concatenate(shapes)
    return array_join.concat(shapes, 0)


def product(sizes: Any) -> Any:
    """The product of the sizes in a shape or list."""
    if isinstance(sizes, (list, tuple)):
        return functools.reduce(lambda one, other: one * other, sizes, 1)
    if isinstance(sizes, np.ndarray):
        return int(np.prod(sizes, dtype=np.int64))
    return gen_ops.prod(sizes, [0])


def broadcast_shape(one: Any, other: Any) -> Any:
    """The shape that two shapes broadcast to."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        static = static_shapes.broadcast_static_shape(one.tolist(), other.tolist())
        return np.array(static.as_list(), np.int32)
    return gen_ops.broadcast_args(one, other)


def known_broadcast(shapes: Sequence[TensorShape], what: str) -> TensorShape:
    """The static shape that static shapes broadcast to.

    Raises
    ------
    ValueError
        They are known not to; `what` are the arguments that have them.
    """
    try:
        return functools.reduce(static_shapes.broadcast_static_shape, shapes)
    except ValueError:
        listed = ", ".join(str(shape) for shape in shapes)
        raise ValueError(f"{what}: the batches {listed} do not broadcast") from None


def broadcast_to(tensor: Tensor, batch: Any, inner: int = 2) -> Tensor:
    """A tensor whose dimensions before the last `inner` ones are broadcast to a shape."""
    own = shape_of(tensor)
    wanted = joined(batch, own[-inner:])
    are_known = isinstance(own, np.ndarray) and isinstance(wanted, np.ndarray)
    if are_known and own.tolist() == wanted.tolist():
        return tensor
    return gen_ops.broadcast_to(tensor, wanted)


def broadcast_together(tensors: Sequence[Tensor], inner: int = 2) -> list[Tensor]:
    """Tensors whose dimensions before the last `inner` ones are broadcast to a common shape."""
    if _have_one_batch(tensors, inner):
        return list(tensors)
    batch = functools.reduce(broadcast_shape, [shape_of(tensor)[:-inner] for tensor in tensors])
    return [broadcast_to(tensor, batch, inner) for tensor in tensors]


def _have_one_batch(tensors: Sequence[Tensor], inner: int) -> bool:
    """Whether it is known that nothing is to be broadcast."""
    first = tensors[0].shape[:-inner]
    return (
        all(
            tensor.shape.ndims == inner
            or (first.is_fully_defined() and tensor.shape[:-inner] == first)
            for tensor in tensors
        )
        and len({tensor.shape.ndims for tensor in tensors}) == 1
    )


def filled(shape: Any, value: Any, dtype: DType) -> Tensor:
    """A tensor of one value."""
    return gen_ops.fill(shape, convert_to_tensor(value, dtype))


def eye(size: Any, batch: Any, dtype: DType) -> Tensor:
    """Identity matrices."""
    one = matrices.eye(size, dtype=dtype)
    return one if isinstance(batch, np.ndarray) and batch.size == 0 else broadcast_to(one, batch)


def as_int32(size: Tensor) -> Tensor:
    """Sizes in the graph in the type that shapes have here."""
    return math_ops.cast(size, dtypes.int32)


def count_as(size: Any, dtype: DType) -> Tensor:
    """A size as a number of another type."""
    if isinstance(size, Tensor):
        return math_ops.cast(size, dtype)
    return convert_to_tensor(size, dtype)


# ---- Elements ----


def conjugate(tensor: Tensor) -> Tensor:
    """The conjugates of the elements, of real ones themselves."""
    return gen_ops.conj(tensor) if tensor.dtype.is_complex else tensor


def real_part(tensor: Tensor) -> Tensor:
    """The real parts of the elements."""
    return gen_ops.real(tensor, tensor.dtype.real_dtype) if tensor.dtype.is_complex else tensor


def converted(tensor: Tensor, dtype: DType) -> Tensor:
    """The elements as another type; their real parts where it has no others."""
    if tensor.dtype == dtype:
        return tensor
    return math_ops.cast(tensor if dtype.is_complex else real_part(tensor), dtype)


def complex_of(tensor: Tensor) -> Tensor:
    """The elements as complex numbers that hold them exactly."""
    if tensor.dtype.is_complex:
        return tensor
    if tensor.dtype == dtypes.float64:
        return math_ops.cast(tensor, dtypes.complex128)
    return math_ops.cast(math_ops.cast(tensor, dtypes.float32), dtypes.complex64)


def log_of_absolute(tensor: Tensor) -> Tensor:
    """The logarithms of the absolute values, in the type of the elements."""
    return converted(gen_ops.log(math_ops.abs(tensor)), tensor.dtype)


# ---- Matrices ----


def adjoint(tensor: Tensor) -> Tensor:
    """The conjugates of transposed matrices."""
    return matrices.matrix_transpose(tensor, conjugate=tensor.dtype.is_complex)


def adjoint_if(flag: bool, tensor: Tensor) -> Tensor:
    """The adjoints of matrices where an argument says so."""
    return adjoint(tensor) if flag else tensor


def column(tensor: Tensor) -> Tensor:
    """Vectors as matrices of one column."""
    return array_ops.expand_dims(tensor, -1)


def row(tensor: Tensor) -> Tensor:
    """Vectors as matrices of one row."""
    return array_ops.expand_dims(tensor, -2)


def add_to_diagonal(matrix: Tensor, diagonal: Tensor) -> Tensor:
    """Matrices plus square diagonal ones; the shapes of both broadcast."""
    sides = matrix.shape[-2:]
    if matrix.shape.ndims is None or sides.as_list() != [diagonal.shape[-1].value] * 2:
        return matrices.matrix_diag(diagonal) + matrix
    if not sides.is_fully_defined():
        return matrices.matrix_diag(diagonal) + matrix
    total = gen_ops.matrix_diag_part(matrix) + diagonal
    return gen_ops.matrix_set_diag(broadcast_to(matrix, shape_of(total)[:-1]), total)


def solved(function: Callable[[Tensor, Tensor], Tensor], matrix: Tensor, right: Tensor) -> Tensor:
    """``function(matrix, right)`` of matrices and right-hand sides whose batches broadcast.

    One matrix is factored once: the right-hand sides of the whole batch become columns of one.
    """
    rank = right.shape.ndims
    if matrix.shape.ndims != 2 or rank is None or rank == 2:
        return function(*broadcast_together([matrix, right]))
    shape = shape_of(right)
    in_front = gen_ops.transpose(right, [rank - 2, *range(rank - 2), rank - 1])
    columns = product(joined(shape[:-2], shape[-1:]))
    found = function(matrix, gen_ops.reshape(in_front, vector([_at(shape, -2), columns])))
    whole = gen_ops.reshape(found, joined(shape[-2:-1], shape[:-2], shape[-1:]))
    return gen_ops.transpose(whole, [*range(1, rank - 1), 0, rank - 1])


def _at(shape: Any, index: int) -> Any:
    return int(shape[index]) if isinstance(shape, np.ndarray) else shape[index]
