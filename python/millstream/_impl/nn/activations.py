"""Activation functions, and the small parts of layers."""

from __future__ import annotations

from typing import Any

import numpy as np

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base import errors
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.apply_op import for_ragged
from millstream._impl.graph.arguments import (
    INTEGER,
    INTEGERS,
    NUMBER,
    SHAPE,
    TENSOR,
    TEXT,
    one_of,
    takes,
)
from millstream._impl.graph.convert import constant_value, convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.graph.tensor_like import TensorLike
from millstream._impl.nn.data_formats import image_format
from millstream._impl.ops import array_ops, matmul_ops, random_ops, reductions
from millstream._impl.values import dtypes

relu = public("nn.relu")(gen_ops.relu)
relu6 = public("nn.relu6")(gen_ops.relu6)
elu = public("nn.elu")(gen_ops.elu)
selu = public("nn.selu")(gen_ops.selu)
softplus = public("math.softplus", "nn.softplus")(gen_ops.softplus)
softsign = public("math.softsign", "nn.softsign")(gen_ops.softsign)
l2_loss = public("nn.l2_loss")(gen_ops.l2_loss)


@public("log_sigmoid", "math.log_sigmoid")
@takes(x=TENSOR)
@for_ragged("elements")
def log_sigmoid(x: Any, name: str | None = None) -> Tensor:
    """``log(sigmoid(x))``, without overflow: ``-softplus(-x)``.

    Parameters
    ----------
    x
        A tensor of floating-point numbers.
    name
        Name of the scope.

    Examples
    --------
    >>> tf.log_sigmoid([-1000.0, 0.0]).eval().round(4).tolist()
    [-1000.0, -0.6930999755859375]
    """
    with scopes.name_scope(name, "LogSigmoid", [x]) as scope:
        return gen_ops.neg(gen_ops.softplus(gen_ops.neg(convert_to_tensor(x))), scope)


@public("nn.leaky_relu")
@takes(features=TENSOR, alpha=NUMBER)
def leaky_relu(features: Any, alpha: Any = 0.2, name: str | None = None) -> Tensor:
    """A tensor's elements, the negative ones times a number.

    Maas et al.: Rectifier nonlinearities improve neural network acoustic models (2013).

    Parameters
    ----------
    features
        A tensor; integers become float32.
    alpha
        Slope for negative numbers. If it is a tensor, the result is
        ``max(alpha * features, features)``.
    name
        Name of the result.

    Examples
    --------
    >>> tf.nn.leaky_relu([-1.0, 2.0], alpha=0.5).eval()
    array([-0.5,  2. ], dtype=float32)
    """
    with scopes.name_scope(name, "LeakyRelu", [features]) as scope:
        value = convert_to_tensor(features, name="features")
        if value.dtype.is_integer:
            value = gen_ops.cast(value, dtypes.float32)
        if isinstance(alpha, TensorLike):
            return gen_ops.maximum(alpha * value, value, scope)
        return gen_ops.leaky_relu(value, float(alpha), scope)


@public("nn.crelu")
@takes(features=TENSOR, axis=INTEGER)
def crelu(features: Any, name: str | None = None, axis: int = -1) -> Tensor:
    """The positive part and the negated negative part of a tensor, side by side.

    Shang et al.: Understanding and improving convolutional neural networks via concatenated
    rectified linear units (2016).

    Parameters
    ----------
    features
        A tensor.
    name
        Name of the result.
    axis
        The dimension along which the two parts are joined, which becomes twice as long.

    Examples
    --------
    >>> tf.nn.crelu([-1.0, 2.0]).eval().tolist()
    [0.0, 2.0, 1.0, 0.0]
    """
    with scopes.name_scope(name, "CRelu", [features]) as scope:
        value = convert_to_tensor(features, name="features")
        return gen_ops.relu(gen_ops.concat_v2([value, gen_ops.neg(value)], axis), scope)


@public("nn.swish")
@takes(features=TENSOR)
def swish(features: Any) -> Tensor:
    """``features * sigmoid(features)``.

    Ramachandran et al.: Searching for activation functions (2017).

    Parameters
    ----------
    features
        A tensor of floating-point numbers.

    Examples
    --------
    >>> tf.nn.swish([0.0, 100.0]).eval().tolist()
    [0.0, 100.0]
    """
    with scopes.name_scope(None, "swish", [features]):
        value = convert_to_tensor(features, name="features")
        return gen_ops.mul(value, gen_ops.sigmoid(value))


