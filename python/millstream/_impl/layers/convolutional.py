"""Layers that convolve sequences, images and volumes with filters."""

from __future__ import annotations

from typing import Any

from millstream._impl.base.public import public
from millstream._impl.graph.arguments import FUNCTION, INTEGER, or_none, takes
from millstream._impl.graph.operation import Tensor
from millstream._impl.layers import configuration
from millstream._impl.layers.configuration import (
    ACTIVATION,
    INITIALIZER,
    REGULARIZER,
    initializer,
    regularizer,
)
from millstream._impl.layers.core import check_data_format
from millstream._impl.layers.layer import InputSpec, Layer, activated, size_of, window_sizes
from millstream._impl.layers.layer_functions import layer_function
from millstream._impl.nn import activations, convolutions
from millstream._impl.ops import array_ops
from millstream._impl.values.tensor_shape import TensorShape, as_shape
from millstream._impl.variables import initializers

FUNCTION_OR_NONE = or_none(FUNCTION)
# Initializers of no state, which all layers share.
ZEROS = initializers.Zeros()
KINDS = {
    "filters": INTEGER,
    "activation": ACTIVATION,
    "kernel_initializer": INITIALIZER,
    "bias_initializer": INITIALIZER,
    "kernel_regularizer": REGULARIZER,
    "bias_regularizer": REGULARIZER,
    "activity_regularizer": REGULARIZER,
    "kernel_constraint": FUNCTION_OR_NONE,
    "bias_constraint": FUNCTION_OR_NONE,
}
# Arguments that the layers describe.
WINDOWS = ("filters", "kernel_size", "strides", "padding", "data_format")
WEIGHTS = (
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


def check_padding(padding: Any) -> str:
    """The padding in capitals; ValueError for what is none."""
    if not isinstance(padding, str) or padding.lower() not in ("same", "valid"):
        raise ValueError(f"padding: expected 'same' or 'valid', got {padding!r}")
    return padding.upper()


def window_count(size: int | None, window: int, stride: int, padding: str, rate: int = 1) -> Any:
    """How many windows there are along a dimension."""
    if size is None:
        return None
    if padding == "SAME":
        return -(-size // stride)
    return max(0, -(-(size - (window - 1) * rate) // stride))


class Convolution(Layer):
    """A convolution over `dimensions` dimensions."""

    dimensions = 0
    _described: tuple[str, ...] = (*WINDOWS, "dilation_rate", *WEIGHTS)

    @takes(**KINDS)
    def __init__(
        self,
        filters: Any,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        dilation_rate: Any = 1,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = None,
        bias_initializer: Any = ZEROS,
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
        count = self.dimensions
        self.filters = int(filters)
        self.kernel_size = window_sizes(kernel_size, count, "kernel_size")
        self.strides = window_sizes(strides, count, "strides")
        self.padding = check_padding(padding)
        self.data_format = check_data_format(data_format)
        self.dilation_rate = window_sizes(dilation_rate, count, "dilation_rate")
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
        self.input_spec = InputSpec(ndim=count + 2)

    def _channel_axis(self) -> int:
        return 1 if self.data_format == "channels_first" else -1

    def build(self, input_shape: Any) -> None:
        """Make the variables."""
        axis = self._channel_axis()
        channels = size_of(input_shape, axis, type(self).__name__)
        self.input_spec = InputSpec(ndim=self.dimensions + 2, axes={axis: channels})
        self._build_with_kernel([*self.kernel_size, channels, self.filters])

    def _build_with_kernel(self, shape: list[int]) -> None:
        self.kernel = self.add_weight(
            "kernel",
            shape,
            initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
        )
        self._build_bias()

    def _build_bias(self) -> None:
        if self.use_bias:
            self.bias = self.add_weight(
                "bias",
                [self.filters],
                initializer=self.bias_initializer,
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
            )
        self.built = True

    def _convolve(self, inputs: Tensor) -> Tensor:
        raise NotImplementedError

    def call(self, inputs: Any) -> Any:
        """The output."""
        outputs = self._convolve(inputs)
        if self.bias is not None:
            outputs = self._add_bias(outputs)
        return activated(self.activation, outputs)

    def _add_bias(self, outputs: Tensor) -> Tensor:
        first = self.data_format == "channels_first"
        if not first:
            return activations.bias_add(outputs, self.bias)
        if self.dimensions == 2:
            return activations.bias_add(outputs, self.bias, data_format="NCHW")
        shape = [1, self.filters, *[1] * self.dimensions]
        sum_: Tensor = outputs + array_ops.reshape(self.bias, shape)
        return sum_

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """The shape of the output."""
        dims = as_shape(input_shape).as_list()
        first = self.data_format == "channels_first"
        spatial = dims[2:] if first else dims[1:-1]
        sizes = [
            window_count(size, window, stride, self.padding, rate)
            for size, window, stride, rate in zip(
                spatial, self.kernel_size, self.strides, self.dilation_rate, strict=True
            )
        ]
        if first:
            return TensorShape([dims[0], self.filters, *sizes])
        return TensorShape([dims[0], *sizes, self.filters])


@public("layers.Conv1D")
class Conv1D(Convolution):
    """Sequences convolved with filters.

    Parameters
    ----------
    filters
        How many filters; the channels of the output.
    kernel_size, strides, dilation_rate
        An integer, or a list of one.
    padding
        "valid" or "same".
    data_format
        "channels_last" or "channels_first".
    activation, use_bias, kernel_initializer, bias_initializer, kernel_regularizer,
    bias_regularizer, activity_regularizer, kernel_constraint, bias_constraint, trainable, name,
    kwargs
        As for `Dense`.

    Examples
    --------
    >>> tf.layers.Conv1D(4, 3, padding="same")(tf.ones([2, 8, 3])).shape.as_list()
    [2, 8, 4]
    """

    dimensions = 1

    def _convolve(self, inputs: Tensor) -> Tensor:
        first = self.data_format == "channels_first"
        return convolutions.conv1d(
            inputs,
            self.kernel,
            self.strides,
            self.padding,
            data_format="NCW" if first else "NWC",
            dilations=self.dilation_rate,
        )


@public("layers.Conv2D")
class Conv2D(Convolution):
    """Images convolved with filters.

    Parameters
    ----------
    filters
        How many filters; the channels of the output.
    kernel_size, strides, dilation_rate
        An integer, or a pair for height and width.
    padding
        "valid" or "same".
    data_format
        "channels_last" or "channels_first".
    activation, use_bias, kernel_initializer, bias_initializer, kernel_regularizer,
    bias_regularizer, activity_regularizer, kernel_constraint, bias_constraint, trainable, name,
    kwargs
        As for `Dense`.

    Examples
    --------
    >>> layer = tf.layers.Conv2D(4, 3, activation=tf.nn.relu)
    >>> layer(tf.ones([2, 8, 8, 3])).shape.as_list()
    [2, 6, 6, 4]
    >>> layer.kernel.shape.as_list()
    [3, 3, 3, 4]
    """

    dimensions = 2

    def _convolve(self, inputs: Tensor) -> Tensor:
        first = self.data_format == "channels_first"
        return convolutions.conv2d(
            inputs,
            self.kernel,
            self.strides,
            self.padding,
            data_format="NCHW" if first else "NHWC",
            dilations=self.dilation_rate,
        )


@public("layers.Conv3D")
class Conv3D(Convolution):
    """Volumes convolved with filters.

    Parameters
    ----------
    filters
        How many filters; the channels of the output.
    kernel_size, strides, dilation_rate
        An integer, or three for depth, height and width.
    padding
        "valid" or "same".
    data_format
        "channels_last" or "channels_first".
    activation, use_bias, kernel_initializer, bias_initializer, kernel_regularizer,
    bias_regularizer, activity_regularizer, kernel_constraint, bias_constraint, trainable, name,
    kwargs
        As for `Dense`.

    Examples
    --------
    >>> tf.layers.Conv3D(4, 3, padding="same")(tf.ones([2, 4, 5, 6, 3])).shape.as_list()
    [2, 4, 5, 6, 4]
    """

    dimensions = 3

    def _convolve(self, inputs: Tensor) -> Tensor:
        first = self.data_format == "channels_first"
        return convolutions.conv3d(
            inputs,
            self.kernel,
            self.strides,
            self.padding,
            "NCDHW" if first else "NDHWC",
            self.dilation_rate,
        )


conv1d = public("layers.conv1d")(
    layer_function(Conv1D, "tf.ones([2, 8, 3]), 4, 3).shape.as_list()", "[2, 6, 4]")
)


conv2d = public("layers.conv2d")(
    layer_function(Conv2D, "tf.ones([2, 8, 8, 3]), 4, 3, name='first').op.name", "'first/BiasAdd'")
)


conv3d = public("layers.conv3d")(
    layer_function(Conv3D, "tf.ones([2, 4, 8, 8, 3]), 4, 3).shape.as_list()", "[2, 2, 6, 6, 4]")
)
