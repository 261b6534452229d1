"""Ops that no program names: passes and partitions put them into the graphs of steps."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

import millstream as tf
from testing.ops.state import LARGE_UPDATES
from testing.ops.support import number_types
from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.definitions import registered_ops
from testing.ops.support.determinism import FLOAT32, SIZE, LargeCase, Values
from testing.ops.support.reference import RefusedError, pick_type, type_attr
from testing.ops.support.registry import NotTested, Property, define_tests, references
from testing.ops.support.source import Source

_MADE_HERE = NotTested(
    "made by a pass, whose test compares every bit with the nodes that it replaces"
)


def _products(values: Values) -> Any:
    found = []
    for rows, inner, columns in [(64, 3000, 10), (128, 784, 100)]:
        biased = tf.nn.bias_add(
            tf.matmul(values.of(rows, inner), values.of(inner, columns)), values.of(columns)
        )
        found.append(tf.nn.relu(biased))
    return found


def _convolutions(values: Values) -> Any:
    image, kernel = values.of(32, 28, 28, 1), values.of(5, 5, 1, 16)
    convolved = tf.nn.conv2d(image, kernel, [1, 1, 1, 1], "SAME")
    return tf.nn.relu(tf.nn.bias_add(convolved, values.of(16)))


def _depthwise_convolutions(values: Values) -> Any:
    image, kernel = values.of(8, 56, 56, 32), values.of(3, 3, 32, 1)
    convolved = tf.nn.depthwise_conv2d(image, kernel, [1, 1, 1, 1], "SAME")
    return tf.nn.relu6(tf.nn.bias_add(convolved, values.of(32)))


def _branches(values: Values) -> Any:
    """Convolutions of one image whose outputs are concatenated."""
    found = []
    image = values.of(4, 28, 28, 32)
    for side, channels in ((1, 40), (3, 48), (5, 16)):
        convolved = tf.nn.conv2d(image, values.of(side, side, 32, channels), [1, 1, 1, 1], "SAME")
        found.append(tf.nn.relu(tf.nn.bias_add(convolved, values.of(channels))))
    return tf.concat(found, 3)


def _embeddings(values: Values) -> Any:
    """Rows of several matrices, side by side."""
    picked = [tf.constant(np.arange(3000) * step % 500) for step in (1, 7, 13)]
    return tf.concat([tf.gather(values.of(500, 40), indices) for indices in picked], 1)


def _relu_gradient(values: Values) -> Any:
    found = []
    for shape in ((30_000, 10), (100, 3000)):
        x, bias = values.of(*shape), values.of(shape[1])
        output = tf.nn.relu(tf.nn.bias_add(x, bias))
        found += tf.gradients(output, [x, bias], values.of(*shape))
    return found


def _softmax_gradient(values: Values) -> Any:
    found = []
    for shape in ((2000, 150), (4, 75_000), (300_000, 1)):
        x = values.of(*shape)
        found += tf.gradients(tf.nn.softmax(x * 0.125), [x], values.of(*shape))
    return found


def _normalization(values: Values) -> Any:
    """Batch normalization with Relu, and the gradients of both."""
    found = []
    for shape in ((8, 56, 56, 24), (64, 3, 3, 1100)):
        x, scale, offset = values.of(*shape), values.positive(shape[3]), values.of(shape[3])
        output = tf.nn.relu(tf.nn.fused_batch_norm(x, scale, offset)[0])
        found += [output, *tf.gradients(output, [x, scale, offset], values.of(*shape))]
    return found


def _product_update(values: Values) -> Any:
    """A dense layer's step on few examples, which is one operation."""
    weights = values.variable(784, 100)
    loss = tf.reduce_sum(tf.square(tf.matmul(values.of(8, 784), weights)))
    with tf.control_dependencies([tf.train.GradientDescentOptimizer(0.01).minimize(loss)]):
        return weights.read_value()


