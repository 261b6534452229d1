"""Uses of every differentiable op, for the numeric gradient checks."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import millstream as tf
from millstream._impl.ops import gen_ops
from testing.conformance.gradient_check import Array, Check

# Shapes of two arguments that broadcast: equal, by missing and by unit axes, on either side.
_BROADCASTS: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((2, 3), (2, 3)),
    ((2, 3), (3,)),
    ((3,), (2, 3)),
    ((2, 1), (1, 3)),
    ((), (2, 3)),
    ((2, 3), (1, 1)),
    ((2, 1, 3), (4, 1)),
]


def spread(name: str, *shape: int) -> Array:
    """Numbers between -2 and 2 in random order, none near another or near 0."""
    count = int(np.prod(shape, dtype=np.int64))
    values = (np.arange(count) + 0.37) / max(count, 1) * 4 - 2
    random = np.random.default_rng(zlib.crc32(name.encode()))
    return random.permutation(values).reshape(shape)


def positive(name: str, *shape: int) -> Array:
    """Numbers between 0.5 and 2, none near another."""
    return np.asarray(0.5 + (spread(name, *shape) + 2) * 0.375)


def _unary() -> list[Check]:
    anywhere: dict[str, Callable[..., Any]] = {
        "Neg": gen_ops.neg,
        "Abs": gen_ops.abs,
        "Sign": gen_ops.sign,
        "Square": gen_ops.square,
        "Exp": gen_ops.exp,
        "Tanh": gen_ops.tanh,
        "Sigmoid": gen_ops.sigmoid,
        "Reciprocal": gen_ops.reciprocal,
        "Inv": gen_ops.inv,
        "Identity": gen_ops.identity,
        "CheckNumerics": lambda x: gen_ops.check_numerics(x, "x"),
        "L2Loss": gen_ops.l2_loss,
        "Relu": gen_ops.relu,
        "Softmax": gen_ops.softmax,
        "LogSoftmax": gen_ops.log_softmax,
        "BiasAddGrad": gen_ops.bias_add_grad,
    }
    above_zero: dict[str, Callable[..., Any]] = {
        "Sqrt": gen_ops.sqrt,
        "Rsqrt": gen_ops.rsqrt,
        "Log": gen_ops.log,
    }
    checks = [Check(op, function, (spread(op, 3, 4),)) for op, function in anywhere.items()]
    checks += [Check(op, function, (positive(op, 3, 4),)) for op, function in above_zero.items()]
    return checks


def _of_two_equal_shapes() -> list[Check]:
    functions: dict[str, Callable[..., Any]] = {
        "TanhGrad": gen_ops.tanh_grad,
        "SigmoidGrad": gen_ops.sigmoid_grad,
        "SqrtGrad": gen_ops.sqrt_grad,
        "RsqrtGrad": gen_ops.rsqrt_grad,
        "ReciprocalGrad": gen_ops.reciprocal_grad,
        "InvGrad": gen_ops.inv_grad,
        "ReluGrad": gen_ops.relu_grad,
    }
    return [
        Check(op, function, (positive(op, 3, 2), spread(op + "1", 3, 2)))
        for op, function in functions.items()
    ]


def _broadcasting() -> list[Check]:
    functions: dict[str, Callable[..., Any]] = {
        "Add": gen_ops.add,
        "AddV2": gen_ops.add_v2,
        "Sub": gen_ops.sub,
        "Mul": gen_ops.mul,
        "Div": gen_ops.div,
        "RealDiv": gen_ops.real_div,
        "FloorMod": gen_ops.floor_mod,
        "SquaredDifference": gen_ops.squared_difference,
        "Maximum": gen_ops.maximum,
        "Minimum": gen_ops.minimum,
        "Pow": gen_ops.pow,
    }
    checks = []
    for op, function in functions.items():
        for left, right in _BROADCASTS:
            first = positive(op, *left) if op == "Pow" else spread(op, *left)
            checks.append(Check(op, function, (first, positive(op + "1", *right))))
    same = spread("same", 2, 3)
    checks += [
        Check(op, _of_itself(function), (same,))
        for op, function in functions.items()
        if op not in ("FloorMod", "Pow")
    ]
    return checks


def _of_itself(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: function(x, x)


def _other_math() -> list[Check]:
    x, y, z = (spread(name, 3, 2) for name in "xyz")
    rows = np.array([True, False, True])
    cells = np.array([[True, False], [False, False], [True, True]])
    # Quarters and steps of a power of two: float32 holds them exactly.
    quarters = np.array([0.25, -1.5, 3.0])
    checks = [
        Check("AddN", lambda *xs: gen_ops.add_n(xs), (x, y, z)),
        Check("Select", lambda a, b: gen_ops.select(tf.constant(cells), a, b), (x, y)),
        Check("Select", lambda a, b: gen_ops.select(tf.constant(rows), a, b), (x, y)),
        Check("Select", lambda a, b: gen_ops.select(tf.constant(True), a, b), (x, y)),
        Check("Cast", lambda a: gen_ops.cast(a, tf.float32), (quarters,), step=2.0**-10),
        Check("Cast", lambda a: gen_ops.cast(a, tf.float64), (quarters,)),
        Check("Conj", _real_part_of_conjugate_product, (x,)),
    ]
    for transpose_a in (False, True):
        for transpose_b in (False, True):
            a = spread("a", *((3, 2) if transpose_a else (2, 3)))
            b = spread("b", *((4, 3) if transpose_b else (3, 4)))
            attrs = {"transpose_a": transpose_a, "transpose_b": transpose_b}
            checks.append(Check("MatMul", _with(gen_ops.mat_mul, **attrs), (a, b)))
    return checks


def _batches_of_products() -> list[Check]:
    batches: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
        ((2,), (2,)),
        ((2, 1), (3,)),
        ((), (2,)),
        ((2, 2), (1, 1)),
    ]
    checks = []
    for adj_x in (False, True):
        for adj_y in (False, True):
            for of_x, of_y in batches:
                x = spread("x", *of_x, *((3, 2) if adj_x else (2, 3)))
                y = spread("y", *of_y, *((4, 3) if adj_y else (3, 4)))
                attrs = {"adj_x": adj_x, "adj_y": adj_y}
                product = _with(gen_ops.batch_mat_mul_v2, **attrs)
                checks.append(Check("BatchMatMulV2", product, (x, y)))
                if of_x == of_y:
                    checks.append(
                        Check("BatchMatMul", _with(gen_ops.batch_mat_mul, **attrs), (x, y))
                    )
    return checks


def _real_part_of_conjugate_product(x: Any) -> Any:
    """Real part of conj(a * x) * b for constants a and b, which depends on the conjugation."""
    scaled = gen_ops.mul(gen_ops.cast(x, tf.complex128), np.complex128(0.5 + 2j))
    product = gen_ops.mul(gen_ops.conj(scaled), np.complex128(1.5 - 1j))
    return gen_ops.cast(product, tf.float64)


def _with(function: Callable[..., Any], *others: Any, **attrs: Any) -> Callable[..., Any]:
    """`function` of tensors, with other arguments after them."""
    return lambda *tensors: function(*tensors, *others, **attrs)


def _reductions() -> list[Check]:
    functions: dict[str, Callable[..., Any]] = {
        "Sum": gen_ops.sum,
        "Mean": gen_ops.mean,
        "Max": gen_ops.max,
        "Min": gen_ops.min,
        "Prod": gen_ops.prod,
    }
    axes: list[Sequence[int]] = [[0], [1], [-1], [0, 2], [2, 0], [0, 1, 2], []]
    checks = []
    for op, function in functions.items():
        x = spread(op, 2, 3, 2)
        for chosen in axes:
            reduced = np.array(chosen, np.int32)
            checks.append(Check(op, _with(function, reduced, keep_dims=False), (x,)))
            checks.append(Check(op, _with(function, reduced, keep_dims=True), (x,)))
    zeros = spread("zeros", 3, 4)
    zeros[0, 1] = zeros[1, 0] = zeros[1, 2] = 0.0
    checks.append(Check("Prod", _with(gen_ops.prod, np.array([1], np.int32)), (zeros,)))
    return checks


def _shapes() -> list[Check]:
    x = spread("x", 2, 3, 4)
    unit = spread("unit", 2, 1, 3, 1)
    return [
        Check("Reshape", lambda a: gen_ops.reshape(a, [4, 6]), (x,)),
        Check("Reshape", lambda a: gen_ops.reshape(a, [-1]), (x,)),
        Check("ExpandDims", lambda a: gen_ops.expand_dims(a, 1), (x,)),
        Check("ExpandDims", lambda a: gen_ops.expand_dims(a, -1), (x,)),
        Check("Squeeze", gen_ops.squeeze, (unit,)),
        Check("Squeeze", lambda a: gen_ops.squeeze(a, [1]), (unit,)),
        Check("Transpose", lambda a: gen_ops.transpose(a, [2, 0, 1]), (x,)),
        Check("IdentityN", lambda a, b: gen_ops.identity_n([a, b]), (x, unit)),
        Check(
            "PlaceholderWithDefault",
            lambda a: gen_ops.placeholder_with_default(a, shape=[2, 3, 4]),
            (x,),
        ),
        Check("Fill", lambda a: gen_ops.fill([2, 3], a), (spread("value"),)),
        Check("Fill", lambda a: gen_ops.fill(np.array([], np.int32), a), (spread("value"),)),
        Check("Pad", lambda a: gen_ops.pad(a, [[1, 0], [0, 2], [3, 1]]), (x,)),
        Check("Tile", lambda a: gen_ops.tile(a, [2, 1, 3]), (x,)),
        Check("Tile", lambda a: gen_ops.tile(a, np.array([], np.int32)), (spread("scalar"),)),
        Check("BiasAdd", gen_ops.bias_add, (x, spread("bias", 4))),
    ]


def _joins() -> list[Check]:
    a, b, c = spread("a", 2, 3), spread("b", 2, 1), spread("c", 2, 2)
    wide = spread("wide", 2, 6)
    return [
        Check("ConcatV2", lambda *xs: gen_ops.concat_v2(xs, 1), (a, b, c)),
        Check("ConcatV2", lambda *xs: gen_ops.concat_v2(xs, -1), (a, b, c)),
        Check("ConcatV2", lambda *xs: gen_ops.concat_v2(xs, np.int64(0)), (a, a + 1)),
        Check("ConcatV2", lambda x: gen_ops.concat_v2([x, x], 0), (a,)),
        Check("Pack", lambda *xs: gen_ops.pack(xs), (a, a + 1)),
        Check("Pack", lambda *xs: gen_ops.pack(xs, axis=-1), (a, a + 1, a + 2)),
        Check("Unpack", lambda x: gen_ops.unpack(x, num=2), (a,)),
        Check("Unpack", lambda x: gen_ops.unpack(x, num=3, axis=1), (a,)),
        Check("Unpack", lambda x: gen_ops.unpack(x, num=3, axis=-1)[1], (a,)),
        Check("Split", lambda x: gen_ops.split(1, x, num_split=3), (wide,)),
        Check("Split", lambda x: gen_ops.split(1, x, num_split=3)[2], (wide,)),
        Check("Split", lambda x: gen_ops.split(0, x, num_split=1), (wide,)),
        Check("SplitV", lambda x: gen_ops.split_v(x, [1, 3, 2], 1, num_split=3), (wide,)),
        Check("SplitV", lambda x: gen_ops.split_v(x, [4, -1], -1, num_split=2)[1], (wide,)),
    ]


def _slices() -> list[Check]:
    x = spread("x", 4, 3, 5)
    long_begin, long_size = np.array([0, 1, 0], np.int64), np.array([4, 1, 5], np.int64)
    specs: list[tuple[list[int], list[int], list[int], dict[str, int]]] = [
        ([1, 0, 1], [3, 3, 4], [1, 2, 1], {}),
        ([3, 2, 4], [0, 0, 0], [-1, -1, -2], {}),
        ([0, 1, 0], [2, 0, 3], [1, 1, 1], {"shrink_axis_mask": 2, "begin_mask": 4}),
        ([0, 0, 1], [0, 0, 4], [1, 1, 2], {"ellipsis_mask": 1, "new_axis_mask": 2}),
        ([-2, 0], [0, 2], [1, 1], {"end_mask": 1}),
    ]
    checks = [
        Check("Slice", lambda a: gen_ops.slice(a, [1, 0, 2], [2, 3, -1]), (x,)),
        Check("Slice", lambda a: gen_ops.slice(a, long_begin, long_size), (x,)),
    ]
    for begin, end, strides, masks in specs:
        checks.append(
            Check("StridedSlice", _with(gen_ops.strided_slice, begin, end, strides, **masks), (x,))
        )
    begin, end, strides, _ = specs[0]
    checks.append(
        Check(
            "StridedSliceGrad",
            lambda dy: gen_ops.strided_slice_grad([4, 3, 5], begin, end, strides, dy),
            (spread("dy", 2, 2, 3),),
        )
    )
    return checks


def _computed(axis: int) -> Any:
    """An axis that is known when the graph runs."""
    return tf.placeholder_with_default(np.array(axis, np.int64), None)


def _rows() -> list[Check]:
    x = spread("x", 4, 3)
    cube = spread("cube", 2, 3, 4)
    rows = np.array([[2, 0], [2, 3]], np.int32)
    columns = np.array([2, 0, 2, 1], np.int64)
    segments = np.array([1, -1, 0, 1], np.int32)
    pairs = np.array([[1, 0, 1], [2, 2, 0]], np.int32)
    parts = np.array([2, 0, 2, 1], np.int32)
    row = spread("row", 3)
    places = [np.array([4, 0, 6, 1], np.int32), np.array(3, np.int32)]
    return [
        Check("GatherV2", lambda a: gen_ops.gather_v2(a, rows, 0), (x,)),
        Check("GatherV2", lambda a: gen_ops.gather_v2(a, np.int32(3), 0), (x,)),
        Check("GatherV2", lambda a: gen_ops.gather_v2(a, columns, 1), (x,)),
        Check("GatherV2", lambda a: gen_ops.gather_v2(a, rows[:, :1], -1), (cube,)),
        Check("GatherV2", lambda a: gen_ops.gather_v2(a, np.int32(1), 1), (cube,)),
        Check("GatherV2", lambda a: gen_ops.gather_v2(a, pairs, 1, batch_dims=1), (cube,)),
        Check("GatherV2", lambda a: gen_ops.gather_v2(a, pairs, 2, batch_dims=1), (cube,)),
        Check("GatherV2", lambda a: gen_ops.gather_v2(a, pairs, 2, batch_dims=2), (cube,)),
        Check("GatherV2", lambda a: gen_ops.gather_v2(a, pairs, -1, batch_dims=-1), (cube,)),
        Check("GatherV2", lambda a: gen_ops.gather_v2(a, columns[:2], 1, batch_dims=1), (cube,)),
        Check("GatherV2", lambda a: gen_ops.gather_v2(a, columns, _computed(1)), (x,)),
        Check("GatherV2", lambda a: gen_ops.gather_v2(a, rows, _computed(-2)), (x,)),
        Check(
            "GatherV2", lambda a: gen_ops.gather_v2(a, pairs, _computed(2), batch_dims=1), (cube,)
        ),
        Check(
            "GatherV2", lambda a: gen_ops.gather_v2(a, pairs, _computed(-1), batch_dims=-1), (cube,)
        ),
        Check("DynamicPartition", lambda a: gen_ops.dynamic_partition(a, parts, 4), (x,)),
        Check("DynamicPartition", lambda a: gen_ops.dynamic_partition(a, parts, 3)[2], (x,)),
        Check("DynamicPartition", lambda a: gen_ops.dynamic_partition(a, pairs, 3), (cube,)),
        Check("DynamicStitch", lambda a, b: gen_ops.dynamic_stitch(places, [a, b]), (x, row)),
        Check("UnsortedSegmentSum", lambda a: gen_ops.unsorted_segment_sum(a, segments, 3), (x,)),
        Check("UnsortedSegmentSum", lambda a: gen_ops.unsorted_segment_sum(a, pairs, 3), (cube,)),
        Check(
            "ReadVariableOp",
            lambda handle: gen_ops.read_variable_op(handle, dtype=tf.float64),
            (x,),
            of_variable=True,
        ),
        Check(
            "ResourceGather",
            lambda handle: gen_ops.resource_gather(handle, rows, dtype=tf.float64),
            (x,),
            of_variable=True,
        ),
    ]


def _losses() -> list[Check]:
    logits = spread("logits", 3, 4)
    labels = positive("labels", 3, 4)
    labels /= labels.sum(1, keepdims=True)
    classes = np.array([1, 3, 0], np.int64)
    dense = gen_ops.softmax_cross_entropy_with_logits
    sparse = gen_ops.sparse_softmax_cross_entropy_with_logits
    # The second output is the gradient of the first by the logits, and that one's gradient the
    # second derivative. The labels' gradient leaves the second output out, as the reference's.
    return [
        Check(
            "SoftmaxCrossEntropyWithLogits", lambda x: dense(x, tf.constant(labels))[0], (logits,)
        ),
        Check(
            "SoftmaxCrossEntropyWithLogits", lambda y: dense(tf.constant(logits), y)[0], (labels,)
        ),
        Check(
            "SoftmaxCrossEntropyWithLogits",
            lambda x: dense(x, tf.constant(labels[:1]))[0],
            (logits,),
        ),
        Check(
            "SoftmaxCrossEntropyWithLogits",
            lambda y: dense(tf.constant(logits), y)[0],
            (labels[:1],),
        ),
        Check(
            "SoftmaxCrossEntropyWithLogits",
            lambda x: list(dense(x, tf.constant(labels))),
            (logits,),
        ),
        Check("SparseSoftmaxCrossEntropyWithLogits", lambda x: list(sparse(x, classes)), (logits,)),
    ]


def _shape_of(function: Callable[..., Any], *arrays: Array) -> tuple[int, ...]:
    """The static shape of what a function makes of arrays."""
    with tf.Graph().as_default():
        return tuple(function(*(tf.constant(array) for array in arrays)).shape.as_list())


def _of_pooled(function: Callable[..., Any], image: Array) -> Callable[..., Any]:
    """A gradient op of MaxPool as a function of its last argument, for an image."""

    def of_last(last: Any, **attrs: Any) -> Any:
        x = tf.constant(image)
        return function(x, gen_ops.max_pool(x, **attrs), last, **attrs)

    return of_last


def _windows() -> list[Check]:
    x = spread("x", 2, 5, 4, 2)
    w = spread("w", 3, 2, 2, 3)
    attrs: list[dict[str, Any]] = [
        {"strides": [1, 1, 1, 1], "padding": "SAME"},
        {"strides": [1, 2, 1, 1], "padding": "VALID"},
        {"strides": [1, 2, 2, 1], "padding": "SAME"},
    ]
    checks = []
    for chosen in attrs:
        dy = spread("dy", *_shape_of(_with(gen_ops.conv2d, **chosen), x, w))
        checks += [
            Check("Conv2D", _with(gen_ops.conv2d, **chosen), (x, w)),
            Check(
                "Conv2DBackpropInput",
                _with(
                    lambda f, g, **a: gen_ops.conv2d_backprop_input(x.shape, f, g, **a), **chosen
                ),
                (w, dy),
            ),
            Check(
                "Conv2DBackpropFilter",
                _with(
                    lambda i, g, **a: gen_ops.conv2d_backprop_filter(i, w.shape, g, **a), **chosen
                ),
                (x, dy),
            ),
        ]
    for padding in ("SAME", "VALID"):
        window: dict[str, Any] = {
            "ksize": [1, 3, 2, 1],
            "strides": [1, 2, 1, 1],
            "padding": padding,
        }
        pooled = spread("pooled", *_shape_of(_with(gen_ops.avg_pool, **window), x))
        checks += [
            Check("MaxPool", _with(gen_ops.max_pool, **window), (x,)),
            Check("AvgPool", _with(gen_ops.avg_pool, **window), (x,)),
            Check(
                "AvgPoolGrad",
                _with(lambda g, **a: gen_ops.avg_pool_grad(x.shape, g, **a), **window),
                (pooled,),
            ),
            Check("MaxPoolGrad", _with(_of_pooled(gen_ops.max_pool_grad, x), **window), (pooled,)),
            Check(
                "MaxPoolGradGrad",
                _with(_of_pooled(gen_ops.max_pool_grad_grad, x), **window),
                (spread("image", *x.shape),),
            ),
        ]
    return checks


def all_checks() -> list[Check]:
    """Every check; each differentiable op has at least one."""
    return [
        *_unary(),
        *_of_two_equal_shapes(),
        *_broadcasting(),
        *_other_math(),
        *_batches_of_products(),
        *_reductions(),
        *_shapes(),
        *_joins(),
        *_slices(),
        *_rows(),
        *_losses(),
        *_windows(),
    ]
