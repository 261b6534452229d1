"""Layers that pool sequences, images and volumes."""

from __future__ import annotations

from typing import Any

from millstream._impl.base.public import public
from millstream._impl.layers.convolutional import check_padding, window_count
from millstream._impl.layers.core import check_data_format
from millstream._impl.layers.layer import InputSpec, Layer, window_sizes
from millstream._impl.layers.layer_functions import layer_function
from millstream._impl.nn import pools, windows
from millstream._impl.ops import array_ops
from millstream._impl.values.tensor_shape import TensorShape, as_shape


class _Pooling(Layer):
    """Pooling over `dimensions` dimensions."""

    dimensions = 0
    pool: Any = None
    _described = ("pool_size", "strides", "padding", "data_format")

    def __init__(
        self,
        pool_size: Any,
        strides: Any,
        padding: str = "valid",
        data_format: str = "channels_last",
        name: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, **kwargs)
        self.pool_size = window_sizes(pool_size, self.dimensions, "pool_size")
        given = pool_size if strides is None else strides
        self.strides = window_sizes(given, self.dimensions, "strides")
        self.padding = check_padding(padding)
        self.data_format = check_data_format(data_format)
        self.input_spec = InputSpec(ndim=self.dimensions + 2)

    def call(self, inputs: Any) -> Any:
        """The output."""
        first = self.data_format == "channels_first"
        size, strides = list(self.pool_size), list(self.strides)
        if self.dimensions == 1:
            # A sequence is an image of one column.
            inputs = array_ops.expand_dims(inputs, 3 if first else 2)
            size, strides = [*size, 1], [*strides, 1]
        names = ("NDHWC", "NCDHW") if self.dimensions == 3 else ("NHWC", "NCHW")
        data_format = names[1 if first else 0]
        outputs = self.pool(inputs, size, strides, self.padding, data_format=data_format)
        return array_ops.squeeze(outputs, [3 if first else 2]) if self.dimensions == 1 else outputs

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """The shape of the output."""
        dims = as_shape(input_shape).as_list()
        begin = 2 if self.data_format == "channels_first" else 1
        for i, (window, stride) in enumerate(zip(self.pool_size, self.strides, strict=True)):
            dims[begin + i] = window_count(dims[begin + i], window, stride, self.padding)
        return TensorShape(dims)


@public("layers.MaxPooling1D")
class MaxPooling1D(_Pooling):
    """The largest element of each window of sequences.

    Parameters
    ----------
    pool_size, strides
        Length and step of the windows.
    padding
        "valid" or "same".
    data_format
        "channels_last" or "channels_first".
    name, kwargs
        As for `Layer`.

    Examples
    --------
    >>> tf.layers.MaxPooling1D(2, 2)(tf.ones([1, 6, 3])).shape.as_list()
    [1, 3, 3]
    """

    dimensions = 1
    pool = staticmethod(windows.max_pool)


@public("layers.MaxPooling2D")
class MaxPooling2D(_Pooling):
    """The largest element of each window of images.

    Parameters
    ----------
    pool_size, strides
        Size and step of the windows: an integer, or a pair for height and width.
    padding
        "valid" or "same".
    data_format
        "channels_last" or "channels_first".
    name, kwargs
        As for `Layer`.

    Examples
    --------
    >>> tf.layers.MaxPooling2D(2, 2)(tf.ones([1, 6, 6, 3])).shape.as_list()
    [1, 3, 3, 3]
    """

    dimensions = 2
    pool = staticmethod(windows.max_pool)


@public("layers.AveragePooling1D")
class AveragePooling1D(_Pooling):
    """The mean of each window of sequences.

    Parameters
    ----------
    pool_size, strides
        Length and step of the windows.
    padding
        "valid" or "same".
    data_format
        "channels_last" or "channels_first".
    name, kwargs
        As for `Layer`.

    Examples
    --------
    >>> tf.layers.AveragePooling1D(2, 2)(tf.ones([1, 6, 3])).shape.as_list()
    [1, 3, 3]
    """

    dimensions = 1
    pool = staticmethod(windows.avg_pool)


@public("layers.AveragePooling2D")
class AveragePooling2D(_Pooling):
    """The mean of each window of images.

    Parameters
    ----------
    pool_size, strides
        Size and step of the windows: an integer, or a pair for height and width.
    padding
        "valid" or "same".
    data_format
        "channels_last" or "channels_first".
    name, kwargs
        As for `Layer`.

    Examples
    --------
    >>> tf.layers.AveragePooling2D(2, 2)(tf.ones([1, 6, 6, 3])).shape.as_list()
    [1, 3, 3, 3]
    """

    dimensions = 2
    pool = staticmethod(windows.avg_pool)


@public("layers.MaxPooling3D")
class MaxPooling3D(_Pooling):
    """The largest element of each window of volumes.

    Parameters
    ----------
    pool_size, strides
        Size and step of the windows: an integer, or three for depth, height and width.
    padding
        "valid" or "same".
    data_format
        "channels_last" or "channels_first".
    name, kwargs
        As for `Layer`.

    Examples
    --------
    >>> tf.layers.MaxPooling3D(2, 2)(tf.ones([1, 4, 6, 6, 3])).shape.as_list()
    [1, 2, 3, 3, 3]
    """

    dimensions = 3
    pool = staticmethod(pools.max_pool3d)


@public("layers.AveragePooling3D")
class AveragePooling3D(_Pooling):
    """The mean of each window of volumes.

    Parameters
    ----------
    pool_size, strides
        Size and step of the windows: an integer, or three for depth, height and width.
    padding
        "valid" or "same".
    data_format
        "channels_last" or "channels_first".
    name, kwargs
        As for `Layer`.

    Examples
    --------
    >>> tf.layers.AveragePooling3D(2, 2)(tf.ones([1, 4, 6, 6, 3])).shape.as_list()
    [1, 2, 3, 3, 3]
    """

    dimensions = 3
    pool = staticmethod(pools.avg_pool3d)


max_pooling1d = public("layers.max_pooling1d")(
    layer_function(MaxPooling1D, "[[[1.0], [3.0]]], 2, 2).eval().tolist()", "[[[3.0]]]")
)
max_pooling2d = public("layers.max_pooling2d")(
    layer_function(MaxPooling2D, "tf.ones([1, 4, 4, 2]), 2, 2).op.name", "'max_pooling2d/MaxPool'")
)
max_pooling3d = public("layers.max_pooling3d")(
    layer_function(
        MaxPooling3D, "tf.ones([1, 4, 4, 4, 2]), 2, 2).shape.as_list()", "[1, 2, 2, 2, 2]"
    )
)
average_pooling1d = public("layers.average_pooling1d")(
    layer_function(AveragePooling1D, "[[[1.0], [3.0]]], 2, 2).eval().tolist()", "[[[2.0]]]")
)
average_pooling2d = public("layers.average_pooling2d")(
    layer_function(
        AveragePooling2D, "tf.ones([1, 4, 4, 2]), 2, 2).op.name", "'average_pooling2d/AvgPool'"
    )
)
average_pooling3d = public("layers.average_pooling3d")(
    layer_function(
        AveragePooling3D, "tf.ones([1, 4, 4, 4, 2]), 2, 2).shape.as_list()", "[1, 2, 2, 2, 2]"
    )
)