def _recurrent_steps(values: Values, batch: int = 64) -> Any:
    """Steps of a recurrent network with their gradients: products that are joined and summed."""
    x, weights, bias = values.of(batch, 5, 100), values.of(300, 200), values.of(200)
    state = values.of(batch, 200)
    for t in range(5):
        state = tf.tanh(tf.matmul(tf.concat([x[:, t], state], 1), weights) + bias)
    return [state, *tf.gradients(state, [x, weights])]


def _recurrent_steps_of_many(values: Values) -> Any:
    """The same with a batch for whose products weights are not arranged once for all steps."""
    return _recurrent_steps(values, 96)


def _chain(values: Values) -> Any:
    """Elementwise operations that become one kernel."""
    x, y = values.positive(SIZE), values.positive(SIZE)
    return tf.tanh(x * y + 1.0) / tf.square(tf.maximum(x, y)) - tf.exp(-x)


# Of a part that is legal and of a given type.
_MOST_DRAWS = 60


def _legal_case(source: Source, op: Any, part: str) -> Case:
    """A legal case of the op `part`, whose type T is one that `op` may be of.

    Raises
    ------
    RefusedError
        When none was drawn.
    """
    allowed = next(attr.allowed_values for attr in op.attr if attr.name == "T")
    definition = copy.deepcopy(registered_ops()[part])
    for attr in definition.attr:
        if attr.name == "T":
            attr.allowed_values.CopyFrom(allowed)
    make, reference = references()[part]
    for _ in range(_MOST_DRAWS):
        case = make(source, definition)
        if number_types.NUMBERS[case.attr("T")[1]] not in allowed.list.type:
            continue
        try:
            with np.errstate(all="ignore"):
                reference(case)
        except RefusedError:
            continue
        return case
    raise RefusedError("T")


def _make_fused(source: Source, op: Any) -> Case:
    """A product or a convolution with a bias, and with or without Relu or Relu6."""
    case = _legal_case(source, op, op.name.removeprefix("_Fused"))
    dtype = case.inputs[0].dtype
    if op.name == "_FusedMatMul":
        size = case.array(1).shape[0 if case.values["turned"][1] else 1]
    elif op.name == "_FusedDepthwiseConv2dNative":
        size = case.array(1).shape[2] * case.array(1).shape[3]
    else:
        size = case.array(1).shape[3]
    inputs = [Input(dtype, case.array(0)), Input(dtype, case.array(1))]
    inputs.append(Input(dtype, source.values(dtype, (size,), "plain")))
    steps = source.pick((["BiasAdd"], ["BiasAdd", "Relu"], ["BiasAdd", "Relu6"]))
    attrs = {**case.attrs, "num_args": attr_text(1), "fused_ops": attr_text(steps)}
    return Case(op.name, inputs, attrs)


def _make_joined_convolutions(source: Source, op: Any) -> Case:
    """Convolutions of images of one size, whose outputs lie side by side."""
    size = tuple(source.integer(1, 6) for _ in range(3))
    images: list[Input] = []
    filters: list[Input] = []
    biases: list[Input] = []
    for _ in range(source.integer(1, 4)):
        side, depth, channels = source.integer(1, 3), source.integer(1, 40), source.integer(1, 40)
        for inputs, shape in (
            (images, (*size, depth)),
            (filters, (side, side, depth, channels)),
            (biases, (channels,)),
        ):
            inputs.append(Input("float32", source.values("float32", shape, "small")))
    stride = source.integer(1, 2)
    attrs = {
        "N": attr_text(len(images)),
        "T": type_attr("float32"),
        "strides": attr_text([1, stride, stride, 1]),
        "padding": attr_text("SAME"),
        "fused_ops": attr_text(source.pick((["BiasAdd"], ["BiasAdd", "Relu6"]))),
    }
    return Case(op.name, [*images, *filters, *biases], attrs)


