"""Loops and recurrent networks in graph mode: the same on Millstream and on TensorFlow.

``python -m benchmarks.cases.recurrent_graph CASE --module millstream`` prints the figures as JSON.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from benchmarks.cases import graph_mode, recurrent, timing


def _front_end(run: timing.Run) -> Any:
    """Return the module; loops are nodes of the graph, as programs of graph mode have them."""
    tf = graph_mode.front_end(run.module)
    if hasattr(tf, "disable_control_flow_v2"):
        tf.disable_control_flow_v2()
    return tf


def _time(run: timing.Run, tf: Any, figure: str, fetches: Iterable[Any], parts: int = 1) -> None:
    """Time steps that compute what is given, and return nothing."""
    with graph_mode.session(tf, run) as active:
        active.run(tf.global_variables_initializer())
        step = active.make_callable([fetch.op for fetch in fetches])
        run.time(figure, step, parts)


def while_scalars(run: timing.Run) -> None:
    """Time an iteration of a loop of nine scalar ops, and of one with its gradient."""
    tf = _front_end(run)
    x = tf.constant(0.999)

    def body(i: Any, y: Any) -> tuple[Any, Any]:
        return i + 1, tf.tanh(y * x + 0.5) * x - y * 0.25 + 0.1 * x

    y = tf.while_loop(lambda i, _: i < recurrent.ITERATIONS, body, [0, x])[1]
    _time(run, tf, "while_scalars", [y], recurrent.ITERATIONS)
    gradient = tf.gradients(y, x)[0]
    _time(run, tf, "while_scalars_gradient", [y, gradient], recurrent.ITERATIONS)


def rows(run: timing.Run) -> None:
    """Time a row of map_fn and of scan with one small op."""
    tf = _front_end(run)
    shape = (recurrent.ROWS, recurrent.COLUMNS)
    x = graph_mode.variable(tf, np.ones(shape, np.float32) * 0.5).read_value()
    _time(run, tf, "map_fn", [tf.map_fn(lambda row: row * 2.0, x)], recurrent.ROWS)
    _time(run, tf, "scan", [tf.scan(lambda sum_, row: sum_ * 0.5 + row, x)], recurrent.ROWS)


def cell(tf: Any, x: Any, state: tuple[Any, Any], weights: Any, bias: Any) -> tuple[Any, Any]:
    """Return the output and the memory of an LSTM cell after a step."""
    output, memory = state
    gates = tf.matmul(tf.concat([x, output], 1), weights) + bias
    i, j, f, o = tf.split(gates, 4, 1)
    memory = memory * tf.sigmoid(f + recurrent.FORGET_BIAS) + tf.sigmoid(i) * tf.tanh(j)
    return tf.tanh(memory) * tf.sigmoid(o), memory


def _unrolled(tf: Any, inputs: list[Any], weights: Any, bias: Any) -> list[Any]:
    zeros = tf.zeros([inputs[0].shape[0], weights.shape[1] // 4])
    state = (zeros, zeros)
    outputs = []
    for x in inputs:
        state = cell(tf, x, state, weights, bias)
        outputs.append(state[0])
    return outputs


def _looped(tf: Any, x: Any, steps: int, weights: Any, bias: Any) -> Any:
    """Return the outputs of all steps: steps, batch, units."""
    inputs = tf.TensorArray(tf.float32, steps).unstack(tf.transpose(x, [1, 0, 2]))

    def body(t: Any, output: Any, memory: Any, outputs: Any) -> tuple[Any, ...]:
        output, memory = cell(tf, inputs.read(t), (output, memory), weights, bias)
        return t + 1, output, memory, outputs.write(t, output)

    zeros = tf.zeros([x.shape[0], x.shape[2]])
    start = [0, zeros, zeros, tf.TensorArray(tf.float32, steps)]
    return tf.while_loop(lambda t, *_: t < steps, body, start)[3].stack()


def add_lstm(tf: Any, name: str) -> dict[str, list[Any]]:
    """Add a layer to the graph, as a loop and unrolled.

    Returns
    -------
    dict
        By figure the loss, and the gradients of inputs, weights and bias.
    """
    layer = recurrent.LSTMS[name]
    x, weights, bias = (
        graph_mode.variable(tf, value)
        for value in (layer.inputs(), layer.weights(), np.zeros(4 * layer.units, np.float32))
    )
    sources = [x.read_value(), weights, bias]
    ways = {
        name: _looped(tf, sources[0], layer.steps, weights, bias),
        f"{name}_unrolled": tf.stack(_unrolled(tf, tf.unstack(sources[0], axis=1), weights, bias)),
    }
    found = {}
    for figure, outputs in ways.items():
        loss = tf.reduce_sum(outputs * outputs)
        found[figure] = [loss, *tf.gradients(loss, sources)]
    return found


def lstm(run: timing.Run, name: str) -> None:
    """Time a layer forward and backward."""
    tf = _front_end(run)
    for figure, fetches in add_lstm(tf, name).items():
        _time(run, tf, figure, fetches)


def lstm_numbers(run: timing.Run, name: str) -> None:
    """Record the loss of a layer, and its gradients."""
    tf = _front_end(run)
    found = add_lstm(tf, name)
    with graph_mode.session(tf, run) as active:
        active.run(tf.global_variables_initializer())
        for figure, fetches in found.items():
            loss, *slopes = active.run(fetches)
            recurrent.record(run, figure, float(loss), [[slope] for slope in slopes])


def ptb_small(run: timing.Run) -> None:
    """Time a step of gradient descent of the small word model, unrolled."""
    tf = _front_end(run)
    model = recurrent.WORDS
    parameters = [graph_mode.variable(tf, value) for value in model.parameters()]
    words, following = (tf.placeholder(tf.int32, [model.batch, model.steps]) for _ in range(2))
    embedded = tf.nn.embedding_lookup(parameters[0], words)
    values = [embedded[:, t, :] for t in range(model.steps)]
    for layer in range(model.layers):
        values = _unrolled(tf, values, parameters[2 * layer + 1], parameters[2 * layer + 2])
    outputs = tf.reshape(tf.concat(values, 1), [-1, model.units])
    logits = tf.matmul(outputs, parameters[-2]) + parameters[-1]
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=tf.reshape(following, [-1]), logits=logits
    )
    loss = tf.reduce_mean(losses)
    gradients, _ = tf.clip_by_global_norm(tf.gradients(loss, parameters), model.largest_norm)
    optimizer = tf.train.GradientDescentOptimizer(1.0)
    update = optimizer.apply_gradients(list(zip(gradients, parameters, strict=True)))
    with graph_mode.session(tf, run) as active:
        active.run(tf.global_variables_initializer())
        step = active.make_callable([update, loss], feed_list=[words, following])
        run.time("ptb_small", functools.partial(step, *model.text()))


CASES: dict[str, Callable[[timing.Run], None]] = {
    "while_scalars": while_scalars,
    "rows": rows,
    "ptb_small": ptb_small,
    **{name: functools.partial(lstm, name=name) for name in recurrent.LSTMS},
}

CURVES = {name: functools.partial(lstm_numbers, name=name) for name in recurrent.LSTMS}

if __name__ == "__main__":
    sys.exit(timing.main(CASES, CURVES))