def _along_last(
    op: Any, logits: Any, axis: Any, dim: Any, name: str | None, default_name: str
) -> Tensor:
    """Applies an op of the last dimension along another one."""
    axis = one_of(axis, dim, "axis", "dim")
    value = convert_to_tensor(logits)
    rank = value.shape.ndims
    if axis is None or axis == -1 or (rank is not None and axis == rank - 1):
        return op(value, name)
    if rank is None:
        raise ValueError("axis: the rank of logits must be known")
    if not -rank <= axis < rank:
        message = f"axis: Dimension ({axis}) must be in the range [{-rank}, {rank})"
        raise errors.InvalidArgumentError(None, None, f"{message}, of logits {value!r}")
    order = list(range(rank))
    order[axis % rank], order[-1] = order[-1], order[axis % rank]
    with scopes.name_scope(name, default_name, [value]) as scope:
        moved = op(gen_ops.transpose(value, order))
        return gen_ops.transpose(moved, order, scope)


@public("math.softmax", "nn.softmax")
@takes(logits=TENSOR, axis=INTEGER, dim=INTEGER)
def softmax(logits: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Tensor:
    """Probabilities in proportion to ``exp(logits)`` along a dimension.

    Parameters
    ----------
    logits
        A tensor.
    axis
        The dimension, by default the last.
    name
        Name of the result.
    dim
        Old name of `axis`.

    Examples
    --------
    >>> tf.nn.softmax([0.0, 0.0]).eval()
    array([0.5, 0.5], dtype=float32)
    """
    return _along_last(gen_ops.softmax, logits, axis, dim, name, "Softmax")


@public("math.log_softmax", "nn.log_softmax")
@takes(logits=TENSOR, axis=INTEGER, dim=INTEGER)
def log_softmax(logits: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Tensor:
    """Logarithms of `softmax`.

    Parameters
    ----------
    logits
        A tensor.
    axis
        The dimension, by default the last.
    name
        Name of the result.
    dim
        Old name of `axis`.

    Examples
    --------
    >>> tf.nn.log_softmax([0.0, 0.0]).eval().round(3).tolist()
    [-0.6930000185966492, -0.6930000185966492]
    """
    return _along_last(gen_ops.log_softmax, logits, axis, dim, name, "LogSoftmax")


@public("nn.bias_add")
@takes(value=TENSOR, bias=TENSOR, data_format=TEXT)
def bias_add(
    value: Any, bias: Any, data_format: str | None = None, name: str | None = None
) -> Tensor:
    """A vector added along the channels of a tensor.

    Parameters
    ----------
    value
        The tensor.
    bias
        The vector, as long as there are channels.
    data_format
        "NHWC" or "N...C" (channels last, the default) or "NCHW" or "NC..." (channels second).
    name
        Name of the result.

    Examples
    --------
    >>> tf.nn.bias_add([[1.0, 2.0]], [10.0, 20.0]).eval()
    array([[11., 22.]], dtype=float32)
    """
    order = image_format(data_format)
    with scopes.name_scope(name, "BiasAdd", [value, bias]) as scope:
        return gen_ops.bias_add(value, bias, order, scope)


@public("nn.xw_plus_b")
@takes(x=TENSOR, weights=TENSOR, biases=TENSOR)
def xw_plus_b(x: Any, weights: Any, biases: Any, name: str | None = None) -> Tensor:
    """``matmul(x, weights) + biases``.

    Parameters
    ----------
    x
        Shape [batch, inputs].
    weights
        Shape [inputs, outputs].
    biases
        Shape [outputs].
    name
        Name of the result.

    Examples
    --------
    >>> tf.nn.xw_plus_b([[1.0, 2.0]], [[1.0], [1.0]], [0.5]).eval()
    array([[3.5]], dtype=float32)
    """
    with scopes.name_scope(name, "xw_plus_b", [x, weights, biases]) as scope:
        return bias_add(matmul_ops.matmul(x, weights), biases, name=scope)


@public("nn.relu_layer")
@takes(x=TENSOR, weights=TENSOR, biases=TENSOR)
def relu_layer(x: Any, weights: Any, biases: Any, name: str | None = None) -> Tensor:
    """``relu(matmul(x, weights) + biases)``.

    Parameters
    ----------
    x
        Shape [batch, inputs].
    weights
        Shape [inputs, outputs].
    biases
        Shape [outputs].
    name
        Name of the result.

    Examples
    --------
    >>> tf.nn.relu_layer([[1.0, 2.0]], [[1.0, -1.0], [1.0, -1.0]], [0.5, 0.5]).eval().tolist()
    [[3.5, 0.0]]
    """
    with scopes.name_scope(name, "relu_layer", [x, weights, biases]) as scope:
        return gen_ops.relu(bias_add(matmul_ops.matmul(x, weights), biases), scope)


@public("math.l2_normalize", "nn.l2_normalize", "linalg.l2_normalize")
@takes(x=TENSOR, axis=INTEGERS, epsilon=NUMBER, dim=INTEGERS)
def l2_normalize(
    x: Any, axis: Any = None, epsilon: float = 1e-12, name: str | None = None, dim: Any = None
) -> Tensor:
    """A tensor divided by its Euclidean norm along dimensions.

    Parameters
    ----------
    x
        The tensor.
    axis
        The dimensions.
    epsilon
        Least squared norm to divide by.
    name
        Name of the result.
    dim
        Old name of `axis`.

    Examples
    --------
    >>> tf.nn.l2_normalize([3.0, 4.0]).eval().round(3).tolist()
    [0.6000000238418579, 0.800000011920929]
    """
    axis = one_of(axis, dim, "axis", "dim")
    with scopes.name_scope(name, "l2_normalize", [x]) as scope:
        value = convert_to_tensor(x, name="x")
        total = reductions.reduce_sum(gen_ops.square(value), axis, keepdims=True)
        return gen_ops.mul(value, gen_ops.rsqrt(gen_ops.maximum(total, epsilon)), scope)


@public("math.zero_fraction", "nn.zero_fraction")
@takes(value=TENSOR)
def zero_fraction(value: Any, name: str | None = None) -> Tensor:
    """The share of elements that are zero, as a scalar of float32.

    Parameters
    ----------
    value
        A tensor.
    name
        Name of the scope.

    Examples
    --------
    >>> float(tf.nn.zero_fraction([0, 1, 0, 2]).eval())
    0.5
    """
    with scopes.name_scope(name, "zero_fraction", [value]):
        tensor = convert_to_tensor(value)
        zeros = gen_ops.equal(tensor, convert_to_tensor(0, tensor.dtype))
        return reductions.reduce_mean(gen_ops.cast(zeros, dtypes.float32))


@public("nn.dropout")
@takes(x=TENSOR, noise_shape=SHAPE, seed=INTEGER)
def dropout(
    x: Any,
    keep_prob: Any = None,
    noise_shape: Any = None,
    seed: int | None = None,
    name: str | None = None,
    rate: Any = None,
) -> Tensor:
    """A tensor with elements set to 0 at random, the others scaled up to keep the sum.

    Srivastava et al.: Dropout (2014).

    Parameters
    ----------
    x
        A tensor of floating-point numbers.
    keep_prob
        The probability that an element is kept.
    noise_shape
        Shape of the random choices, which are broadcast; by default that of `x`.
    seed
        Seed of the operation.
    name
        Name of the scope.
    rate
        The probability that an element is dropped, instead of `keep_prob`.

    Raises
    ------
    ValueError
        `x` has no floating-point numbers, or the probability is no number in its range and no
        scalar tensor.

    Examples
    --------
    >>> kept = tf.nn.dropout(tf.ones([100]), keep_prob=0.5, seed=1).eval()
    >>> sorted(set(kept.tolist()))
    [0.0, 2.0]
    """
    if keep_prob is not None:
        _check_probability("keep_prob", keep_prob)
        if not isinstance(keep_prob, TensorLike) and not 0 < keep_prob <= 1:
            raise ValueError(f"keep_prob: expected a number in (0, 1], got {keep_prob}")
        rate = one_of(rate, 1 - keep_prob, "rate", "1 - keep_prob")
    if rate is None:
        raise ValueError("rate: expected the probability to drop an element")
    _check_probability("rate", rate)
    if not isinstance(rate, TensorLike) and not 0 <= rate < 1:
        raise ValueError(f"rate: expected a number in [0, 1), got {rate}")
    with scopes.name_scope(name, "dropout", [x]):
        value = convert_to_tensor(x, name="x")
        if not value.dtype.is_floating:
            raise ValueError(f"x: expected floating-point numbers, got {value.dtype.name}")
        chance = convert_to_tensor(rate, value.dtype, "rate")
        if not isinstance(rate, TensorLike) and rate == 0:
            return value
        dims = _noise_dims(value, noise_shape)
        drawn = random_ops.random_uniform(dims, seed=seed, dtype=value.dtype)
        scaled = value * (1.0 / (1.0 - chance))
        result = scaled * gen_ops.cast(drawn >= chance, value.dtype)
        result.set_shape(value.shape)
        return result


def _check_probability(name: str, value: Any) -> None:
    """ValueError for what is neither a floating point number nor a scalar tensor."""
    if isinstance(value, TensorLike):
        if value.shape.ndims not in (None, 0):
            raise ValueError(f"{name}: expected a tensor of rank 0, got {value!r}")
        return
    number = isinstance(value, (int, float, np.integer, np.floating))
    if not number and not (isinstance(value, np.ndarray) and value.ndim == 0):
        raise ValueError(f"{name}: must be a floating point number or Tensor (got {value!r})")


def _noise_dims(value: Tensor, noise_shape: Any) -> Any:
    if noise_shape is None:
        known = value.shape
        return known if known.is_fully_defined() else array_ops.shape(value)
    if isinstance(noise_shape, TensorLike) and constant_value(noise_shape) is None:
        return noise_shape
    dims = noise_shape
    if isinstance(dims, TensorLike):
        dims = constant_value(dims)
    own = array_ops.shape(value)
    chosen = [own[i] if size is None else size for i, size in enumerate(np.asarray(dims).tolist())]
    return convert_to_tensor(chosen, dtypes.int32)
