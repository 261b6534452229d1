"""A large case of every op of floating-point numbers: large enough that kernels use all threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import millstream as tf
from millstream._impl.graph import op_defs
from millstream._impl.ops import gen_ops

Build = Callable[["Values"], Any]


class Values:
    """Inputs of one dtype, the same in every run. They are fed: constants would be folded.

    Attributes
    ----------
    feeds
        What to feed.

    Parameters
    ----------
    dtype
        Of the numbers.
    """

    def __init__(self, dtype: tf.DType) -> None:
        self.dtype = dtype
        self.feeds: dict[tf.Tensor, Any] = {}
        self._random = np.random.RandomState(7)

    def _fed(self, values: Any) -> tf.Tensor:
        tensor = tf.placeholder(values.dtype, values.shape)
        self.feeds[tensor] = values
        return tensor

    def of(self, *shape: int, low: float = -2.0, high: float = 2.0) -> tf.Tensor:
        """Numbers, evenly distributed."""
        values = self._random.uniform(low, high, shape).astype(self.dtype.as_numpy_dtype)
        return self._fed(values)

    def positive(self, *shape: int) -> tf.Tensor:
        """Numbers from 0.1 to 2."""
        return self.of(*shape, low=0.1)

    def rows(self, size: int, end: int) -> tf.Tensor:
        """Integers from 0 to `end`, exclusive, many of them several times."""
        values = self._random.randint(0, end, size).astype(np.int32)
        return self._fed(values)

    def variable(self, *shape: int) -> tf.Variable:
        """A variable of numbers from 0.1 to 2."""
        values = self._random.uniform(0.1, 2, shape).astype(self.dtype.as_numpy_dtype)
        return tf.Variable(values)


_SIZE = 300_000


def _unary(name: str) -> Build:
    return lambda values: getattr(gen_ops, name)(values.positive(_SIZE))


def _binary(name: str) -> Build:
    def build(values: Values) -> Any:
        function = getattr(gen_ops, name)
        matrix = values.positive(600, 500)
        return [
            function(matrix, values.positive(600, 500)),
            function(matrix, values.positive(500)),
            function(values.positive(600, 1), matrix),
        ]

    return build


def _reduction(name: str) -> Build:
    def build(values: Values) -> Any:
        function = getattr(gen_ops, name)
        cube = values.of(37, 90, 101)
        axes: list[Any] = [[0, 1, 2], 0, 1, 2, [0, 2], [0, 1], [1, 2]]
        if name.startswith("arg"):
            axes = [0, 1, 2]
        return [function(values.of(_SIZE), 0), *(function(cube, axis) for axis in axes)]

    return build


def _products(values: Values) -> Any:
    shapes = [(1, 700, 600), (700, 600, 1), (64, 3000, 10), (3, 20_000, 4), (300, 200, 250)]
    found = []
    for rows, inner, columns in shapes:
        a, b = values.of(rows, inner), values.of(inner, columns)
        found.append(gen_ops.mat_mul(a, b))
        found.append(gen_ops.mat_mul(values.of(inner, rows), b, transpose_a=True))
        found.append(gen_ops.mat_mul(a, values.of(columns, inner), transpose_b=True))
    return found


def _batched_products(name: str) -> Build:
    def build(values: Values) -> Any:
        function = getattr(gen_ops, name)
        return [
            function(values.of(16, 60, 70), values.of(16, 70, 50)),
            function(values.of(2, 8, 4000), values.of(2, 8, 4000), adj_y=True),
        ]

    return build


def _fused_products(values: Values) -> Any:
    found = []
    for rows, inner, columns in [(64, 3000, 10), (128, 784, 100)]:
        biased = tf.nn.bias_add(
            tf.matmul(values.of(rows, inner), values.of(inner, columns)), values.of(columns)
        )
        found.append(tf.nn.relu(biased))
    return found


_IMAGES = (
    (32, 28, 28, 1, 5, 16),
    (16, 14, 14, 16, 5, 32),
    (4, 12, 12, 64, 3, 64),
    (2, 9, 9, 8, 1, 32),
)


def _sizes(tensor: Any) -> list[int]:
    return [int(size) for size in tensor.shape.as_list()]


def _convolutions(values: Values) -> Any:
    found = []
    for count, height, width, depth, side, filters in _IMAGES:
        image = values.of(count, height, width, depth)
        kernel = values.of(side, side, depth, filters)
        for stride, padding in ((1, "SAME"), (2, "VALID")):
            strides = [1, stride, stride, 1]
            output = tf.nn.conv2d(image, kernel, strides, padding)
            gradient = values.of(*_sizes(output))
            found += [output, *tf.gradients(output, [image, kernel], gradient)]
    return found


def _fused_convolutions(values: Values) -> Any:
    image, kernel = values.of(32, 28, 28, 1), values.of(5, 5, 1, 16)
    convolved = tf.nn.conv2d(image, kernel, [1, 1, 1, 1], "SAME")
    return tf.nn.relu(tf.nn.bias_add(convolved, values.of(16)))


def _pools(values: Values) -> Any:
    image = values.of(16, 28, 28, 24)
    found = []
    for pool in (tf.nn.max_pool, tf.nn.avg_pool):
        for side, stride in ((2, 2), (3, 1)):
            output = pool(image, [1, side, side, 1], [1, stride, stride, 1], "SAME")
            found += [output, tf.gradients(output, image, values.of(*_sizes(output)))[0]]
    return found


def _second_pool_gradient(values: Values) -> Any:
    image = values.of(16, 28, 28, 24)
    pooled = tf.nn.max_pool(image, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    return gen_ops.max_pool_grad_grad(
        image, pooled, values.of(16, 28, 28, 24), [1, 2, 2, 1], [1, 2, 2, 1], "SAME"
    )


def _softmax(values: Values) -> Any:
    wide, tall = values.of(20, 15_000), values.of(30_000, 10)
    found = []
    for logits in (wide, tall):
        found += [tf.nn.softmax(logits), tf.nn.log_softmax(logits)]
    return found


def _cross_entropy(values: Values) -> Any:
    found = []
    for rows, classes in ((20, 15_000), (30_000, 10)):
        logits = values.of(rows, classes)
        labels = tf.nn.softmax(values.of(rows, classes))
        for loss in (
            tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits),
            tf.nn.sparse_softmax_cross_entropy_with_logits(
                labels=values.rows(rows, classes), logits=logits
            ),
        ):
            found += [loss, tf.gradients(loss, logits)[0]]
    return found


def _bias(values: Values) -> Any:
    found = []
    for shape in ((30_000, 10), (100, 3000), (16, 28, 28, 24)):
        found += [
            gen_ops.bias_add(values.of(*shape), values.of(shape[-1])),
            gen_ops.bias_add_grad(values.of(*shape)),
        ]
    return found


def _relu_gradient(values: Values) -> Any:
    found = []
    for shape in ((30_000, 10), (100, 3000)):
        x, bias = values.of(*shape), values.of(shape[1])
        output = tf.nn.relu(tf.nn.bias_add(x, bias))
        found += tf.gradients(output, [x, bias], values.of(*shape))
    return found


def _rows(values: Values) -> Any:
    data, rows = values.of(20_000, 16), values.rows(20_000, 50)
    table = values.of(50, 16)
    gathered = tf.gather(table, rows)
    return [
        gathered,
        tf.convert_to_tensor(tf.gradients(gathered, table, data)[0]),
        gen_ops.unsorted_segment_sum(data, rows, 50),
        gen_ops.dynamic_partition(data, values.rows(20_000, 3), 3),
        gen_ops.dynamic_stitch([values.rows(20_000, 20_000)], [data]),
    ]


def _updates(values: Values) -> Any:
    """Steps of each optimizer, dense and of rows, and the variables that they leave."""
    found = []
    for make in (
        lambda: tf.train.GradientDescentOptimizer(0.1),
        lambda: tf.train.AdamOptimizer(0.1),
        lambda: tf.train.AdagradOptimizer(0.1),
        lambda: tf.train.MomentumOptimizer(0.1, 0.9),
    ):
        for rows in (False, True):
            pieces = [values.variable(400, 300), values.variable(70, 30)]
            pairs = []
            for piece in pieces:
                gradient: Any = values.of(*_sizes(piece))
                if rows:
                    count, width = 3000, _sizes(piece)[1]
                    gradient = tf.IndexedSlices(
                        values.of(count, width), values.rows(count, 60), tf.shape(piece)
                    )
                pairs.append((gradient, piece))
            with tf.control_dependencies([make().apply_gradients(pairs)]):
                found += [piece.read_value() for piece in pieces]
    added, scattered = values.variable(400, 300), values.variable(60, 30)
    changes = [
        added.assign_add(values.of(400, 300)),
        added.assign_sub(values.of(400, 300)),
        scattered.scatter_add(
            tf.IndexedSlices(values.of(3000, 30), values.rows(3000, 60), tf.shape(scattered))
        ),
    ]
    return found + changes


def _product_updates(values: Values) -> Any:
    """A dense layer's step on few examples, which is one operation."""
    weights = values.variable(784, 100)
    loss = tf.reduce_sum(tf.square(tf.matmul(values.of(8, 784), weights)))
    with tf.control_dependencies([tf.train.GradientDescentOptimizer(0.01).minimize(loss)]):
        return weights.read_value()


