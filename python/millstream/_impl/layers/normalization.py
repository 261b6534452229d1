"""Batch normalization: statistics of the batch in training, moving ones afterwards."""

from __future__ import annotations

from typing import Any

import numpy as np

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import (
    FUNCTION,
    INTEGERS,
    NUMBER,
    TENSOR,
    or_none,
    takes,
)
from millstream._impl.graph.convert import constant
from millstream._impl.graph.operation import Tensor
from millstream._impl.layers.configuration import (
    INITIALIZER,
    REGULARIZER,
    initializer,
    regularizer,
)
from millstream._impl.layers.core import choose, known_training
from millstream._impl.layers.layer import InputSpec, Layer, size_of
from millstream._impl.nn import statistics
from millstream._impl.ops import array_ops, math_ops
from millstream._impl.values import dtypes
from millstream._impl.values.tensor_shape import TensorShape, as_shape
from millstream._impl.variables import initializers, variable_ops

# Initializers of no state, which all layers share.
_ZEROS, _ONES = initializers.Zeros(), initializers.Ones()
_FUSED_TYPES = (dtypes.float32, dtypes.float16, dtypes.bfloat16)
_KINDS = {
    "momentum": NUMBER,
    "epsilon": NUMBER,
    "beta_initializer": INITIALIZER,
    "gamma_initializer": INITIALIZER,
    "moving_mean_initializer": INITIALIZER,
    "moving_variance_initializer": INITIALIZER,
    "beta_regularizer": REGULARIZER,
    "gamma_regularizer": REGULARIZER,
    "beta_constraint": or_none(FUNCTION),
    "gamma_constraint": or_none(FUNCTION),
}


