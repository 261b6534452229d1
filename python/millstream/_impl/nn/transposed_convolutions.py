"""Transposed convolution, and the gradients of convolution as functions."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph import scopes
from millstream._impl.graph.arguments import INTEGER, INTEGERS, PADDING, TENSOR, TEXT, one_of, takes
from millstream._impl.graph.convert import convert_to_tensor
from millstream._impl.graph.operation import Tensor
from millstream._impl.nn.convolutions import explicit_padding
from millstream._impl.nn.data_formats import image_format, window_of
from millstream._impl.ops import array_join
from millstream._impl.values import dtypes


@public("nn.conv1d_transpose")
@takes(
    input=TENSOR,
    filters=TENSOR,
    output_shape=TENSOR,
    strides=INTEGERS,
    padding=TEXT,
    data_format=TEXT,
    dilations=INTEGERS,
)
def conv1d_transpose(
    input: Any,  # noqa: A002
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: str = "SAME",
    data_format: str = "NWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """The gradient of `conv1d` for its input, as a layer that makes sequences longer.

    Parameters
    ----------
    input
        Shape [batch, length, channels] (or in the order of `data_format`).
    filters
        Shape [length, output channels, input channels].
    output_shape
        The shape of the result.
    strides
        Step of the window in the result.
    padding
        "SAME" or "VALID", of the convolution that maps the result to `input`.
    data_format
        "NWC" or "NCW".
    dilations
        Distance of the filter's elements.
    name
        Name of the result.

    Examples
    --------
    >>> sequences, filters = tf.ones([1, 4, 3]), tf.ones([2, 5, 3])
    >>> tf.nn.conv1d_transpose(sequences, filters, [1, 8, 5], 2).shape.as_list()
    [1, 8, 5]
    """
    order = image_format(data_format)
    first = order == "NCHW"
    height = 2 if first else 1
    with scopes.name_scope(name, "conv1d_transpose", [input, filters, output_shape]) as scope:
        steps = window_of(strides, 1, first, "strides")
        distances = window_of(dilations, 1, first, "dilations")
        sizes = convert_to_tensor(output_shape, dtypes.int32, "output_shape")
        found = gen_ops.conv2d_backprop_input(
            array_join.concat([sizes[:height], [1], sizes[height:]], 0),
            gen_ops.expand_dims(filters, 0),
            gen_ops.expand_dims(input, height),
            [*steps[:height], 1, *steps[height:]],
            padding,
            True,
            (),
            order,
            [*distances[:height], 1, *distances[height:]],
            scope,
        )
        return gen_ops.squeeze(found, [height])


@public("nn.conv2d_transpose")
@takes(
    value=TENSOR,
    filter=TENSOR,
    output_shape=TENSOR,
    strides=INTEGERS,
    padding=PADDING,
    data_format=TEXT,
    input=TENSOR,
    filters=TENSOR,
    dilations=INTEGERS,
)
def conv2d_transpose(
    value: Any = None,
    filter: Any = None,  # noqa: A002
    output_shape: Any = None,
    strides: Any = None,
    padding: Any = "SAME",
    data_format: str = "NHWC",
    name: str | None = None,
    input: Any = None,  # noqa: A002
    filters: Any = None,
    dilations: Any = None,
) -> Tensor:
    """The gradient of `conv2d` for its input, as a layer that makes images larger.

    Parameters
    ----------
    value
        Shape [batch, height, width, channels] (or in the order of `data_format`).
    filter
        Shape [height, width, output channels, input channels].
    output_shape
        The shape of the result.
    strides
        Step of the window in the result.
    padding
        "SAME", "VALID" or a list of pairs, of the convolution that maps the result to `value`.
    data_format
        "NHWC" or "NCHW".
    name
        Name of the result.
    input, filters
        Other names of `value` and `filter`.
    dilations
        Distance of the filter's elements in each dimension.

    Raises
    ------
    ValueError
        `output_shape` is not that of images whose convolution has the shape of `value`.

    Examples
    --------
    >>> images, filters = tf.ones([1, 4, 4, 3]), tf.ones([3, 3, 5, 3])
    >>> tf.nn.conv2d_transpose(images, filters, [1, 8, 8, 5], 2).shape.as_list()
    [1, 8, 8, 5]
    """
    value = one_of(value, input, "value", "input")
    filter = one_of(filter, filters, "filter", "filters")  # noqa: A001
    with scopes.name_scope(name, "conv2d_transpose", [value, filter, output_shape]) as scope:
        return conv2d_backprop_input(
            convert_to_tensor(output_shape, dtypes.int32, "output_shape"),
            filter,
            value,
            1 if strides is None else strides,
            padding,
            True,
            data_format,
            1 if dilations is None else dilations,
            scope,
        )


@public("nn.conv3d_transpose")
@takes(
    value=TENSOR,
    filter=TENSOR,
    output_shape=TENSOR,
    strides=INTEGERS,
    padding=TEXT,
    data_format=TEXT,
    input=TENSOR,
    filters=TENSOR,
    dilations=INTEGERS,
)
def conv3d_transpose(
    value: Any,
    filter: Any = None,  # noqa: A002
    output_shape: Any = None,
    strides: Any = None,
    padding: str = "SAME",
    data_format: str = "NDHWC",
    name: str | None = None,
    input: Any = None,  # noqa: A002
    filters: Any = None,
    dilations: Any = None,
) -> Tensor:
    """The gradient of `conv3d` for its input, as a layer that makes volumes larger.

    Parameters
    ----------
    value
        Shape [batch, depth, height, width, channels] (or in the order of `data_format`).
    filter
        Shape [depth, height, width, output channels, input channels].
    output_shape
        The shape of the result.
    strides
        Step of the window in the result.
    padding
        "SAME" or "VALID", of the convolution that maps the result to `value`.
    data_format
        "NDHWC" or "NCDHW".
    name
        Name of the result.
    input, filters
        Other names of `value` and `filter`.
    dilations
        Distance of the filter's elements in each dimension.

    Examples
    --------
    >>> volumes, filters = tf.ones([1, 2, 4, 4, 3]), tf.ones([2, 3, 3, 5, 3])
    >>> tf.nn.conv3d_transpose(volumes, filters, [1, 4, 8, 8, 5], 2).shape.as_list()
    [1, 4, 8, 8, 5]
    """
    value = one_of(value, input, "value", "input")
    filter = one_of(filter, filters, "filter", "filters")  # noqa: A001
    first = data_format == "NCDHW"
    with scopes.name_scope(name, "conv3d_transpose", [value, filter, output_shape]) as scope:
        return gen_ops.conv3d_backprop_input_v2(
            convert_to_tensor(output_shape, dtypes.int32, "output_shape"),
            filter,
            value,
            window_of(strides, 3, first, "strides"),
            padding,
            data_format,
            window_of(dilations, 3, first, "dilations"),
            scope,
        )


@public("nn.conv_transpose")
@takes(
    input=TENSOR,
    filters=TENSOR,
    output_shape=TENSOR,
    strides=INTEGERS,
    padding=TEXT,
    data_format=TEXT,
    dilations=INTEGERS,
)
def conv_transpose(
    input: Any,  # noqa: A002
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: str = "SAME",
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """A transposed convolution of sequences, images or volumes.

    Parameters
    ----------
    input
        Shape [batch, size..., channels], or [batch, channels, size...] when `data_format` starts
        with "NC"; there are one to three sizes.
    filters
        Shape [size..., output channels, input channels].
    output_shape
        The shape of the result. It tells the number of sizes.
    strides
        Step of the window in the result.
    padding
        "SAME" or "VALID".
    data_format
        "NWC" or "NCW", "NHWC" or "NCHW", "NDHWC" or "NCDHW"; channels are last by default.
    dilations
        Distance of the filter's elements.
    name
        Name of the result.

    Raises
    ------
    ValueError
        `output_shape` has another number of sizes, or one that is not known.

    Examples
    --------
    >>> images, filters = tf.ones([1, 4, 4, 3]), tf.ones([3, 3, 5, 3])
    >>> tf.nn.conv_transpose(images, filters, [1, 8, 8, 5], 2).shape.as_list()
    [1, 8, 8, 5]
    """
    first = image_format(data_format) == "NCHW"
    with scopes.name_scope(name, "conv_transpose", [input, filters, output_shape]) as scope:
        sizes = convert_to_tensor(output_shape, dtypes.int32, "output_shape")
        count = (sizes.shape.with_rank(1).as_list()[0] or 0) - 2
        if count == 1:
            order = "NCW" if first else "NWC"
            return conv1d_transpose(
                input, filters, sizes, strides, padding, order, dilations, scope
            )
        if count == 2:
            order = "NCHW" if first else "NHWC"
            return conv2d_transpose(
                input, filters, sizes, strides, padding, order, scope, dilations=dilations
            )
        if count == 3:
            order = "NCDHW" if first else "NDHWC"
            return conv3d_transpose(
                input, filters, sizes, strides, padding, order, scope, dilations=dilations
            )
    raise ValueError(f"output_shape: expected 3, 4 or 5 sizes, got {output_shape!r}")


@public("nn.atrous_conv2d_transpose")
@takes(value=TENSOR, filters=TENSOR, output_shape=TENSOR, rate=INTEGER, padding=TEXT)
def atrous_conv2d_transpose(
    value: Any,
    filters: Any,
    output_shape: Any,
    rate: int,
    padding: str,
    name: str | None = None,
) -> Tensor:
    """The gradient of `atrous_conv2d` for its input.

    Parameters
    ----------
    value
        Shape [batch, height, width, channels].
    filters
        Shape [height, width, output channels, input channels].
    output_shape
        The shape of the result.
    rate
        Distance of the filter's elements.
    padding
        "SAME" or "VALID", of the convolution that maps the result to `value`.
    name
        Name of the result.

    Examples
    --------
    >>> images, filters = tf.ones([1, 5, 5, 8]), tf.ones([3, 3, 3, 8])
    >>> tf.nn.atrous_conv2d_transpose(images, filters, [1, 9, 9, 3], 2, "VALID").shape.as_list()
    [1, 9, 9, 3]
    """
    given = [value, filters, output_shape]
    with scopes.name_scope(name, "atrous_conv2d_transpose", given) as scope:
        return conv2d_backprop_input(
            convert_to_tensor(output_shape, dtypes.int32, "output_shape"),
            filters,
            value,
            1,
            padding,
            dilations=[rate, rate],
            name=scope,
        )


@public("nn.conv2d_backprop_input")
@takes(
    input_sizes=TENSOR,
    filter=TENSOR,
    out_backprop=TENSOR,
    strides=INTEGERS,
    padding=PADDING,
    data_format=TEXT,
    dilations=INTEGERS,
    filters=TENSOR,
)
def conv2d_backprop_input(
    input_sizes: Any,
    filter: Any = None,  # noqa: A002
    out_backprop: Any = None,
    strides: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
    filters: Any = None,
) -> Tensor:
    """The gradient of `conv2d` for its input.

    Parameters
    ----------
    input_sizes
        The shape of that input.
    filter
        The filter.
    out_backprop
        The gradient for what `conv2d` gave.
    strides, padding, use_cudnn_on_gpu, data_format, dilations
        As for `conv2d`.
    name
        Name of the result.
    filters
        Another name of `filter`.

    Examples
    --------
    >>> gradient, filters = tf.ones([1, 3, 3, 8]), tf.ones([3, 3, 3, 8])
    >>> tf.nn.conv2d_backprop_input([1, 5, 5, 3], filters, gradient, 1, "VALID").shape.as_list()
    [1, 5, 5, 3]
    """
    filter = one_of(filter, filters, "filter", "filters")  # noqa: A001
    mode, explicit = explicit_padding(padding)
    first = data_format == "NCHW"
    return gen_ops.conv2d_backprop_input(
        input_sizes,
        filter,
        out_backprop,
        window_of(strides, 2, first, "strides"),
        mode,
        use_cudnn_on_gpu,
        explicit,
        data_format,
        window_of(dilations, 2, first, "dilations"),
        name,
    )


@public("nn.conv2d_backprop_filter")
@takes(
    input=TENSOR,
    filter_sizes=TENSOR,
    out_backprop=TENSOR,
    strides=INTEGERS,
    padding=PADDING,
    data_format=TEXT,
    dilations=INTEGERS,
)
def conv2d_backprop_filter(
    input: Any,  # noqa: A002
    filter_sizes: Any,
    out_backprop: Any,
    strides: Any,
    padding: Any,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """The gradient of `conv2d` for its filter.

    Parameters
    ----------
    input
        The input.
    filter_sizes
        The shape of the filter.
    out_backprop
        The gradient for what `conv2d` gave.
    strides, padding, use_cudnn_on_gpu, data_format, dilations
        As for `conv2d`.
    name
        Name of the result.

    Examples
    --------
    >>> images, gradient = tf.ones([1, 5, 5, 3]), tf.ones([1, 3, 3, 8])
    >>> tf.nn.conv2d_backprop_filter(images, [3, 3, 3, 8], gradient, 1, "VALID").shape.as_list()
    [3, 3, 3, 8]
    """
    mode, explicit = explicit_padding(padding)
    first = data_format == "NCHW"
    return gen_ops.conv2d_backprop_filter(
        input,
        filter_sizes,
        out_backprop,
        window_of(strides, 2, first, "strides"),
        mode,
        use_cudnn_on_gpu,
        explicit,
        data_format,
        window_of(dilations, 2, first, "dilations"),
        name,
    )


conv3d_backprop_filter = public("nn.conv3d_backprop_filter", "nn.conv3d_backprop_filter_v2")(
    gen_ops.conv3d_backprop_filter_v2
)
