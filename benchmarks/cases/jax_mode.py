"""The cases in JAX: compiled, with donated buffers.

``python -m benchmarks.cases.jax_mode CASE`` prints the figures as JSON. Set the environment
variable ``XLA_FLAGS`` to ``--xla_cpu_multi_thread_eigen=false`` for one thread.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.cases import curves, networks, timing, training


@functools.cache
def front_end() -> Any:
    """Return the module."""
    return importlib.import_module("jax")


def chain(ops: int, floats: int) -> Callable[[], Any]:
    """Return a call of so many additions and products of so many floats."""
    jax = front_end()

    def compute(x: Any, other: Any) -> Any:
        for _ in range(ops // 2):
            x = (x + other) * other
        return x

    compiled = jax.jit(compute)
    ones = jax.numpy.ones(floats)
    return lambda: compiled(ones, ones).block_until_ready()


def add_chain(run: timing.Run) -> None:
    """Time additions and products of four floats, which the compiler makes one kernel."""
    run.time("add_chain_optimized", chain(networks.ADD_OPS, 4), networks.ADD_OPS)


def large_chain(run: timing.Run) -> None:
    """Time ten additions and products of a million floats."""
    run.time("large_chain", chain(networks.LARGE_CHAIN_OPS, networks.LARGE_CHAIN_FLOATS))


def tiny_step(run: timing.Run) -> None:
    """Time a product of two scalars, to a number of Python."""
    compiled = front_end().jit(lambda x: x * 2.0)
    one = np.float32(1)
    run.time("tiny_callable", lambda: float(compiled(one)))


class Layers:
    """The layers of ``networks`` on arrays in NHWC."""

    def __init__(self) -> None:
        self._jax = front_end()

    def conv(self, x: Any, parameters: networks.Parameters, layer: networks.Conv) -> Any:
        """Convolve, add the bias and apply ReLU."""
        return self._jax.nn.relu(self._conv(x, parameters[0], layer) + parameters[1])

    def normalized_conv(
        self, x: Any, parameters: networks.Parameters, layer: networks.NormalizedConv
    ) -> Any:
        """Convolve, normalize over the batch, and apply ReLU where the layer has it."""
        value = normalized(self._conv(x, parameters[0], layer), *parameters[1:])
        return self._jax.nn.relu(value) if layer.relu else value

    def _conv(self, x: Any, filters: Any, layer: networks.Conv | networks.NormalizedConv) -> Any:
        return self._jax.lax.conv_general_dilated(
            x,
            filters,
            (layer.stride, layer.stride),
            layer.padding,
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
        )

    def max_pool(self, x: Any, layer: networks.MaxPool) -> Any:
        """Give the largest of each window."""
        window = (1, layer.size, layer.size, 1)
        strides = (1, layer.stride, layer.stride, 1)
        lax = self._jax.lax
        return lax.reduce_window(x, -np.inf, lax.max, window, strides, layer.padding)

    def average_pool(self, x: Any, layer: networks.AveragePool) -> Any:
        """Give the mean of the image."""
        return x.mean((1, 2))

    def dense(self, x: Any, parameters: networks.Parameters, layer: networks.Dense) -> Any:
        """Flatten, multiply, add the bias, and apply ReLU where the layer has it."""
        value = x.reshape(x.shape[0], -1) @ parameters[0] + parameters[1]
        return self._jax.nn.relu(value) if layer.relu else value

    def join(self, parts: list[Any]) -> Any:
        """Join by channels."""
        return self._jax.numpy.concatenate(parts, 3)

    def add(self, x: Any, y: Any) -> Any:
        """Add, and apply ReLU."""
        return self._jax.nn.relu(x + y)


def normalized(x: Any, scale: Any, offset: Any) -> Any:
    """Return images whose channels have no mean and a variance of one, scaled and moved."""
    mean, variance = x.mean((0, 1, 2)), x.var((0, 1, 2))
    inverse = front_end().lax.rsqrt(variance + networks.BATCH_NORM_EPSILON)
    return (x - mean) * (inverse * scale) + offset


def cross_entropy(logits: Any, labels: Any) -> Any:
    """Return the mean loss."""
    jax = front_end()
    chosen = jax.numpy.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1)
    return -chosen.mean()


def training_step(_: timing.Run, workload: networks.Workload) -> Callable[[], float]:
    """Return a function that goes one step of gradient descent and returns the loss before it."""
    jax = front_end()
    layers = Layers()
    inputs, labels = workload.data()

    def loss_of(parameters: Any, x: Any, y: Any) -> Any:
        return cross_entropy(networks.forward(layers, workload.layers, x, iter(parameters)), y)

    @functools.partial(jax.jit, donate_argnums=0)
    def descend(parameters: Any, x: Any, y: Any) -> tuple[Any, Any]:
        loss, slopes = jax.value_and_grad(loss_of)(parameters, x, y)
        moved = jax.tree_util.tree_map(
            lambda value, slope: value - workload.learning_rate * slope, parameters, slopes
        )
        return moved, loss

    parameters = [
        tuple(jax.numpy.asarray(value) for value in values) for values in workload.initial_values()
    ]

    def step() -> float:
        nonlocal parameters
        parameters, loss = descend(parameters, inputs, labels)
        return float(loss)

    return step


def xent_step() -> Callable[[], tuple[Any, Any]]:
    """Return a function that gives loss and gradient of a wide softmax."""
    jax = front_end()
    logits, labels = networks.xent_data()
    x = jax.numpy.asarray(logits)
    compiled = jax.jit(jax.value_and_grad(cross_entropy))
    turns = [np.roll(labels, turn) for turn in range(8)]

    def step() -> tuple[Any, Any]:
        turns.append(turns.pop(0))
        loss, slope = jax.block_until_ready(compiled(x, turns[-1]))
        return loss, slope

    return step


def xent(run: timing.Run) -> None:
    """Time softmax cross entropy, forward and backward."""
    run.time("xent", xent_step())


class Adam:
    """A hundred parameters under Adam (Kingma and Ba, 2014), the state updated in place."""

    RATE, BETA_1, BETA_2, EPSILON = 1e-3, 0.9, 0.999, 1e-8

    def __init__(self) -> None:
        jax = front_end()
        values, slopes = networks.adam_data()
        self.values: Any = [jax.numpy.asarray(value) for value in values]
        self._slopes = [jax.numpy.asarray(slope) for slope in slopes]
        zeros = [(jax.numpy.zeros_like(value), jax.numpy.zeros_like(value)) for value in values]
        self._moments: Any = zeros
        self._count = 0

        def update_one(value: Any, moments: Any, slope: Any, rate: Any) -> tuple[Any, Any]:
            first = self.BETA_1 * moments[0] + (1 - self.BETA_1) * slope
            second = self.BETA_2 * moments[1] + (1 - self.BETA_2) * slope * slope
            return value - rate * first / (jax.numpy.sqrt(second) + self.EPSILON), (first, second)

        @functools.partial(jax.jit, donate_argnums=(0, 1))
        def update(values: Any, moments: Any, slopes: Any, rate: Any) -> Any:
            pairs = [update_one(*each, rate) for each in zip(values, moments, slopes, strict=True)]
            return [value for value, _ in pairs], [state for _, state in pairs]

        self._update = update

    def step(self) -> None:
        """Go one step."""
        self._count += 1
        rate = self.RATE * (1 - self.BETA_2**self._count) ** 0.5 / (1 - self.BETA_1**self._count)
        moved = self._update(self.values, self._moments, self._slopes, np.float32(rate))
        self.values, self._moments = front_end().block_until_ready(moved)


def adam(run: timing.Run) -> None:
    """Time Adam's updates, for each float."""
    run.time("adam", Adam().step, int(np.prod(networks.ADAM_PARAMETERS)))