def _chain(values: Values) -> Any:
    """Elementwise operations that become one kernel."""
    x, y = values.positive(_SIZE), values.positive(_SIZE)
    return tf.tanh(x * y + 1.0) / tf.square(tf.maximum(x, y)) - tf.exp(-x)


def _sums(values: Values) -> Any:
    return [
        gen_ops.add_n([values.of(_SIZE) for _ in range(5)]),
        gen_ops.l2_loss(values.of(_SIZE)),
        gen_ops.l2_loss(values.of(600, 500)),
    ]


def _random_numbers(values: Values) -> Any:
    shape = [_SIZE]
    return [
        make(shape, dtype=values.dtype, seed=5)
        for make in (tf.random_normal, tf.random_uniform, tf.truncated_normal)
    ]


class Group(NamedTuple):
    """Ops that one graph has.

    Attributes
    ----------
    ops
        Their names.
    build
        Makes the tensors to compare.
    dtypes
        In which they are compared.
    """

    ops: tuple[str, ...]
    build: Build
    dtypes: tuple[tf.DType, ...] = (tf.float32, tf.float64, tf.float16)


def _snake(name: str) -> str:
    return "".join("_" + c.lower() if c.isupper() else c for c in name).lstrip("_")


_UNARY = """
    Abs Exp Floor Inv Log Neg Reciprocal Relu Rsqrt Sigmoid Sign Sqrt Square Tanh CheckNumerics
    OnesLike ZerosLike
""".split()  # noqa: SIM905
_BINARY = """
    Add AddV2 Div FloorDiv FloorMod Maximum Minimum Mul Pow RealDiv SquaredDifference Sub Equal
    NotEqual Greater GreaterEqual Less LessEqual
""".split()  # noqa: SIM905
_GRADIENTS = """
    InvGrad ReciprocalGrad ReluGrad RsqrtGrad SigmoidGrad SqrtGrad TanhGrad
""".split()  # noqa: SIM905
_REDUCTIONS = ["ArgMax", "ArgMin", "Max", "Mean", "Min", "Prod", "Sum"]


