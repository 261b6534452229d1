"""Tensors of random numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import DTYPE, INTEGER, INTEGERS, SHAPE, TENSOR, takes
from millstream._impl.graph.convert import convert_to_tensor, tensor_of_argument
from millstream._impl.graph.operation import Tensor
from millstream._impl.graph.random_seed import get_seed
from millstream._impl.ops import check_ops, control_ops, reductions
from millstream._impl.values import dtypes
from millstream._impl.values.tensor_shape import TensorShape


def shape_tensor(shape: Any) -> Tensor:
    """A shape as a tensor; what is none is an int32 vector."""
    if isinstance(shape, TensorShape):
        shape = shape.as_list()
    return convert_to_tensor(shape, name="shape", preferred_dtype=dtypes.int32)


@public("random_uniform", "random.uniform")
@takes(shape=SHAPE, minval=TENSOR, maxval=TENSOR, dtype=DTYPE, seed=INTEGER)
def random_uniform(
    shape: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Uniformly distributed numbers in [minval, maxval).

    Parameters
    ----------
    shape
        Shape of the result.
    minval, maxval
        The limits; `maxval` is 1 by default for floating-point numbers, and needed for integers.
    dtype
        Type of the elements.
    seed
        Seed of the operation, see `set_random_seed`.
    name
        Name of the result.

    Returns
    -------
    Tensor
        Of `shape` and `dtype`; other numbers in each step.

    Raises
    ------
    TypeError
        `dtype` is no type of real numbers.
    ValueError
        `maxval` is missing, or the shapes do not broadcast.

    Examples
    --------
    >>> tf.random_uniform([2, 3], -1.0, 1.0, seed=1).shape.as_list()
    [2, 3]
    """
    wanted = dtypes.as_dtype(dtype)
    if maxval is None:
        if wanted.is_integer:
            raise ValueError(f"maxval: needed for {wanted.name}")
        maxval = 1
    with scopes.name_scope(name, "random_uniform", [shape, minval, maxval]) as scope:
        dims = shape_tensor(shape)
        low = tensor_of_argument(minval, "minval", wanted, "min")
        high = tensor_of_argument(maxval, "maxval", wanted, "max")
        seed1, seed2 = get_seed(seed)
        if wanted.is_integer:
            return gen_ops.random_uniform_int(dims, low, high, seed1, seed2, scope)
        unit = gen_ops.random_uniform(dims, wanted, seed1, seed2)
        return gen_ops.add(unit * (high - low), low, scope)


def _normal(op: Any, public_name: str, summary: str) -> Callable[..., Tensor]:
    @takes(shape=SHAPE, mean=TENSOR, stddev=TENSOR, dtype=DTYPE, seed=INTEGER)
    def normal(
        shape: Any,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        dtype: Any = dtypes.float32,
        seed: int | None = None,
        name: str | None = None,
    ) -> Tensor:
        wanted = dtypes.as_dtype(dtype)
        with scopes.name_scope(name, public_name, [shape, mean, stddev]) as scope:
            dims = shape_tensor(shape)
            center = convert_to_tensor(mean, wanted, "mean")
            width = convert_to_tensor(stddev, wanted, "stddev")
            seed1, seed2 = get_seed(seed)
            standard = op(dims, wanted, seed1, seed2)
            return gen_ops.add(standard * width, center, scope)

    normal.__doc__ = f"""{summary}

    Parameters
    ----------
    shape
        Shape of the result.
    mean, stddev
        Mean and standard deviation of the distribution, of shapes that broadcast with `shape`.
    dtype
        Type of the elements.
    seed
        Seed of the operation, see `set_random_seed`.
    name
        Name of the result.

    Returns
    -------
    Tensor
        Of `shape` and `dtype`; other numbers in each step.

    Raises
    ------
    TypeError
        `dtype` is not floating-point.
    ValueError
        The shapes do not broadcast.

    Examples
    --------
    >>> tf.{public_name}([2, 3], mean=5.0, seed=1).shape.as_list()
    [2, 3]
    """
    normal.__name__ = normal.__qualname__ = public_name
    return normal


random_normal = public("random_normal", "random.normal")(
    _normal(gen_ops.random_standard_normal, "random_normal", "Normally distributed numbers.")
)
truncated_normal = public("truncated_normal", "random.truncated_normal")(
    _normal(
        gen_ops.truncated_normal,
        "truncated_normal",
        "Normally distributed numbers, drawn again when beyond two deviations from the mean.",
    )
)


@public("multinomial", "random.multinomial")
@takes(logits=TENSOR, num_samples=INTEGERS, seed=INTEGER, output_dtype=DTYPE)
def multinomial(
    logits: Any,
    num_samples: Any,
    seed: int | None = None,
    name: str | None = None,
    output_dtype: Any = None,
) -> Tensor:
    """Classes that are drawn by the logarithms of their probabilities.

    Parameters
    ----------
    logits
        Shape [rows, classes]: in each row the logarithms of the probabilities, less any number.
    num_samples
        How many classes are drawn for each row.
    seed
        Seed of the operation, see `set_random_seed`.
    name
        Name of the scope.
    output_dtype
        int32 or int64, which it is by default.

    Returns
    -------
    Tensor
        Shape [rows, num_samples]: indices of classes, others in each step.

    Examples
    --------
    >>> tf.multinomial([[0.0, -100.0]], 3, seed=1).eval().tolist()
    [[0, 0, 0]]
    """
    with scopes.name_scope(name, "multinomial", [logits]):
        return _drawn_classes(logits, num_samples, seed, output_dtype)


