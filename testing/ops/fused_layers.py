"""Parts of networks that passes make one op of."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import millstream as tf
from testing.ops.support import number_types
from testing.ops.support.case import Case, Input, attr_text
from testing.ops.support.determinism import FLOAT32, LargeCase, Values
from testing.ops.support.number_types import Array
from testing.ops.support.reference import Near, Outcome, longer, numbers, refuse_unless, type_attr
from testing.ops.support.registry import define_tests
from testing.ops.support.source import Source

_UNIT = number_types.epsilon("float32")
_FLOAT = {"T": type_attr("float32")}


def _floats(source: Source, *shape: int) -> Input:
    return Input("float32", source.values("float32", shape, "small"))


def _wide(case: Case, i: int) -> Array:
    return longer(numbers(case, i))


def _random(*shape: int) -> Array:
    return np.random.RandomState(3).uniform(-1, 1, shape).astype(np.float32)


# ---- _Gelu ----


def _gelu_of(x: Array, approximate: bool) -> Array:
    if approximate:
        return np.asarray(x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))))
    erf = np.vectorize(math.erf, otypes=[np.float64])
    return np.asarray(x / 2 * (1 + erf(x / math.sqrt(2))))


def _make_gelu(source: Source, op: Any) -> Case:
    x = _floats(source, *source.small_shape())
    return Case(op.name, [x], {**_FLOAT, "approximate": attr_text(source.chance(0.5))})


def _gelu(case: Case) -> Outcome:
    x = _wide(case, 0)
    return [Near(_gelu_of(x, bool(case.attr("approximate"))), 4e-7 * np.abs(x))]


# ---- _DenseLayer ----

_ACTIVATIONS = ("Identity", "Relu", "GeluErf", "GeluTanh")


def _make_dense(source: Source, op: Any) -> Case:
    rows, inner, columns = source.size(7), source.size(7), source.size(20)
    transpose = source.chance(0.5)
    biases, addends = source.integer(0, 1), source.integer(0, 1)
    inputs = [_floats(source, rows, inner)]
    inputs.append(_floats(source, *((columns, inner) if transpose else (inner, columns))))
    if biases:
        inputs.append(_floats(source, columns + (1 if source.chance(0.1) else 0)))
    if addends:
        inputs.append(_floats(source, rows, columns + (1 if source.chance(0.1) else 0)))
    attrs = {**_FLOAT, "num_biases": attr_text(biases), "num_addends": attr_text(addends)}
    attrs |= {"activation": attr_text(source.pick(_ACTIVATIONS))}
    return Case(op.name, inputs, {**attrs, "transpose_b": attr_text(transpose)})


def _dense(case: Case) -> Outcome:
    b = _wide(case, 1)
    value = _wide(case, 0) @ (b.T if case.attr("transpose_b") else b)
    scale = np.abs(_wide(case, 0)) @ np.abs(b.T if case.attr("transpose_b") else b) + 8
    biases = int(case.attr("num_biases"))
    if biases:
        refuse_unless(_wide(case, 2).shape == value.shape[1:], "bias")
        value = value + _wide(case, 2)
    activation = case.attr("activation")
    if activation == "Relu":
        value = np.maximum(value, 0)
    elif activation != "Identity":
        value = _gelu_of(value, activation == "GeluTanh")
    if case.attr("num_addends"):
        refuse_unless(_wide(case, 2 + biases).shape == value.shape, "addend")
        value = value + _wide(case, 2 + biases)
    return [Near(value, scale * _UNIT * 32)]


def _dense_layers(values: Values) -> Any:
    x = values.of(100, 200)
    y = tf.nn.relu(tf.nn.bias_add(tf.matmul(x, tf.constant(_random(200, 150))), _random(150)))
    return [y, x + tf.matmul(y, tf.constant(_random(150, 200)))]


def _gelus(values: Values) -> Any:
    x = values.of(300, 500)
    cube = 0.044715 * x * x * x
    return [
        0.5 * x * (1.0 + tf.tanh(math.sqrt(2 / math.pi) * (x + cube))),
        0.5 * x * (1.0 + tf.math.erf(x / math.sqrt(2))),
    ]


# ---- _LayerNorm ----


def _make_layer_norm(source: Source, op: Any) -> Case:
    shape = source.small_shape(0 if source.chance(0.05) else 1)
    columns = shape[-1] if shape else 3
    inputs = [_floats(source, *shape), _floats(source, columns)]
    inputs.append(_floats(source, columns + (1 if source.chance(0.1) else 0)))
    return Case(op.name, inputs, {**_FLOAT, "epsilon": attr_text(0.5)})


def _layer_norm(case: Case) -> Outcome:
    x, gamma, beta = (_wide(case, i) for i in range(3))
    refuse_unless(x.ndim >= 1, "x")
    refuse_unless(gamma.shape == x.shape[-1:], "gamma")
    refuse_unless(beta.shape == x.shape[-1:], "beta")
    if x.size == 0:
        return [x.astype(np.float32)]
    difference = x - np.mean(x, -1, keepdims=True)
    deviation = np.sqrt(np.mean(difference**2, -1, keepdims=True) + float(case.attr("epsilon")))
    # Whole numbers up to 4, by a deviation of 0.7 or more.
    return [Near(difference / deviation * gamma + beta, 4 * 8 * _UNIT * 32)]


def _layer_norms(values: Values) -> Any:
    x, gamma, beta = values.of(700, 130), values.of(130), values.of(130)
    difference = x - tf.reduce_mean(x, -1, keepdims=True)
    variance = tf.reduce_mean(difference * difference, -1, keepdims=True)
    return difference * tf.rsqrt(variance + 1e-5) * gamma + beta


# ---- _LstmStep, _LstmSteps ----


def _make_lstm_steps(source: Source, op: Any) -> Case:
    rows, units, first = source.size(5), 16 * source.integer(1, 2), source.integer(0, 3)
    steps = source.integer(1, 4) if op.name == "_LstmSteps" else 1
    biases = source.integer(0, 1)
    inputs = [_floats(source, rows, 4 * units) for _ in range(steps)]
    inputs += [_floats(source, rows, units) for _ in range(2)]
    inputs.append(_floats(source, first + units + source.integer(0, 2), 4 * units))
    if biases:
        inputs.append(_floats(source, 4 * units + (1 if source.chance(0.1) else 0)))
    attrs = {**_FLOAT, "num_biases": attr_text(biases), "first_row": attr_text(first)}
    if op.name == "_LstmSteps":
        attrs["num_steps"] = attr_text(steps)
    return Case(op.name, inputs, {**attrs, "forget_bias": attr_text(0.5)})


def _sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def _lstm_steps(case: Case) -> Outcome:
    steps = len(case.inputs) - 3 - int(case.attr("num_biases"))
    h, c, b = (_wide(case, steps + i) for i in range(3))
    first = int(case.attr("first_row"))
    states: list[Near] = []
    memories: list[Near] = []
    # Small whole numbers: the gates of the first step are exact, and the bound of a gate of a later
    # one is that of its state, for each row of the weights.
    state_bound = np.zeros_like(h)
    memory_bound = np.zeros_like(c)
    weights = np.abs(b[first : first + h.shape[1]])
    for step in range(steps):
        gates = h @ b[first : first + h.shape[1]] + _wide(case, step)
        if case.attr("num_biases"):
            refuse_unless(_wide(case, steps + 3).shape == gates.shape[1:], "bias")
            gates = gates + _wide(case, steps + 3)
        of_products = state_bound @ weights
        if step > 0:
            of_products = of_products + 64 * _UNIT * (np.abs(h) @ weights + np.abs(gates))
        gate_bound = of_products.reshape(len(h), 4, h.shape[1]).max(1)
        i, j, f, o = np.split(gates, 4, 1)
        next_c = c * _sigmoid(f + float(case.attr("forget_bias"))) + _sigmoid(i) * np.tanh(j)
        memory_bound = memory_bound + (np.abs(c) + 2) * (_UNIT * 32 + gate_bound)
        state_bound = memory_bound + gate_bound
        c, h = next_c, np.tanh(next_c) * _sigmoid(o)
        memories.append(Near(c, memory_bound))
        states.append(Near(h, state_bound))
    return [*states, *memories]


def _lstm(values: Values, forget_biases: tuple[float, ...]) -> Any:
    batch, units = 20, 64
    x = values.of(batch, len(forget_biases), 48)
    weights, bias = tf.constant(_random(48 + units, 4 * units)), tf.constant(_random(4 * units))
    h, c = values.of(batch, units), values.of(batch, units)
    for t, forget_bias in enumerate(forget_biases):
        i, j, f, o = tf.split(tf.matmul(tf.concat([x[:, t], h], 1), weights) + bias, 4, 1)
        c = c * tf.sigmoid(f + forget_bias) + tf.sigmoid(i) * tf.tanh(j)
        h = tf.tanh(c) * tf.sigmoid(o)
    return [h, c]


def _equal_steps(values: Values) -> Any:
    return _lstm(values, (1.0,) * 4)


def _unequal_steps(values: Values) -> Any:
    return _lstm(values, (1.0, 0.5, 1.0, 0.5))


# ---- _Attention ----


def _make_attention(source: Source, op: Any) -> Case:
    rank = source.integer(2, 4)
    batch = tuple(source.size(3) for _ in range(rank - 2))
    queries, keys, depth, width = (source.size(7) for _ in range(4))
    shapes = [(*batch, queries, depth), (*batch, keys, depth), (*batch, keys, width)]
    attrs = {**_FLOAT, "scale": attr_text(0.5)}
    inputs = []
    for name, shape in zip("qkv", shapes, strict=True):
        # Queries and the result end in their elements.
        free = rank - 1 if name == "q" and source.chance(0.9) else rank
        order = [*(int(dim) for dim in source.random.permutation(free)), *range(free, rank)]
        lying = [0] * rank
        for dim, place in enumerate(order):
            lying[place] = shape[dim]
        inputs.append(_floats(source, *lying))
        attrs[f"{name}_perm"] = attr_text(order)
    order = [*(int(dim) for dim in source.random.permutation(rank - 1)), rank - 1]
    attrs["output_perm"] = attr_text(order)
    masks = source.integer(0, 1)
    attrs["num_masks"] = attr_text(masks)
    if masks:
        scores = (*batch, queries, keys)
        mask = [1 if source.chance(0.3) else size for size in scores]
        mask = mask[source.integer(0, rank) :]
        if source.chance(0.1):
            mask = [2, *mask]
        inputs.append(_floats(source, *mask))
    return Case(op.name, inputs, attrs)


def _broadcasts(mask: Array, scores: Array) -> bool:
    if mask.ndim > scores.ndim:
        return False
    pairs = zip(mask.shape[::-1], scores.shape[::-1], strict=False)
    return all(size in (1, whole) for size, whole in pairs)


def _attention(case: Case) -> Outcome:
    orders = [case.attr(name) for name in ("q_perm", "k_perm", "v_perm", "output_perm")]
    refuse_unless(orders[0][-1] == len(orders[0]) - 1, "q_perm")
    q, k, v = (np.transpose(_wide(case, i), orders[i]) for i in range(3))
    scores = q @ np.swapaxes(k, -1, -2) * float(case.attr("scale"))
    if case.attr("num_masks"):
        refuse_unless(_broadcasts(_wide(case, 3), scores), "mask")
        scores = scores + _wide(case, 3)
    weights = np.exp(scores - np.max(scores, -1, keepdims=True, initial=-np.inf))
    result = weights / np.sum(weights, -1, keepdims=True) @ v
    # Small whole numbers: scores are exact, up to 100, values up to 4.
    return [Near(np.transpose(result, orders[3]), 4 * _UNIT * 128)]


def _attentions(values: Values) -> Any:
    def heads(positions: int, depth: int) -> Any:
        x = tf.reshape(values.of(2, positions, 3 * depth), [2, positions, 3, depth])
        return tf.transpose(x, [0, 2, 1, 3])

    scores = tf.matmul(heads(100, 16), heads(90, 16), transpose_b=True) * 0.25
    result = tf.matmul(tf.nn.softmax(scores + values.of(100, 90)), heads(90, 24))
    return tf.transpose(result, [0, 2, 1, 3])


# ---- _AttentionGrad ----


def _make_attention_grad(source: Source, op: Any) -> Case:
    batch = tuple(source.size(3) for _ in range(source.integer(0, 2)))
    queries, keys, depth, width = (source.size(7) for _ in range(4))
    columns = [source.chance(0.3), source.chance(0.3)]
    shapes = [(queries, depth), (keys, depth), (keys, width), (queries, keys), (queries, width)]
    for i, transposed in enumerate(columns):
        if transposed:
            shapes[1 + i] = shapes[1 + i][::-1]
    if source.chance(0.1):
        shapes[source.integer(1, 4)] = (queries + 1, keys + 1)
    attrs = {**_FLOAT, "scale": attr_text(0.5)}
    attrs |= {"transpose_k": attr_text(columns[0]), "transpose_v": attr_text(columns[1])}
    return Case(op.name, [_floats(source, *batch, *shape) for shape in shapes], attrs)


def _attention_grad(case: Case) -> Outcome:
    q, k, v, probabilities, gradients = (_wide(case, i) for i in range(5))
    columns = [bool(case.attr("transpose_k")), bool(case.attr("transpose_v"))]
    k, v = (np.swapaxes(x, -1, -2) if t else x for x, t in zip((k, v), columns, strict=True))
    refuse_unless(k.shape == (*q.shape[:-2], k.shape[-2], q.shape[-1]), "k")
    refuse_unless(v.shape == (*k.shape[:-1], v.shape[-1]), "v")
    refuse_unless(probabilities.shape == (*q.shape[:-1], k.shape[-2]), "probabilities")
    refuse_unless(gradients.shape == (*q.shape[:-1], v.shape[-1]), "gradients")

    def of(p: Array, dy: Array, x: Array, y: Array, z: Array, sign: int) -> list[Array]:
        """The gradients or, with absolute values and a sign of 1, the sizes of their terms."""
        dp = dy @ np.swapaxes(z, -1, -2)
        ds = (dp + sign * np.sum(dp * p, -1, keepdims=True)) * p * 0.5
        turned = np.swapaxes(ds, -1, -2)
        return [ds @ y, turned @ x, np.swapaxes(p, -1, -2) @ dy]

    results = of(probabilities, gradients, q, k, v, -1)
    p, dy, x, y, z = (np.abs(each) for each in (probabilities, gradients, q, k, v))
    sizes = of(p, dy, x, y, z, 1)
    for i, transposed in enumerate(columns):
        if transposed:
            for parts in (results, sizes):
                parts[1 + i] = np.swapaxes(parts[1 + i], -1, -2)
    # Each term passes through three sums of at most 8 numbers and three products.
    return [Near(result, 32 * _UNIT * size) for result, size in zip(results, sizes, strict=True)]


def _attention_gradients(values: Values) -> Any:
    q, k, v = (values.of(4, 2048, 8) for _ in range(3))
    scores = tf.matmul(q, k, transpose_b=True) * 0.25
    return tf.gradients(tf.matmul(tf.nn.softmax(scores), v), [q, k, v], values.of(4, 2048, 8))


for _op, _make, _reference, _build in [
    ("_Attention", _make_attention, _attention, _attentions),
    ("_AttentionGrad", _make_attention_grad, _attention_grad, _attention_gradients),
    ("_DenseLayer", _make_dense, _dense, _dense_layers),
    ("_Gelu", _make_gelu, _gelu, _gelus),
    ("_LayerNorm", _make_layer_norm, _layer_norm, _layer_norms),
    ("_LstmStep", _make_lstm_steps, _lstm_steps, _unequal_steps),
    ("_LstmSteps", _make_lstm_steps, _lstm_steps, _equal_steps),
]:
    define_tests(_op, cases=_make, reference=_reference, determinism=LargeCase(_build, FLOAT32))
