"""Layers that convolve each channel alone and then mix the channels."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import INTEGER, takes
from millstream._impl.graph.operation import Tensor
from millstream._impl.layers.configuration import (
    INITIALIZER,
    REGULARIZER,
    initializer,
    regularizer,
)
from millstream._impl.layers.convolutional import (
    FUNCTION_OR_NONE,
    KINDS,
    WEIGHTS,
    WINDOWS,
    ZEROS,
    Convolution,
)
from millstream._impl.layers.layer import InputSpec, size_of
from millstream._impl.layers.layer_functions import layer_function
from millstream._impl.nn import depthwise_convolutions

_KERNELS = ("depthwise", "pointwise")
_KINDS = {
    **{name: kind for name, kind in KINDS.items() if not name.startswith("kernel_")},
    "depth_multiplier": INTEGER,
    **{f"{kernel}_initializer": INITIALIZER for kernel in _KERNELS},
    **{f"{kernel}_regularizer": REGULARIZER for kernel in _KERNELS},
    **{f"{kernel}_constraint": FUNCTION_OR_NONE for kernel in _KERNELS},
}


class SeparableConvolution(Convolution):
    """A depthwise convolution over `dimensions` dimensions, and one of all channels."""

    _described = (
        *(*WINDOWS, "dilation_rate", "depth_multiplier"),
        *(name for name in WEIGHTS if not name.startswith("kernel_")),
        *(
            f"{kernel}_{what}"
            for kernel in _KERNELS
            for what in ("initializer", "regularizer", "constraint")
        ),
    )

    @takes(**_KINDS)
    def __init__(
        self,
        filters: Any,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        dilation_rate: Any = 1,
        depth_multiplier: int = 1,
        activation: Any = None,
        use_bias: bool = True,
        depthwise_initializer: Any = None,
        pointwise_initializer: Any = None,
        bias_initializer: Any = ZEROS,
        depthwise_regularizer: Any = None,
        pointwise_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        depthwise_constraint: Any = None,
        pointwise_constraint: Any = None,
        bias_constraint: Any = None,
        trainable: bool = True,
        name: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            filters,
            kernel_size,
            strides,
            padding,
            data_format,
            dilation_rate,
            activation,
            use_bias,
            bias_initializer=bias_initializer,
            bias_regularizer=bias_regularizer,
            activity_regularizer=activity_regularizer,
            bias_constraint=bias_constraint,
            trainable=trainable,
            name=name,
            **kwargs,
        )
        self.depth_multiplier = int(depth_multiplier)
        self.depthwise_initializer = initializer(depthwise_initializer, "depthwise_initializer")
        self.pointwise_initializer = initializer(pointwise_initializer, "pointwise_initializer")
        self.depthwise_regularizer = regularizer(depthwise_regularizer, "depthwise_regularizer")
        self.pointwise_regularizer = regularizer(pointwise_regularizer, "pointwise_regularizer")
        self.depthwise_constraint = depthwise_constraint
        self.pointwise_constraint = pointwise_constraint
        self.depthwise_kernel: Any = None
        self.pointwise_kernel: Any = None

    def build(self, input_shape: Any) -> None:
        """Make the variables."""
        axis = self._channel_axis()
        channels = size_of(input_shape, axis, type(self).__name__)
        self.input_spec = InputSpec(ndim=self.dimensions + 2, axes={axis: channels})
        self.depthwise_kernel = self.add_weight(
            "depthwise_kernel",
            [*self.kernel_size, channels, self.depth_multiplier],
            initializer=self.depthwise_initializer,
            regularizer=self.depthwise_regularizer,
            constraint=self.depthwise_constraint,
        )
        self.pointwise_kernel = self.add_weight(
            "pointwise_kernel",
            [*[1] * self.dimensions, self.depth_multiplier * channels, self.filters],
            initializer=self.pointwise_initializer,
            regularizer=self.pointwise_regularizer,
            constraint=self.pointwise_constraint,
        )
        self._build_bias()


@public("layers.SeparableConv1D")
class SeparableConv1D(SeparableConvolution):
    """Sequences whose channels are convolved alone, and then mixed.

    Parameters
    ----------
    filters
        How many channels the output has.
    kernel_size, strides, dilation_rate
        An integer, or a list of one.
    padding
        "valid" or "same".
    data_format
        "channels_last" or "channels_first".
    depth_multiplier
        How many filters each channel of the input has.
    activation, use_bias, bias_initializer, bias_regularizer, activity_regularizer,
    bias_constraint, trainable, name, kwargs
        As for `Dense`.
    depthwise_initializer, depthwise_regularizer, depthwise_constraint
        Of the filters of single channels, `depthwise_kernel`.
    pointwise_initializer, pointwise_regularizer, pointwise_constraint
        Of what mixes the channels, `pointwise_kernel`.

    Examples
    --------
    >>> layer = tf.layers.SeparableConv1D(4, 3, depth_multiplier=2)
    >>> layer(tf.ones([2, 8, 3])).shape.as_list()
    [2, 6, 4]
    >>> layer.depthwise_kernel.shape.as_list(), layer.pointwise_kernel.shape.as_list()
    ([3, 3, 2], [1, 6, 4])
    """

    dimensions = 1

    def _convolve(self, inputs: Tensor) -> Tensor:
        first = self.data_format == "channels_first"
        height = 2 if first else 1
        steps = [1, 1, *self.strides * 2] if first else [1, *self.strides * 2, 1]
        outputs = depthwise_convolutions.separable_conv2d(
            gen_ops.expand_dims(inputs, height),
            gen_ops.expand_dims(self.depthwise_kernel, 0),
            gen_ops.expand_dims(self.pointwise_kernel, 0),
            steps,
            self.padding,
            [1, *self.dilation_rate],
            data_format="NCHW" if first else "NHWC",
        )
        squeezed: Tensor = gen_ops.squeeze(outputs, [height])
        return squeezed


@public("layers.SeparableConv2D")
class SeparableConv2D(SeparableConvolution):
    """Images whose channels are convolved alone, and then mixed.

    Parameters
    ----------
    filters
        How many channels the output has.
    kernel_size, strides, dilation_rate
        An integer, or a pair for height and width. Strides are equal.
    padding
        "valid" or "same".
    data_format
        "channels_last" or "channels_first".
    depth_multiplier
        How many filters each channel of the input has.
    activation, use_bias, bias_initializer, bias_regularizer, activity_regularizer,
    bias_constraint, trainable, name, kwargs
        As for `Dense`.
    depthwise_initializer, depthwise_regularizer, depthwise_constraint
        Of the filters of single channels, `depthwise_kernel`.
    pointwise_initializer, pointwise_regularizer, pointwise_constraint
        Of what mixes the channels, `pointwise_kernel`.

    Examples
    --------
    >>> tf.layers.SeparableConv2D(4, 3, padding="same")(tf.ones([2, 8, 8, 3])).shape.as_list()
    [2, 8, 8, 4]
    """

    dimensions = 2

    def _convolve(self, inputs: Tensor) -> Tensor:
        first = self.data_format == "channels_first"
        return depthwise_convolutions.separable_conv2d(
            inputs,
            self.depthwise_kernel,
            self.pointwise_kernel,
            [1, 1, *self.strides] if first else [1, *self.strides, 1],
            self.padding,
            self.dilation_rate,
            data_format="NCHW" if first else "NHWC",
        )


separable_conv1d = public("layers.separable_conv1d")(
    layer_function(
        SeparableConv1D, "tf.ones([2, 8, 3]), 4, 3, strides=2).shape.as_list()", "[2, 3, 4]"
    )
)


separable_conv2d = public("layers.separable_conv2d")(
    layer_function(
        SeparableConv2D, "tf.ones([2, 8, 8, 3]), 4, 3, name='parted').op.name", "'parted/BiasAdd'"
    )
)