def _pair(name: str) -> Build:
    return lambda values: getattr(gen_ops, name)(values.positive(_SIZE), values.positive(_SIZE))


def _checked(values: Values) -> Any:
    return gen_ops.check_numerics(values.of(_SIZE), "numbers")


def groups() -> Iterator[Group]:
    """Every group."""
    for name in _UNARY:
        if name == "CheckNumerics":
            yield Group((name,), _checked)
        else:
            yield Group((name,), _unary(_snake(name)))
    for name in _BINARY:
        yield Group((name,), _binary(_snake(name)))
    for name in _GRADIENTS:
        yield Group((name,), _pair(_snake(name)))
    for name in _REDUCTIONS:
        yield Group((name,), _reduction(_snake(name)))
    single = (tf.float32,)
    both = (tf.float32, tf.float64)
    yield Group(("MatMul",), _products)
    yield Group(("BatchMatMul",), _batched_products("batch_mat_mul"))
    yield Group(("BatchMatMulV2",), _batched_products("batch_mat_mul_v2"))
    yield Group(("_FusedMatMul",), _fused_products, single)
    yield Group(("Conv2D", "Conv2DBackpropFilter", "Conv2DBackpropInput"), _convolutions, both)
    yield Group(("_FusedConv2D",), _fused_convolutions, single)
    yield Group(("AvgPool", "AvgPoolGrad", "MaxPool", "MaxPoolGrad"), _pools, both)
    yield Group(("MaxPoolGradGrad",), _second_pool_gradient, both)
    yield Group(("LogSoftmax", "Softmax"), _softmax)
    yield Group(
        ("SoftmaxCrossEntropyWithLogits", "SparseSoftmaxCrossEntropyWithLogits"), _cross_entropy
    )
    yield Group(("BiasAdd", "BiasAddGrad"), _bias)
    yield Group(("_ReluGradBiasAddGrad",), _relu_gradient, single)
    yield Group(
        ("DynamicPartition", "DynamicStitch", "GatherV2", "ResourceGather", "UnsortedSegmentSum"),
        _rows,
    )
    yield Group(
        (
            "AssignAddVariableOp",
            "AssignSubVariableOp",
            "ResourceApplyAdagrad",
            "ResourceApplyAdam",
            "ResourceApplyGradientDescent",
            "ResourceApplyMomentum",
            "ResourceScatterAdd",
            "ResourceSparseApplyAdagrad",
            "ResourceSparseApplyMomentum",
            "_MultiResourceApplyAdagrad",
            "_MultiResourceApplyAdam",
            "_MultiResourceApplyGradientDescent",
            "_MultiResourceApplyMomentum",
        ),
        _updates,
        both,
    )
    yield Group(("_MatMulApplyGradientDescent",), _product_updates, single)
    yield Group(("_FusedElementwise",), _chain, single)
    yield Group(("AddN", "L2Loss"), _sums)
    yield Group(("RandomStandardNormal", "RandomUniform", "TruncatedNormal"), _random_numbers)


