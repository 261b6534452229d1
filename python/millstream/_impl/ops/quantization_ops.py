"""Numbers as levels of a range, arithmetic on levels, and training as if numbers were levels."""

from __future__ import annotations

from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import DTYPE, FLAG, INTEGER, TENSOR, takes
from millstream._impl.graph.operation import Tensor

dequantize = public("dequantize", "quantization.dequantize")(gen_ops.dequantize)
quantized_concat = public("quantized_concat", "quantization.quantized_concat")(
    gen_ops.quantized_concat
)
fake_quant_with_min_max_args = public(
    "fake_quant_with_min_max_args", "quantization.fake_quant_with_min_max_args"
)(gen_ops.fake_quant_with_min_max_args)
fake_quant_with_min_max_args_gradient = public(
    "fake_quant_with_min_max_args_gradient", "quantization.fake_quant_with_min_max_args_gradient"
)(gen_ops.fake_quant_with_min_max_args_gradient)
fake_quant_with_min_max_vars = public(
    "fake_quant_with_min_max_vars", "quantization.fake_quant_with_min_max_vars"
)(gen_ops.fake_quant_with_min_max_vars)
fake_quant_with_min_max_vars_gradient = public(
    "fake_quant_with_min_max_vars_gradient", "quantization.fake_quant_with_min_max_vars_gradient"
)(gen_ops.fake_quant_with_min_max_vars_gradient)
fake_quant_with_min_max_vars_per_channel = public(
    "fake_quant_with_min_max_vars_per_channel",
    "quantization.fake_quant_with_min_max_vars_per_channel",
)(gen_ops.fake_quant_with_min_max_vars_per_channel)
fake_quant_with_min_max_vars_per_channel_gradient = public(
    "fake_quant_with_min_max_vars_per_channel_gradient",
    "quantization.fake_quant_with_min_max_vars_per_channel_gradient",
)(gen_ops.fake_quant_with_min_max_vars_per_channel_gradient)
quantized_avg_pool = public("nn.quantized_avg_pool")(gen_ops.quantized_avg_pool)
quantized_max_pool = public("nn.quantized_max_pool")(gen_ops.quantized_max_pool)
quantized_conv2d = public("nn.quantized_conv2d")(gen_ops.quantized_conv2d)
quantized_relu_x = public("nn.quantized_relu_x")(gen_ops.quantized_relu_x)


@public("quantize", "quantization.quantize")
@takes(input=TENSOR, min_range=TENSOR, max_range=TENSOR, T=DTYPE)
def quantize(
    input: Any,  # noqa: A002
    min_range: Any,
    max_range: Any,
    T: Any,  # noqa: N803
    mode: str = "MIN_COMBINED",
    round_mode: str = "HALF_AWAY_FROM_ZERO",
    name: str | None = None,
) -> Any:
    """Quantize numbers: the levels of a type that are nearest to them.

    Parameters
    ----------
    input
        The numbers, float32.
    min_range, max_range
        Ends of the range that levels stand for, scalars. It is widened to include zero and not to
        be tiny.
    T
        The quantized type.
    mode
        How levels are spread: ``"MIN_COMBINED"``, ``"MIN_FIRST"`` or ``"SCALED"``.
    round_mode
        ``"HALF_AWAY_FROM_ZERO"`` or, for ``"SCALED"``, ``"HALF_TO_EVEN"``.
    name
        Name of the operation.

    Returns
    -------
    tuple
        The levels and the ends of their range.

    Examples
    --------
    >>> levels, low, high = tf.quantize([0.0, 1.0], 0.0, 1.0, tf.quint8)
    >>> tf.bitcast(levels, tf.uint8).eval().tolist()
    [0, 255]
    """
    return gen_ops.quantize_v2(input, min_range, max_range, T, mode, round_mode, name)


@public("quantize_v2")
@takes(input=TENSOR, min_range=TENSOR, max_range=TENSOR, T=DTYPE)
def quantize_v2(
    input: Any,  # noqa: A002
    min_range: Any,
    max_range: Any,
    T: Any,  # noqa: N803
    mode: str = "MIN_COMBINED",
    name: str | None = None,
    round_mode: str = "HALF_AWAY_FROM_ZERO",
) -> Any:
    """Quantize numbers, as `quantize`, with arguments in an older order.

    Parameters
    ----------
    input
        The numbers, float32.
    min_range, max_range
        Ends of the range that levels stand for, scalars.
    T
        The quantized type.
    mode
        How levels are spread: ``"MIN_COMBINED"``, ``"MIN_FIRST"`` or ``"SCALED"``.
    name
        Name of the operation.
    round_mode
        ``"HALF_AWAY_FROM_ZERO"`` or, for ``"SCALED"``, ``"HALF_TO_EVEN"``.

    Returns
    -------
    tuple
        The levels and the ends of their range.

    Examples
    --------
    >>> levels, low, high = tf.quantize_v2([0.0, 1.0], 0.0, 1.0, tf.quint8)
    >>> tf.bitcast(levels, tf.uint8).eval().tolist()
    [0, 255]
    """
    return quantize(input, min_range, max_range, T, mode, round_mode, name)


@public("quantization.quantize_and_dequantize")
@takes(
    input=TENSOR,
    input_min=TENSOR,
    input_max=TENSOR,
    signed_input=FLAG,
    num_bits=INTEGER,
    range_given=FLAG,
    narrow_range=FLAG,
)
def quantize_and_dequantize(
    input: Any,  # noqa: A002
    input_min: Any,
    input_max: Any,
    signed_input: bool = True,
    num_bits: int = 8,
    range_given: bool = False,
    round_mode: str = "HALF_TO_EVEN",
    name: str | None = None,
    narrow_range: bool = False,
) -> Tensor:
    """Numbers rounded to the levels of a range. The gradient passes unchanged.

    Parameters
    ----------
    input
        The numbers.
    input_min, input_max
        Ends of the range, scalars.
    signed_input
        Whether there are negative levels.
    num_bits
        How many bits a level has.
    range_given
        Whether the ends are those that are given, and not those of `input`.
    round_mode
        ``"HALF_TO_EVEN"`` or ``"HALF_UP"``.
    name
        Name of the operation.
    narrow_range
        Whether the least level is left out.

    Examples
    --------
    >>> tf.quantization.quantize_and_dequantize([0.9, 1.6, 5.0], 0.0, 3.0, num_bits=3,
    ...                                         range_given=True).eval().tolist()
    [1.0, 2.0, 3.0]
    """
    return gen_ops.quantize_and_dequantize_v2(
        input,
        input_min,
        input_max,
        signed_input,
        num_bits,
        range_given,
        round_mode,
        narrow_range,
        name,
    )