@public("layers.BatchNormalization")
class BatchNormalization(Layer):
    """Inputs shifted and scaled to mean 0 and variance 1, then by what is learned.

    In training, the statistics are those of the batch, and operations that move the moving
    averages towards them join the collection ``UPDATE_OPS``; a training step must run these. In
    inference the moving averages are used. Ioffe, Szegedy: Batch normalization (2015).

    Parameters
    ----------
    axis
        The dimension of the features.
    momentum
        How much of the moving averages is kept at each step.
    epsilon
        Added to the variance.
    center, scale
        Whether there is an offset ``beta``, a factor ``gamma``.
    beta_initializer, gamma_initializer, moving_mean_initializer, moving_variance_initializer,
    beta_regularizer, gamma_regularizer, beta_constraint, gamma_constraint
        As for `get_variable`.
    renorm, renorm_clipping, renorm_momentum, virtual_batch_size, adjustment
        Not implemented yet.
    fused
        Whether images are normalized by `nn.fused_batch_norm` if possible: they have the rank 4
        and the axis 1 or 3. The moving variance of images is then the unbiased one. None stands
        for True.
    trainable, name, kwargs
        As for `Layer`.

    Examples
    --------
    >>> layer = tf.layers.BatchNormalization()
    >>> y = layer(tf.ones([2, 3]), training=True)
    >>> [v.op.name.rpartition("/")[2] for v in layer.variables]
    ['gamma', 'beta', 'moving_mean', 'moving_variance']
    """

    _described = (
        "axis",
        "momentum",
        "epsilon",
        "center",
        "scale",
        "fused",
        *(name for name in _KINDS if name not in ("momentum", "epsilon")),
    )

    @takes(axis=INTEGERS, **_KINDS)
    def __init__(
        self,
        axis: Any = -1,
        momentum: Any = 0.99,
        epsilon: Any = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = _ZEROS,
        gamma_initializer: Any = _ONES,
        moving_mean_initializer: Any = _ZEROS,
        moving_variance_initializer: Any = _ONES,
        beta_regularizer: Any = None,
        gamma_regularizer: Any = None,
        beta_constraint: Any = None,
        gamma_constraint: Any = None,
        renorm: bool = False,
        renorm_clipping: Any = None,
        renorm_momentum: Any = 0.99,
        fused: bool | None = None,
        trainable: bool = True,
        virtual_batch_size: Any = None,
        adjustment: Any = None,
        name: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(trainable=trainable, name=name, **kwargs)
        for what, given in (
            ("renorm", renorm),
            ("virtual_batch_size", virtual_batch_size),
            ("adjustment", adjustment),
        ):
            if given:
                raise NotImplementedError(f"{what}: {what} is not implemented yet")
        axes = [axis] if isinstance(axis, (int, np.integer)) else list(axis)
        if len(axes) != 1:
            raise NotImplementedError(f"axis: expected one dimension of features, got {axis!r}")
        self.axis = int(axes[0])
        self.momentum = momentum
        self.epsilon = epsilon
        self.center = center
        self.scale = scale
        self.fused = fused
        self.beta_initializer = initializer(beta_initializer, "beta_initializer")
        self.gamma_initializer = initializer(gamma_initializer, "gamma_initializer")
        self.moving_mean_initializer = initializer(
            moving_mean_initializer, "moving_mean_initializer"
        )
        self.moving_variance_initializer = initializer(
            moving_variance_initializer, "moving_variance_initializer"
        )
        self.beta_regularizer = regularizer(beta_regularizer, "beta_regularizer")
        self.gamma_regularizer = regularizer(gamma_regularizer, "gamma_regularizer")
        self.beta_constraint = beta_constraint
        self.gamma_constraint = gamma_constraint
        self.beta: Any = None
        self.gamma: Any = None
        self.moving_mean: Any = None
        self.moving_variance: Any = None

    def build(self, input_shape: Any) -> None:
        """Make the variables."""
        rank = as_shape(input_shape).ndims
        if rank is None:
            raise ValueError("Input has undefined rank: batch normalization needs to know it")
        if not -rank <= self.axis < rank:
            raise ValueError(f"axis: expected one in [{-rank}, {rank}), got {self.axis}")
        self.axis %= rank
        size = size_of(input_shape, self.axis, "BatchNormalization")
        self.input_spec = InputSpec(ndim=rank, axes={self.axis: size})
        # Parameters and statistics of 16-bit numbers would lose the small steps of averages.
        dtype = dtypes.float32 if self._dtype in (dtypes.float16, dtypes.bfloat16) else self._dtype
        if self.scale:
            self.gamma = self.add_weight(
                "gamma",
                [size],
                dtype,
                initializer=self.gamma_initializer,
                regularizer=self.gamma_regularizer,
                constraint=self.gamma_constraint,
            )
        if self.center:
            self.beta = self.add_weight(
                "beta",
                [size],
                dtype,
                initializer=self.beta_initializer,
                regularizer=self.beta_regularizer,
                constraint=self.beta_constraint,
            )
        self.moving_mean = self.add_weight(
            "moving_mean",
            [size],
            dtype,
            initializer=self.moving_mean_initializer,
            trainable=False,
        )
        self.moving_variance = self.add_weight(
            "moving_variance",
            [size],
            dtype,
            initializer=self.moving_variance_initializer,
            trainable=False,
        )
        super().build(input_shape)

    def call(self, inputs: Any, training: Any = False) -> Any:
        """The output; `training` is a truth value or a tensor of one."""
        outputs = (self._fused if self._can_be_fused(inputs) else self._composed)(inputs, training)
        outputs.set_shape(inputs.shape)
        return outputs

    def _can_be_fused(self, inputs: Tensor) -> bool:
        """Whether `nn.fused_batch_norm` takes the images and their parameters."""
        is_asked = self.fused is None or bool(self.fused)
        are_images = inputs.shape.ndims == 4 and self.axis in (1, 3)
        return is_asked and are_images and inputs.dtype.base_dtype in _FUSED_TYPES

    def _fused(self, inputs: Tensor, training: Any) -> Tensor:
        """The output by one operation, or by one of two."""
        size, dtype = [self.moving_mean.shape[0].value], self.moving_mean.dtype.base_dtype
        gamma = constant(1.0, dtype, size) if self.gamma is None else self.gamma
        beta = constant(0.0, dtype, size) if self.beta is None else self.beta

        def normalized(mean: Any = None, variance: Any = None) -> tuple[Tensor, Tensor, Tensor]:
            data_format = "NCHW" if self.axis == 1 else "NHWC"
            return statistics.fused_batch_norm(
                inputs, gamma, beta, mean, variance, self.epsilon, data_format, mean is None
            )

        outputs, mean, variance = choose(
            training, normalized, lambda: normalized(self.moving_mean, self.moving_variance)
        )
        if known_training(training) is not False:
            self._move(inputs, mean, variance, training)
        return outputs

    def _composed(self, inputs: Tensor, training: Any) -> Tensor:
        """The output by operations on whole tensors."""
        rank = len(inputs.shape)
        images = math_ops.cast(inputs, self.moving_mean.dtype.base_dtype)
        others = [axis for axis in range(rank) if axis != self.axis]
        if known_training(training) is not False:
            mean, variance = statistics.moments(images, others)
            kept = variance
            if rank == 4 and self.fused is not False:
                kept = variance * statistics.correction(images, self.axis)
            self._move(inputs, mean, kept, training)
            used = (
                choose(training, lambda: mean, lambda: gen_ops.identity(self.moving_mean)),
                choose(training, lambda: variance, lambda: gen_ops.identity(self.moving_variance)),
            )
        else:
            used = (self.moving_mean, self.moving_variance)
        outputs = statistics.batch_normalization(
            images,
            self._along(used[0], rank),
            self._along(used[1], rank),
            None if self.beta is None else self._along(self.beta, rank),
            None if self.gamma is None else self._along(self.gamma, rank),
            self.epsilon,
        )
        return math_ops.cast(outputs, inputs.dtype.base_dtype)

    def _along(self, values: Any, rank: int) -> Any:
        """Values of the features, in the shape that broadcasts along their dimension."""
        if self.axis == rank - 1:
            return values
        return array_ops.reshape(values, [-1 if i == self.axis else 1 for i in range(rank)])

    def _move(self, inputs: Tensor, mean: Tensor, variance: Tensor, training: Any) -> None:
        """Add the updates of the moving averages."""
        kept = 1.0 - self.momentum
        step = choose(training, lambda: kept, lambda: 0.0)
        for average, value in ((self.moving_mean, mean), (self.moving_variance, variance)):
            with scopes.name_scope(None, "AssignMovingAvg", [value]) as scope:
                change = (average - value) * math_ops.cast(step, average.dtype.base_dtype)
                self.add_update(variable_ops.assign_sub(average, change, name=scope), inputs)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """The shape of the output."""
        return as_shape(input_shape)


@public("layers.batch_normalization")
@takes(inputs=TENSOR, axis=INTEGERS, **_KINDS)
def batch_normalization(
    inputs: Any,
    axis: Any = -1,
    momentum: Any = 0.99,
    epsilon: Any = 1e-3,
    center: bool = True,
    scale: bool = True,
    beta_initializer: Any = _ZEROS,
    gamma_initializer: Any = _ONES,
    moving_mean_initializer: Any = _ZEROS,
    moving_variance_initializer: Any = _ONES,
    beta_regularizer: Any = None,
    gamma_regularizer: Any = None,
    beta_constraint: Any = None,
    gamma_constraint: Any = None,
    training: Any = False,
    trainable: bool = True,
    name: str | None = None,
    reuse: bool | None = None,
    renorm: bool = False,
    renorm_clipping: Any = None,
    renorm_momentum: Any = 0.99,
    fused: bool | None = None,
    virtual_batch_size: Any = None,
    adjustment: Any = None,
) -> Any:
    """Inputs shifted and scaled to mean 0 and variance 1; see `BatchNormalization`.

    Parameters
    ----------
    inputs
        A tensor of known rank, whose dimension of features has a known size.
    axis, momentum, epsilon, center, scale, beta_initializer, gamma_initializer,
    moving_mean_initializer, moving_variance_initializer, beta_regularizer, gamma_regularizer,
    beta_constraint, gamma_constraint, trainable, fused
        As for `BatchNormalization`.
    training
        A truth value, or a tensor of one.
    name
        Name of the scope of the variables.
    reuse
        Whether these exist already, from an earlier call with that name.
    renorm, renorm_clipping, renorm_momentum, virtual_batch_size, adjustment
        Not implemented yet.

    Examples
    --------
    >>> y = tf.layers.batch_normalization([[1.0], [3.0]], epsilon=0.0, training=True)
    >>> sess = tf.get_default_session()
    >>> sess.run(tf.global_variables_initializer())
    >>> y.eval().tolist()
    [[-1.0], [1.0]]
    """
    layer = BatchNormalization(
        axis,
        momentum,
        epsilon,
        center,
        scale,
        beta_initializer,
        gamma_initializer,
        moving_mean_initializer,
        moving_variance_initializer,
        beta_regularizer,
        gamma_regularizer,
        beta_constraint,
        gamma_constraint,
        renorm,
        renorm_clipping,
        renorm_momentum,
        fused,
        trainable,
        virtual_batch_size,
        adjustment,
        name,
        _reuse=reuse,
        _scope=name,
    )
    return layer(inputs, training=training)