@public("random.categorical")
@takes(logits=TENSOR, num_samples=INTEGERS, dtype=DTYPE, seed=INTEGER)
def categorical(
    logits: Any,
    num_samples: Any,
    dtype: Any = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Classes that are drawn by the logarithms of their probabilities.

    Parameters
    ----------
    logits
        Shape [rows, classes]: in each row the logarithms of the probabilities, less any number.
    num_samples
        How many classes are drawn for each row.
    dtype
        int32 or int64, which it is by default.
    seed
        Seed of the operation, see `set_random_seed`.
    name
        Name of the scope.

    Returns
    -------
    Tensor
        Shape [rows, num_samples]: indices of classes, others in each step.

    Examples
    --------
    >>> tf.random.categorical([[-100.0, 0.0]], 3, seed=1).eval().tolist()
    [[1, 1, 1]]
    """
    with scopes.name_scope(name, "categorical", [logits]):
        return _drawn_classes(logits, num_samples, seed, dtype)


def _drawn_classes(logits: Any, num_samples: Any, seed: int | None, dtype: Any) -> Tensor:
    seed1, seed2 = get_seed(seed)
    wanted = dtypes.int64 if dtype is None else dtype
    return gen_ops.multinomial(logits, num_samples, seed1, seed2, wanted)


@public("random.stateless_categorical")
@takes(logits=TENSOR, num_samples=INTEGERS, seed=INTEGERS, dtype=DTYPE)
def stateless_categorical(
    logits: Any,
    num_samples: Any,
    seed: Any,
    dtype: Any = dtypes.int64,
    name: str | None = None,
) -> Tensor:
    """Classes that are drawn as `random.categorical` does, the same in every step.

    Parameters
    ----------
    logits
        Shape [rows, classes]: in each row the logarithms of the probabilities, less any number.
    num_samples
        How many classes are drawn for each row.
    seed
        Two integers. The same ones give the same classes.
    dtype
        int32 or int64.
    name
        Name of the scope.

    Examples
    --------
    >>> tf.random.stateless_categorical([[0.0, 0.0]], 6, seed=[1, 2]).eval().tolist()
    [[1, 1, 0, 1, 1, 1]]
    """
    with scopes.name_scope(name, "stateless_categorical", [logits, seed]):
        return gen_ops.stateless_multinomial(logits, num_samples, seed, dtype)


@public("random.stateless_multinomial")
@takes(logits=TENSOR, num_samples=INTEGERS, seed=INTEGERS, output_dtype=DTYPE)
def stateless_multinomial(
    logits: Any,
    num_samples: Any,
    seed: Any,
    output_dtype: Any = dtypes.int64,
    name: str | None = None,
) -> Tensor:
    """Classes that are drawn as `multinomial` does, the same in every step.

    Parameters
    ----------
    logits
        Shape [rows, classes]: in each row the logarithms of the probabilities, less any number.
    num_samples
        How many classes are drawn for each row.
    seed
        Two integers. The same ones give the same classes.
    output_dtype
        int32 or int64.
    name
        Name of the scope.

    Examples
    --------
    >>> tf.random.stateless_multinomial([[0.0, -100.0]], 3, seed=[1, 2]).eval().tolist()
    [[0, 0, 0]]
    """
    with scopes.name_scope(name, "stateless_multinomial", [logits, seed]):
        return gen_ops.stateless_multinomial(logits, num_samples, seed, output_dtype)


@public("random_crop", "image.random_crop")
@takes(value=TENSOR, size=INTEGERS, seed=INTEGER)
def random_crop(value: Any, size: Any, seed: int | None = None, name: str | None = None) -> Tensor:
    """A slice of a tensor, at a place that is drawn anew in each step.

    Parameters
    ----------
    value
        The tensor.
    size
        The slice's size in each dimension; no dimension of `value` is smaller.
    seed
        Seed of the operation, see `set_random_seed`.
    name
        Name of the scope.

    Raises
    ------
    InvalidArgumentError
        In a step: a dimension of `value` is smaller than that of the slice.

    Examples
    --------
    >>> tf.random_crop([[1, 2], [3, 4]], [2, 2]).eval().tolist()
    [[1, 2], [3, 4]]
    """
    with scopes.name_scope(name, "random_crop", [value, size]) as scope:
        tensor = convert_to_tensor(value, name="value")
        wanted = convert_to_tensor(size, dtypes.int32, "size")
        whole = gen_ops.shape(tensor)
        check = check_ops.Assert(
            reductions.reduce_all(gen_ops.greater_equal(whole, wanted)),
            ["Need value.shape >= size, got ", whole, wanted],
            summarize=1000,
        )
        whole = control_ops.with_dependencies([check], whole)
        limit = whole - wanted + 1
        # The remainder of a number that may be any: each place below the limit is as likely.
        drawn = random_uniform(
            gen_ops.shape(whole), dtype=dtypes.int32, maxval=dtypes.int32.max, seed=seed
        )
        return gen_ops.slice(tensor, gen_ops.floor_mod(drawn, limit), wanted, scope)


@public("random_shuffle", "random.shuffle")
@takes(value=TENSOR, seed=INTEGER)
def random_shuffle(value: Any, seed: int | None = None, name: str | None = None) -> Tensor:
    """The rows of a tensor, the slices along its first dimension, in random order.

    Parameters
    ----------
    value
        The tensor.
    seed
        Seed of the operation, see `set_random_seed`.
    name
        Name of the result.

    Returns
    -------
    Tensor
        Like `value`; in another order in each step.

    Examples
    --------
    >>> shuffled = tf.random_shuffle([[1, 2], [3, 4]], seed=1).eval()
    >>> sorted(shuffled.tolist())
    [[1, 2], [3, 4]]
    """
    seed1, seed2 = get_seed(seed)
    return gen_ops.random_shuffle(value, seed1, seed2, name)