def _make_joined_gather(source: Source, op: Any) -> Case:
    """Rows of matrices; a case of an op that has no reference is a legal one."""
    shape, index = source.small_shape(0, 3), source.pick(("int32", "int64"))
    params: list[Input] = []
    indices: list[Input] = []
    for _ in range(source.integer(1, 4)):
        rows = source.integer(1, 6)
        params.append(_float_matrix(source, rows, source.size(20)))
        picked = source.random.integers(0, rows, size=shape)
        indices.append(Input(index, np.asarray(picked, index)))
    attrs = {"N": attr_text(len(params)), "T": type_attr("float32"), "Tindices": type_attr(index)}
    return Case(op.name, [*params, *indices], attrs)


def _make_norm(source: Source, op: Any) -> Case:
    """Batch normalization with Relu, or the gradient of both, in training."""
    is_gradient = op.name.endswith("Grad")
    part = "FusedBatchNormGradV3" if is_gradient else "FusedBatchNormV3"
    while True:
        case = _legal_case(source, op, part)
        if case.attr("is_training") or not is_gradient:
            break
    del case.attrs["U"]
    inputs = case.inputs
    if is_gradient:
        inputs = [*inputs[:3], Input("float32", inputs[2].value), *inputs[3:5]]
    return Case(op.name, inputs, case.attrs)


def _make_chain(source: Source, op: Any) -> Case:
    """Steps on the values so far, of which the last are results."""
    shape = source.small_shape()
    inputs = [Input("float32", source.values("float32", shape, "plain")) for _ in range(2)]
    steps = [source.pick(("AddV2", "Mul", "Maximum", "Neg", "Square")) for _ in range(4)]
    operands: list[int] = []
    for i, step in enumerate(steps):
        operands.append(source.integer(0, i + 1))
        operands.append(-1 if step in ("Neg", "Square") else source.integer(0, i + 1))
    results = [5] if source.chance(0.5) else [5, source.integer(2, 4)]
    attrs = {"N": attr_text(2), "M": attr_text(len(results)), "T": type_attr("float32")}
    attrs |= {"steps": attr_text(steps), "operands": attr_text(operands)}
    return Case(op.name, inputs, {**attrs, "results": attr_text(results)})


def _scalar_loop(values: Values) -> Any:
    """A loop whose iterations become one program."""
    x, factor = (tf.reduce_sum(values.of(1)) for _ in range(2))
    return tf.while_loop(
        lambda i, _: i < 1000,
        lambda i, y: (i + 1, tf.tanh(y * factor + 0.5) - 0.25 * y),
        [0, x],
    )[1]


def _make_loop(source: Source, op: Any) -> Case:
    """While i is less than n: adds 1 to i, and applies some steps to a number."""
    scalars = [("int32", 0), ("float32", 0.5), ("int32", source.integer(0, 5)), ("int32", 1)]
    inputs = [Input(dtype, np.array(value, dtype)) for dtype, value in scalars]
    # Values: i, the number, n, 1, i < n, i + 1, i + 1 < n, and what the steps give.
    steps = ["Less", "AddV2", "Less"]
    operands = [0, 2, -1, 0, 3, -1, 5, 2, -1]
    last = 1
    for i in range(source.integer(1, 4)):
        step = source.pick(("AddV2", "Mul", "Maximum", "Neg", "Tanh"))
        steps.append(step)
        operands += [last, -1 if step in ("Neg", "Tanh") else 1, -1]
        last = 7 + i
    attrs = {
        "Tin": attr_text([("type", dtype) for dtype, _ in scalars]),
        "Tout": attr_text([("type", "int32"), ("type", "float32")]),
        "steps": attr_text(steps),
        "operands": attr_text(operands),
        "num_first": attr_text(1),
        "next": attr_text([5, last]),
        "conditions": attr_text([4, 6]),
        "exits": attr_text([0, 1]),
    }
    return Case(op.name, inputs, attrs)


def _scan_rows(values: Values) -> Any:
    """Loops over rows, each of which needs the row before it."""
    x, factor = values.of(300, 1100), values.of(1100)
    totals = tf.scan(lambda total, row: tf.tanh(total * factor + row), x)
    return [totals, tf.foldl(lambda total, row: 0.5 * total - row, x)]


