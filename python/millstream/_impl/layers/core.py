"""Layers of vectors: dense, dropout, flatten."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import (
    FUNCTION,
    INTEGER,
    NUMBER,
    SHAPE,
    TENSOR,
    TEXT,
    or_none,
    takes,
)
from millstream._impl.graph.convert import constant_value
from millstream._impl.graph.operation import Tensor
from millstream._impl.graph.tensor_like import TensorLike
from millstream._impl.layers import configuration
from millstream._impl.layers.configuration import (
    ACTIVATION,
    INITIALIZER,
    REGULARIZER,
    initializer,
    regularizer,
)
from millstream._impl.layers.layer import InputSpec, Layer, activated, size_of
from millstream._impl.nn import activations
from millstream._impl.ops import array_ops, conditionals, matmul_ops, tensordot_ops
from millstream._impl.values.tensor_shape import TensorShape, as_shape
from millstream._impl.variables import initializers

_FUNCTION = or_none(FUNCTION)
# Initializers of no state, which all layers share.
_ZEROS = initializers.Zeros()


@public("layers.Dense")
class Dense(Layer):
    """``activation(inputs @ kernel + bias)``, along the last dimension.

    Parameters
    ----------
    units
        The size of the last dimension of the output.
    activation
        A function or its name, as "relu"; None for the sum itself.
    use_bias
        Whether there is a bias.
    kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, kernel_constraint,
    bias_constraint
        As for `get_variable`. Initializers and regularizers may be names of Keras, as "he_normal"
        and "l2".
    activity_regularizer
        A function from the output to a loss.
    trainable, name, kwargs
        As for `Layer`.

    Examples
    --------
    >>> layer = tf.layers.Dense(4, activation=tf.nn.relu)
    >>> layer(tf.ones([2, 3])).shape.as_list()
    [2, 4]
    >>> [v.name for v in layer.variables]
    ['dense/kernel:0', 'dense/bias:0']
    """

    _described = (
        "units",
        "activation",
        "use_bias",
        "kernel_initializer",
        "bias_initializer",
        "kernel_regularizer",
        "bias_regularizer",
        "activity_regularizer",
        "kernel_constraint",
        "bias_constraint",
    )

    @takes(
        units=INTEGER,
        activation=ACTIVATION,
        kernel_initializer=INITIALIZER,
        bias_initializer=INITIALIZER,
        kernel_regularizer=REGULARIZER,
        bias_regularizer=REGULARIZER,
        activity_regularizer=REGULARIZER,
        kernel_constraint=_FUNCTION,
        bias_constraint=_FUNCTION,
    )
    def __init__(
        self,
        units: Any,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = None,
        bias_initializer: Any = _ZEROS,
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        trainable: bool = True,
        name: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            trainable=trainable, name=name, activity_regularizer=activity_regularizer, **kwargs
        )
        self.units = int(units)
        self.activation = configuration.activation(activation)
        self.use_bias = use_bias
        self.kernel_initializer = initializer(kernel_initializer, "kernel_initializer")
        self.bias_initializer = initializer(bias_initializer, "bias_initializer")
        self.kernel_regularizer = regularizer(kernel_regularizer, "kernel_regularizer")
        self.bias_regularizer = regularizer(bias_regularizer, "bias_regularizer")
        self.kernel_constraint = kernel_constraint
        self.bias_constraint = bias_constraint
        self.kernel: Any = None
        self.bias: Any = None
        self.input_spec = InputSpec(min_ndim=2)

    def build(self, input_shape: Any) -> None:
        """Make the variables."""
        size = size_of(input_shape, -1, "Dense")
        self.input_spec = InputSpec(min_ndim=2, axes={-1: size})
        self.kernel = self.add_weight(
            "kernel",
            [size, self.units],
            initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
        )
        if self.use_bias:
            self.bias = self.add_weight(
                "bias",
                [self.units],
                initializer=self.bias_initializer,
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
            )
        super().build(input_shape)

    def call(self, inputs: Any) -> Any:
        """The output."""
        rank = inputs.shape.ndims
        if rank == 2:
            outputs = matmul_ops.matmul(inputs, self.kernel)
        else:
            outputs = tensordot_ops.tensordot(inputs, self.kernel, [[rank - 1], [0]])
            outputs.set_shape(self.compute_output_shape(inputs.shape))
        if self.bias is not None:
            outputs = activations.bias_add(outputs, self.bias)
        return activated(self.activation, outputs)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """The shape of the output."""
        dims = as_shape(input_shape).as_list()
        return TensorShape([*dims[:-1], self.units])


@public("layers.dense")
@takes(
    inputs=TENSOR,
    units=INTEGER,
    activation=ACTIVATION,
    kernel_initializer=INITIALIZER,
    bias_initializer=INITIALIZER,
    kernel_regularizer=REGULARIZER,
    bias_regularizer=REGULARIZER,
    activity_regularizer=REGULARIZER,
    kernel_constraint=_FUNCTION,
    bias_constraint=_FUNCTION,
)
def dense(
    inputs: Any,
    units: Any,
    activation: Any = None,
    use_bias: bool = True,
    kernel_initializer: Any = None,
    bias_initializer: Any = _ZEROS,
    kernel_regularizer: Any = None,
    bias_regularizer: Any = None,
    activity_regularizer: Any = None,
    kernel_constraint: Any = None,
    bias_constraint: Any = None,
    trainable: bool = True,
    name: str | None = None,
    reuse: bool | None = None,
) -> Any:
    """``activation(inputs @ kernel + bias)``, with variables of its own; see `Dense`.

    Parameters
    ----------
    inputs
        A tensor of rank 2 or more, whose last dimension is known.
    units, activation, use_bias, kernel_initializer, bias_initializer, kernel_regularizer,
    bias_regularizer, activity_regularizer, kernel_constraint, bias_constraint, trainable
        As for `Dense`.
    name
        Name of the scope of the variables.
    reuse
        Whether these exist already, from an earlier call with that name.

    Examples
    --------
    >>> tf.layers.dense(tf.ones([2, 3]), 4, name="logits").op.name
    'logits/BiasAdd'
    """
    layer = Dense(
        units,
        activation,
        use_bias,
        kernel_initializer,
        bias_initializer,
        kernel_regularizer,
        bias_regularizer,
        activity_regularizer,
        kernel_constraint,
        bias_constraint,
        trainable,
        name,
        _scope=name,
        _reuse=reuse,
    )
    return layer(inputs)


def choose(training: Any, one: Any, other: Any) -> Any:
    """`one()` in training and `other()` outside of it; a conditional if it is decided in a step."""
    decided = known_training(training)
    if decided is not None:
        return one() if decided else other()
    is_training = (
        training if training.dtype.base_dtype.name == "bool" else gen_ops.not_equal(training, 0)
    )
    return conditionals.cond(is_training, one, other)


def known_training(training: Any) -> bool | None:
    """Whether it is training; None if a tensor says so in a step.

    Raises
    ------
    TypeError
        `training` is neither a truth value nor a tensor.
    """
    if not isinstance(training, TensorLike):
        if not isinstance(training, (bool, int, np.bool_, np.integer)):
            raise TypeError(f"training: expected a truth value or a tensor, got {training!r}")
        return bool(training)
    value = constant_value(training) if isinstance(training, Tensor) else None
    return None if value is None else bool(value)


@public("layers.Dropout")
class Dropout(Layer):
    """In training, elements set to 0 at random and the others scaled up to keep the sum.

    Parameters
    ----------
    rate
        The probability that an element is dropped.
    noise_shape
        Shape of the random choices, which are broadcast; by default that of the input. None stands
        for a size of the input.
    seed
        Seed of the operation.
    name, kwargs
        As for `Layer`.

    Examples
    --------
    >>> layer = tf.layers.Dropout(0.5)
    >>> layer(tf.ones([3])).eval().tolist()
    [1.0, 1.0, 1.0]
    """

    _described = ("rate", "noise_shape", "seed")

    @takes(rate=NUMBER, noise_shape=SHAPE, seed=INTEGER)
    def __init__(
        self,
        rate: Any = 0.5,
        noise_shape: Any = None,
        seed: Any = None,
        name: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, **kwargs)
        self.rate = rate
        self.noise_shape = noise_shape
        self.seed = seed

    def call(self, inputs: Any, training: Any = False) -> Any:
        """The output; `training` is a truth value or a tensor of one."""
        return choose(
            training,
            lambda: activations.dropout(
                inputs, noise_shape=self.noise_shape, seed=self.seed, rate=self.rate
            ),
            lambda: gen_ops.identity(inputs),
        )

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """The shape of the output."""
        return as_shape(input_shape)


@public("layers.dropout")
@takes(inputs=TENSOR, rate=NUMBER, noise_shape=SHAPE, seed=INTEGER)
def dropout(
    inputs: Any,
    rate: Any = 0.5,
    noise_shape: Any = None,
    seed: Any = None,
    training: Any = False,
    name: str | None = None,
) -> Any:
    """In training, elements set to 0 at random; see `Dropout`.

    Parameters
    ----------
    inputs
        A tensor of floating-point numbers.
    rate, noise_shape, seed
        As for `Dropout`.
    training
        A truth value, or a tensor of one.
    name
        Name of the scope.

    Examples
    --------
    >>> kept = tf.layers.dropout(tf.ones([100]), 0.5, seed=1, training=True).eval()
    >>> sorted(set(kept.tolist()))
    [0.0, 2.0]
    """
    return Dropout(rate, noise_shape, seed, name)(inputs, training=training)


@public("layers.Flatten")
class Flatten(Layer):
    """All dimensions but that of the batch as one.

    Parameters
    ----------
    data_format
        "channels_last", or "channels_first", whose channels go last first.
    kwargs
        As for `Layer`.

    Examples
    --------
    >>> tf.layers.Flatten()(tf.ones([2, 3, 4])).shape.as_list()
    [2, 12]
    """

    _described = ("data_format",)

    @takes(data_format=or_none(TEXT))
    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.data_format = check_data_format(data_format or "channels_last")
        self.input_spec = InputSpec(min_ndim=1)

    def call(self, inputs: Any) -> Any:
        """The output."""
        rank = inputs.shape.ndims
        if self.data_format == "channels_first" and rank > 2:
            inputs = array_ops.transpose(inputs, [0, *range(2, rank), 1])
        shape = self.compute_output_shape(inputs.shape)
        batch, size = shape.as_list()
        if size is not None:
            # The batch follows, so that there may be none.
            outputs = array_ops.reshape(inputs, [-1 if batch is None else batch, size])
        else:
            outputs = array_ops.reshape(inputs, [array_ops.shape(inputs)[0], -1])
        outputs.set_shape(shape)
        return outputs

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """The shape of the output."""
        batch, *others = as_shape(input_shape).as_list()
        known = [size for size in others if size is not None]
        return TensorShape([batch, math.prod(known) if len(known) == len(others) else None])


@public("layers.flatten")
@takes(inputs=TENSOR, data_format=TEXT)
def flatten(inputs: Any, name: str | None = None, data_format: str = "channels_last") -> Any:
    """All dimensions but that of the batch as one; see `Flatten`.

    Parameters
    ----------
    inputs
        A tensor of known rank.
    name
        Name of the scope.
    data_format
        As for `Flatten`.

    Examples
    --------
    >>> tf.layers.flatten(tf.ones([2, 3, 4])).shape.as_list()
    [2, 12]
    """
    return Flatten(data_format=data_format, name=name)(inputs)


def check_data_format(data_format: Any) -> str:
    """Raise ValueError for what is no order of dimensions."""
    lower = data_format.lower() if isinstance(data_format, str) else data_format
    if lower not in ("channels_first", "channels_last"):
        raise ValueError(
            f"data_format: expected 'channels_first' or 'channels_last', got {data_format!r}"
        )
    return str(lower)