# Ops whose kernels compute no number, or that have none: they move, name, write or count.
WITHOUT_ARITHMETIC = frozenset(
    """
    ApplyAdagrad ApplyAdam ApplyGradientDescent ApplyMomentum Assert Assign AssignAdd AssignSub
    AssignVariableOp Cast ConcatV2 Conj Const Enter Exit ExpandDims FIFOQueueV2 Fill
    HistogramSummary Identity IdentityN ImageSummary IsVariableInitialized Merge NextIteration
    OneHot Pack Pad Placeholder PlaceholderWithDefault PreventGradient QueueDequeueManyV2
    QueueDequeueV2 QueueEnqueueManyV2 QueueEnqueueV2 Range Rank ReadVariableOp RefEnter RefExit
    RefIdentity RefMerge RefSwitch Reshape ScalarSummary ScatterAdd Select Shape ShapeN Size Slice
    SparseApplyAdagrad SparseApplyMomentum Split SplitV Squeeze StopGradient StridedSlice
    StridedSliceGrad Switch TensorSummaryV2 Tile Transpose Unique Unpack Variable VariableV2
    VarHandleOp _HostRecv _HostSend _Recv _Send
    """.split()  # noqa: SIM905
)


def floating_ops() -> Iterator[str]:
    """The names of all ops that take or give floating-point numbers, or any type."""
    for definition in op_defs.all_ops():
        types = {argument.type for argument in (*definition.input_arg, *definition.output_arg)}
        for attr in definition.attr:
            if attr.type in ("type", "list(type)"):
                types |= set(attr.allowed_values.list.type) or {tf.float32.as_datatype_enum}
        if tf.float32.as_datatype_enum in types:
            yield definition.name
