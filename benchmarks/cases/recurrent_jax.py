"""Loops and recurrent networks in JAX, compiled.

``python -m benchmarks.cases.recurrent_jax CASE`` prints the figures as JSON.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.cases import jax_mode, recurrent, timing


def _finish(compiled: Callable[[Any], Any], x: Any) -> Any:
    """Return what a compiled function gives, when it is computed."""
    return jax_mode.front_end().block_until_ready(compiled(x))


def while_scalars(run: timing.Run) -> None:
    """Time an iteration of a loop of nine scalar ops, and of one with its gradient."""
    jax = jax_mode.front_end()
    numpy = jax.numpy

    def value(x: Any) -> Any:
        def body(_: Any, y: Any) -> Any:
            return numpy.tanh(y * x + 0.5) * x - y * 0.25 + 0.1 * x

        return jax.lax.fori_loop(0, recurrent.ITERATIONS, body, x)

    x = numpy.float32(0.999)
    for figure, function in (
        ("while_scalars", value),
        ("while_scalars_gradient", jax.value_and_grad(value)),
    ):
        compiled = jax.jit(function)
        run.time(figure, functools.partial(_finish, compiled, x), recurrent.ITERATIONS)


def rows(run: timing.Run) -> None:
    """Time a row of map and of scan with one small op."""
    jax = jax_mode.front_end()
    x = jax.numpy.full((recurrent.ROWS, recurrent.COLUMNS), 0.5)
    mapped = jax.jit(lambda x: jax.lax.map(lambda row: row * 2.0, x))

    def add(total: Any, row: Any) -> tuple[Any, Any]:
        total = total * 0.5 + row
        return total, total

    scanned = jax.jit(lambda x: jax.lax.scan(add, x[0], x[1:])[1])
    for figure, compiled in (("map_fn", mapped), ("scan", scanned)):
        run.time(figure, functools.partial(_finish, compiled, x), recurrent.ROWS)


def _layer(x: Any, weights: Any, bias: Any) -> Any:
    """Return the outputs of all steps; x is steps, batch, units."""
    jax = jax_mode.front_end()

    def cell(state: Any, x: Any) -> Any:
        output, memory = state
        gates = jax.numpy.concatenate([x, output], 1) @ weights + bias
        i, j, f, o = jax.numpy.split(gates, 4, 1)
        memory = memory * jax.nn.sigmoid(f + recurrent.FORGET_BIAS) + jax.nn.sigmoid(
            i
        ) * jax.numpy.tanh(j)
        output = jax.numpy.tanh(memory) * jax.nn.sigmoid(o)
        return (output, memory), output

    zeros = jax.numpy.zeros((x.shape[1], weights.shape[1] // 4))
    return jax.lax.scan(cell, (zeros, zeros), x)[1]


def lstm_step(name: str) -> Callable[[], Any]:
    """Return a function that gives the loss of a layer, and its gradients."""
    jax = jax_mode.front_end()
    layer = recurrent.LSTMS[name]

    def loss_of(x: Any, weights: Any, bias: Any) -> Any:
        outputs = _layer(jax.numpy.swapaxes(x, 0, 1), weights, bias)
        return (outputs * outputs).sum()

    compiled = jax.jit(jax.value_and_grad(loss_of, (0, 1, 2)))
    inputs = [jax.numpy.asarray(value) for value in (layer.inputs(), layer.weights())]
    inputs.append(jax.numpy.zeros(4 * layer.units))
    return lambda: jax.block_until_ready(compiled(*inputs))


def lstm(run: timing.Run, name: str) -> None:
    """Time a layer forward and backward."""
    run.time(name, lstm_step(name))
    run.figures[f"{name}_unrolled"] = run.figures[name]


def lstm_numbers(run: timing.Run, name: str) -> None:
    """Record the loss of a layer, and its gradients."""
    loss, slopes = lstm_step(name)()
    recurrent.record(run, name, float(loss), [[np.asarray(slope)] for slope in slopes])
    run.curves[f"{name}_unrolled"] = run.curves[name]


def ptb_small(run: timing.Run) -> None:
    """Time a step of gradient descent of the small word model."""
    jax = jax_mode.front_end()
    numpy, model = jax.numpy, recurrent.WORDS
    words, following = (numpy.asarray(text) for text in model.text())

    def loss_of(parameters: Any) -> Any:
        values = numpy.swapaxes(parameters[0][words], 0, 1)
        for layer in range(model.layers):
            values = _layer(values, parameters[2 * layer + 1], parameters[2 * layer + 2])
        outputs = numpy.swapaxes(values, 0, 1).reshape(-1, model.units)
        logits = outputs @ parameters[-2] + parameters[-1]
        return jax_mode.cross_entropy(logits, following.reshape(-1))

    @functools.partial(jax.jit, donate_argnums=0)
    def update(parameters: Any) -> tuple[Any, Any]:
        loss, slopes = jax.value_and_grad(loss_of)(parameters)
        norm = numpy.sqrt(sum((slope * slope).sum() for slope in slopes))
        scale = numpy.minimum(1.0, model.largest_norm / norm)
        moved = [value - scale * slope for value, slope in zip(parameters, slopes, strict=True)]
        return moved, loss

    state = [[numpy.asarray(value) for value in model.parameters()]]

    def step() -> float:
        state[0], loss = update(state[0])
        return float(loss)

    run.time("ptb_small", step)


CASES: dict[str, Callable[[timing.Run], None]] = {
    "while_scalars": while_scalars,
    "rows": rows,
    "ptb_small": ptb_small,
    **{name: functools.partial(lstm, name=name) for name in recurrent.LSTMS},
}

CURVES = {name: functools.partial(lstm_numbers, name=name) for name in recurrent.LSTMS}

if __name__ == "__main__":
    sys.exit(timing.main(CASES, CURVES))
