"""Layers of transposed convolutions, which make images and volumes larger."""

from __future__ import annotations

from typing import Any

from millstream._impl.base.public import public
from millstream._impl.graph.arguments import takes
from millstream._impl.graph.operation import Tensor
from millstream._impl.layers.convolutional import KINDS, WEIGHTS, WINDOWS, ZEROS, Convolution
from millstream._impl.layers.layer import InputSpec, size_of
from millstream._impl.layers.layer_functions import layer_function
from millstream._impl.nn import transposed_convolutions
from millstream._impl.ops import array_join, array_ops
from millstream._impl.values.tensor_shape import TensorShape, as_shape


def larger_size(size: Any, window: int, stride: int, padding: str) -> Any:
    """The size of what has `size` windows; None when it is not known."""
    if size is None:
        return None
    larger = size * stride
    return larger + max(window - stride, 0) if padding == "VALID" else larger


class TransposedConvolution(Convolution):
    """The gradient of a convolution over `dimensions` dimensions for its input."""

    _described = (*WINDOWS, *WEIGHTS)

    @takes(**KINDS)
    def __init__(
        self,
        filters: Any,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
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
            filters,
            kernel_size,
            strides,
            padding,
            data_format,
            1,
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
            **kwargs,
        )

    def build(self, input_shape: Any) -> None:
        """Make the variables."""
        axis = self._channel_axis()
        channels = size_of(input_shape, axis, type(self).__name__)
        self.input_spec = InputSpec(ndim=self.dimensions + 2, axes={axis: channels})
        self._build_with_kernel([*self.kernel_size, self.filters, channels])

    def _order(self) -> str:
        """The order of the dimensions in the words of ops."""
        spatial = "DHW"[-self.dimensions :]
        return f"NC{spatial}" if self.data_format == "channels_first" else f"N{spatial}C"

    def _transpose(self, inputs: Tensor, sizes: Any) -> Tensor:
        raise NotImplementedError

    def _convolve(self, inputs: Tensor) -> Tensor:
        shape = self.compute_output_shape(inputs.shape)
        sizes: Any = shape.as_list()
        if None in sizes:
            sizes = array_join.stack(self._output_sizes(array_ops.shape(inputs)))
        outputs = self._transpose(inputs, sizes)
        outputs.set_shape(shape)
        return outputs

    def _output_sizes(self, sizes: Any) -> list[Any]:
        """The sizes of the output for those of the input, which are numbers or tensors."""
        start = 2 if self.data_format == "channels_first" else 1
        spatial = [
            larger_size(sizes[start + i], window, stride, self.padding)
            for i, (window, stride) in enumerate(zip(self.kernel_size, self.strides, strict=True))
        ]
        if start == 2:
            return [sizes[0], self.filters, *spatial]
        return [sizes[0], *spatial, self.filters]

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """The shape of the output."""
        return TensorShape(self._output_sizes(as_shape(input_shape).as_list()))


@public("layers.Conv2DTranspose")
class Conv2DTranspose(TransposedConvolution):
    """Images made larger: the gradient of `Conv2D` for its input.

    Parameters
    ----------
    filters
        How many channels the output has.
    kernel_size, strides
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
    >>> layer = tf.layers.Conv2DTranspose(4, 3, strides=2, padding="same")
    >>> layer(tf.ones([2, 8, 8, 3])).shape.as_list()
    [2, 16, 16, 4]
    >>> layer.kernel.shape.as_list()
    [3, 3, 4, 3]
    """

    dimensions = 2

    def _transpose(self, inputs: Tensor, sizes: Any) -> Tensor:
        return transposed_convolutions.conv2d_transpose(
            inputs, self.kernel, sizes, self.strides, self.padding, self._order()
        )


@public("layers.Conv3DTranspose")
class Conv3DTranspose(TransposedConvolution):
    """Volumes made larger: the gradient of `Conv3D` for its input.

    Parameters
    ----------
    filters
        How many channels the output has.
    kernel_size, strides
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
    >>> layer = tf.layers.Conv3DTranspose(4, 3, strides=2, padding="same")
    >>> layer(tf.ones([2, 3, 4, 5, 3])).shape.as_list()
    [2, 6, 8, 10, 4]
    """

    dimensions = 3

    def _transpose(self, inputs: Tensor, sizes: Any) -> Tensor:
        return transposed_convolutions.conv3d_transpose(
            inputs, self.kernel, sizes, self.strides, self.padding, self._order()
        )


conv2d_transpose = public("layers.conv2d_transpose")(
    layer_function(
        Conv2DTranspose, "tf.ones([2, 8, 8, 3]), 4, 3, strides=2).shape.as_list()", "[2, 17, 17, 4]"
    )
)


conv3d_transpose = public("layers.conv3d_transpose")(
    layer_function(
        Conv3DTranspose, "tf.ones([2, 3, 4, 5, 3]), 4, 3).shape.as_list()", "[2, 5, 6, 7, 4]"
    )
)