def _make_scan(source: Source, op: Any) -> Case:
    """Steps on a row and a variable, the second of which is the row to write; one row is given."""
    shape, iterations = source.small_shape(), source.integer(1, 5)
    shapes = [(iterations, *shape), shape, shape]
    inputs = [Input("float32", source.values("float32", dims, "plain")) for dims in shapes]
    # Values: the row, the variable, the row that is given, and what the steps give.
    steps = [source.pick(("AddV2", "Mul", "Neg", "Square")) for _ in range(2)]
    operands: list[int] = []
    for i, step in enumerate(steps):
        operands.append(0 if i == 0 else 3)
        operands.append(-1 if step in ("Neg", "Square") else 1)
    is_backward = source.chance(0.5)
    numbers = {
        "N": 3,
        "M": 2,
        "num_rows": 1,
        "num_states": 1,
        "firsts": [iterations - 1 if is_backward else 0, 0],
        "strides": [-1 if is_backward else 1, 1],
        "iterations": iterations,
        "sizes": [iterations + 1],
        "places": [0, iterations],
        "operands": operands,
        "results": [4, 3],
    }
    attrs = {name: attr_text(number) for name, number in numbers.items()}
    return Case(op.name, inputs, {**attrs, "T": type_attr("float32"), "steps": attr_text(steps)})


def _float_matrix(source: Source, rows: int, columns: int) -> Input:
    return Input("float32", source.values("float32", (rows, columns), "small"))


def _make_part(source: Source, op: Any) -> Case:
    """Products of one or several matrices with some rows of another."""
    is_joined = op.name == "_JoinedMatMul"
    count = source.integer(1, 4) if is_joined else 1
    rows, inner, width = (source.size(7) for _ in range(3))
    first, transpose = source.integer(0, 4), source.chance(0.5)
    columns = width if transpose else inner
    inputs = [_float_matrix(source, rows, columns) for _ in range(count)]
    inputs.append(_float_matrix(source, first + inner + source.integer(0, 3), width))
    attrs = {"first_row": attr_text(first), "num_rows": attr_text(inner)}
    attrs |= {"T": type_attr("float32"), "transpose_b": attr_text(transpose)}
    if is_joined:
        attrs |= {"num": attr_text(count), "in_strips": attr_text(source.chance(0.5))}
        return Case(op.name, inputs, attrs)
    shape = (rows, inner if transpose else width)
    inputs.append(_float_matrix(source, *shape))
    inputs.append(Input("float32", source.values("float32", shape[1:], "small")))
    return Case(op.name, inputs, {**attrs, "num_addends": attr_text(2)})


def _make_strips(source: Source, op: Any) -> Case:
    """Some rows of a matrix, which are arranged."""
    rows, width, first = source.size(40), source.size(40), source.integer(0, 4)
    matrix = _float_matrix(source, first + rows + source.integer(0, 3), width)
    attrs = {"first_row": attr_text(first), "num_rows": attr_text(rows)}
    attrs |= {"T": type_attr("float32"), "transpose_b": attr_text(source.chance(0.5))}
    return Case(op.name, [matrix], attrs)