def batch_norm_step() -> Callable[[], tuple[Any, ...]]:
    """Return a function that gives normalized images after ReLU, and the gradients."""
    jax = front_end()
    x, scale, offset, slopes = map(jax.numpy.asarray, networks.batch_norm_data())

    def both(slopes: Any, *inputs: Any) -> tuple[Any, ...]:
        y, gradients = jax.vjp(lambda *inputs: jax.nn.relu(normalized(*inputs)), *inputs)
        return y, *gradients(slopes)

    compiled = jax.jit(both)

    def step() -> tuple[Any, ...]:
        found: tuple[Any, ...] = jax.block_until_ready(compiled(slopes, x, scale, offset))
        return found

    return step


def batch_norm(run: timing.Run) -> None:
    """Time batch normalization with ReLU, forward and backward."""
    run.time("batch_norm_relu", batch_norm_step())


def xent_numbers(run: timing.Run) -> None:
    """Record losses and gradients."""
    step = xent_step()

    def numbers() -> tuple[float, networks.Array]:
        loss, slope = step()
        return float(loss), np.asarray(slope)

    curves.record_xent(run, numbers)


def adam_numbers(run: timing.Run) -> None:
    """Record updates."""
    optimizer = Adam()
    curves.record_adam(
        run, optimizer.step, lambda: np.stack([np.asarray(value) for value in optimizer.values])
    )


def batch_norm_numbers(run: timing.Run) -> None:
    """Record the result and its gradients."""
    step = batch_norm_step()
    curves.record_batch_norm(run, lambda: [np.asarray(value) for value in step()])


CASES: timing.Cases = {
    "add_chain": add_chain,
    "large_chain": large_chain,
    "tiny_step": tiny_step,
    "xent": xent,
    "adam": adam,
    "batch_norm": batch_norm,
    **training.timed(training.eager(training_step)),
}
CURVES: timing.Cases = {
    "xent": xent_numbers,
    "adam": adam_numbers,
    "batch_norm": batch_norm_numbers,
    **training.recorded(training.eager(training_step)),
}

if __name__ == "__main__":
    sys.exit(timing.main(CASES, CURVES))