def _make_strip_product(source: Source, op: Any) -> Case:
    """A matrix times strips of 16 columns."""
    rows, depth, columns = source.size(7), source.size(7), source.size(40)
    shape = ((columns + 15) // 16, depth, 16)
    inputs = [
        _float_matrix(source, rows, depth),
        Input("float32", source.values("float32", shape, "small")),
        _float_matrix(source, rows, columns),
        Input("float32", source.values("float32", (columns,), "small")),
    ]
    attrs = {"num_addends": attr_text(2), "num_columns": attr_text(columns)}
    return Case(op.name, inputs, {**attrs, "T": type_attr("float32")})


def _make_sum(source: Source, op: Any) -> Case:
    count, rows, columns = source.integer(1, 4), source.size(7), source.size(7)
    depths = [source.size(5) for _ in range(count)]
    inputs = [_float_matrix(source, depth, rows) for depth in depths]
    inputs += [_float_matrix(source, depth, columns) for depth in depths]
    return Case(op.name, inputs, {"T": type_attr("float32"), "num": attr_text(count)})


def _make_product_update(source: Source, op: Any) -> Case:
    dtype = pick_type(source, op, "T")
    inner, rows, columns = (source.size(7) for _ in range(3))
    variable = Input(dtype, source.values(dtype, (rows, columns), "plain"), "resource")
    inputs = [variable] + [
        Input(dtype, source.values(dtype, shape, "small"))
        for shape in ((), (inner, rows), (inner, columns))
    ]
    return Case(op.name, inputs, {"T": type_attr(dtype)})


def _make_relu_gradient(source: Source, op: Any) -> Case:
    shape = source.small_shape(2)
    values = [source.values("float32", shape, "plain") for _ in range(2)]
    inputs = [Input("float32", value) for value in values]
    return Case(op.name, inputs, {"T": type_attr("float32")})


def _make_softmax_gradient(source: Source, op: Any) -> Case:
    shape = source.small_shape(0 if source.chance(0.05) else 1)
    inputs = [Input("float32", source.values("float32", shape, "plain")) for _ in range(2)]
    return Case(op.name, inputs, {"T": type_attr("float32"), "scale": attr_text(0.125)})


def _make_steps(source: Source, op: Any) -> Case:
    """The steps of an optimizer on two variables, with the same scalars."""
    part = op.name.removeprefix("_Multi")
    first = _legal_case(source, op, part)
    steps = [first, first]
    for _ in range(_MOST_DRAWS):
        if steps[1] is not first and steps[1].attrs["T"] == first.attrs["T"]:
            break
        steps[1] = _legal_case(source, op, part)
    case = Case(op.name, [], {**first.attrs, "N": attr_text(len(steps))})
    for i, argument in enumerate(op.input_arg):
        case.inputs += [step.inputs[i] for step in steps[: 2 if argument.number_attr else 1]]
    return case


for _op, _make, _build in [
    ("_FusedConv2D", _make_fused, _convolutions),
    ("_FusedDepthwiseConv2dNative", _make_fused, _depthwise_convolutions),
    ("_FusedBatchNormRelu", _make_norm, _normalization),
    ("_FusedBatchNormReluGrad", _make_norm, _normalization),
    ("_FusedElementwise", _make_chain, _chain),
    ("_FusedMatMul", _make_fused, _products),
    ("_JoinedConv2D", _make_joined_convolutions, _branches),
    ("_JoinedGather", _make_joined_gather, _embeddings),
    ("_JoinedMatMul", _make_part, _recurrent_steps),
    ("_MatMulApplyGradientDescent", _make_product_update, _product_update),
    ("_PartMatMul", _make_part, _recurrent_steps_of_many),
    ("_ReluGradBiasAddGrad", _make_relu_gradient, _relu_gradient),
    ("_ScalarLoop", _make_loop, _scalar_loop),
    ("_ScanRows", _make_scan, _scan_rows),
    ("_SoftmaxGrad", _make_softmax_gradient, _softmax_gradient),
    ("_StripMatMul", _make_strip_product, _recurrent_steps),
    ("_SummedMatMul", _make_sum, _recurrent_steps),
    ("_WeightStrips", _make_strips, _recurrent_steps),
]:
    define_tests(_op, cases=_make, reference=_MADE_HERE, determinism=LargeCase(_build, FLOAT32))

# What batch_updates makes of an optimizer's steps.
define_tests(
    sorted(op for op in registered_ops() if op.startswith("_MultiResource")),
    cases=_make_steps,
    reference=_MADE_HERE,
    determinism=LARGE_UPDATES,
)
define_tests(
    ["_Branch", "_Loop"],
    reference=NotTested(
        "core/loops/raise_loops_test.cc runs the loops and conditionals they stand for"
    ),
    exceptions={Property.NAMED_ARGUMENT: "the error is about the node itself"},
)
define_tests(
    ["_HostRecv", "_HostSend", "_Recv", "_Send"],
    reference=NotTested("waits for another part of its step"),
    exceptions={Property.NAMED_ARGUMENT: "the error is about the node itself"},
)
