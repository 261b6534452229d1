"""The cases in PyTorch: eager, with fused optimizers, NCHW or channels last.

``python -m benchmarks.cases.torch_mode CASE`` prints the figures as JSON.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.cases import curves, networks, timing, training


@functools.cache
def front_end(threads: int) -> Any:
    """Return the module, set to this number of threads."""
    torch = importlib.import_module("torch")
    torch.set_num_threads(threads)
    return torch


def time_chain(run: timing.Run, figure: str, ops: int, floats: int, parts: int = 1) -> None:
    """Time so many additions and products of so many floats."""
    torch = front_end(run.threads)
    x, other = torch.ones(floats), torch.ones(floats)

    def chain() -> Any:
        value = x
        for _ in range(ops // 2):
            value = (value + other) * other
        return value

    with torch.inference_mode():
        run.time(figure, chain, parts)


def add_chain(run: timing.Run) -> None:
    """Time additions and products of four floats."""
    time_chain(run, "add_chain", networks.ADD_OPS, 4, networks.ADD_OPS)


def large_chain(run: timing.Run) -> None:
    """Time ten additions and products of a million floats."""
    time_chain(run, "large_chain", networks.LARGE_CHAIN_OPS, networks.LARGE_CHAIN_FLOATS)


def tiny_step(run: timing.Run) -> None:
    """Time a product of two scalars, to a number of Python."""
    torch = front_end(run.threads)
    one = torch.tensor(1.0)
    with torch.inference_mode():
        run.time("tiny_callable", lambda: (one * 2.0).item())


class Layers:
    """The layers of ``networks`` on tensors in NCHW, which may lie channels last."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._functions = torch.nn.functional

    def conv(self, x: Any, parameters: networks.Parameters, layer: networks.Conv) -> Any:
        """Convolve, add the bias and apply ReLU."""
        return self._functions.relu(self._conv(x, parameters, layer), inplace=True)

    def normalized_conv(
        self, x: Any, parameters: networks.Parameters, layer: networks.NormalizedConv
    ) -> Any:
        """Convolve, normalize over the batch, and apply ReLU where the layer has it."""
        functions = self._functions
        value = self._conv(x, parameters[:1], layer)
        epsilon = networks.BATCH_NORM_EPSILON
        value = functions.batch_norm(value, None, None, *parameters[1:], training=True, eps=epsilon)
        return functions.relu(value, inplace=True) if layer.relu else value

    def _conv(
        self,
        x: Any,
        parameters: networks.Parameters,
        layer: networks.Conv | networks.NormalizedConv,
    ) -> Any:
        functions = self._functions
        before, after = self._padding(x, layer)
        if before != after:
            # One row and column that the convolution itself cannot add on one side only.
            x = functions.pad(x, (before, after, before, after))
            before = 0
        return functions.conv2d(x, *parameters, stride=layer.stride, padding=before)

    @staticmethod
    def _padding(x: Any, layer: networks.Conv | networks.NormalizedConv) -> tuple[int, int]:
        if layer.padding == "VALID":
            return 0, 0
        count = networks.output_size(x.shape[2], layer.size, layer.stride, "SAME")
        both = max((count - 1) * layer.stride + layer.size - x.shape[2], 0)
        return both // 2, both - both // 2

    def max_pool(self, x: Any, layer: networks.MaxPool) -> Any:
        """Give the largest of each window."""
        if layer.padding == "SAME" and layer.stride == 1:
            return self._functions.max_pool2d(x, layer.size, 1, layer.size // 2)
        # Where windows run over the edge, they do so at the end, as SAME has it for even sizes.
        over_edge = layer.padding == "SAME"
        return self._functions.max_pool2d(x, layer.size, layer.stride, ceil_mode=over_edge)

    def average_pool(self, x: Any, layer: networks.AveragePool) -> Any:
        """Give the mean of the image."""
        return self._functions.avg_pool2d(x, layer.size)

    def dense(self, x: Any, parameters: networks.Parameters, layer: networks.Dense) -> Any:
        """Flatten, multiply, add the bias, and apply ReLU where the layer has it."""
        value = self._functions.linear(x.flatten(1), *parameters)
        return self._functions.relu(value, inplace=True) if layer.relu else value

    def join(self, parts: list[Any]) -> Any:
        """Join by channels."""
        return self._torch.cat(parts, 1)

    def add(self, x: Any, y: Any) -> Any:
        """Add, and apply ReLU."""
        return self._functions.relu(x + y, inplace=True)


def initial_parameters(run: timing.Run, workload: networks.Workload) -> list[Any]:
    """Return the workload's parameters in PyTorch's order: OIHW, and outputs by inputs."""
    torch = front_end(run.threads)
    shape: tuple[int, ...] = workload.sample
    image = None if len(shape) < 3 else image_before_dense(workload)
    parameters = []
    for weights, *vectors in workload.initial_values():
        if weights.ndim == 4:
            value = torch.from_numpy(np.ascontiguousarray(weights.transpose(3, 2, 0, 1)))
            if run.channels_last:
                value = value.contiguous(memory_format=torch.channels_last)
        else:
            matrix = weights
            if image is not None:  # the first product after images: its rows are flattened CHW
                units = weights.shape[1]
                matrix = weights.reshape(*image, units).transpose(2, 0, 1, 3).reshape(-1, units)
                image = None
            value = torch.from_numpy(np.ascontiguousarray(matrix.T))
        values = (value, *map(torch.from_numpy, vectors))
        parameters.append(tuple(value.requires_grad_() for value in values))
    return parameters


def image_before_dense(workload: networks.Workload) -> tuple[int, ...]:
    """Return the shape of the image that the first product flattens."""
    first = next(i for i, layer in enumerate(workload.layers) if isinstance(layer, networks.Dense))
    return networks.parameter_shapes(workload.layers[:first], workload.sample)[1]


def training_step(run: timing.Run, workload: networks.Workload) -> Callable[[], float]:
    """Return a function that goes one step of gradient descent and returns the loss before it."""
    torch = front_end(run.threads)
    inputs, labels = workload.data()
    if inputs.ndim == 4:
        inputs = np.ascontiguousarray(inputs.transpose(0, 3, 1, 2))
    x = torch.from_numpy(inputs)
    if inputs.ndim == 4 and run.channels_last:
        x = x.contiguous(memory_format=torch.channels_last)
    y = torch.from_numpy(labels.astype(np.int64))
    parameters = initial_parameters(run, workload)
    flat = [value for values in parameters for value in values]
    optimizer = torch.optim.SGD(flat, workload.learning_rate, fused=True)
    layers = Layers(torch)

    def step() -> float:
        optimizer.zero_grad(set_to_none=True)
        logits = networks.forward(layers, workload.layers, x, iter(parameters))
        loss = torch.nn.functional.cross_entropy(logits, y)
        loss.backward()
        optimizer.step()
        return float(loss.item())

    return step


def first_step(run: timing.Run) -> None:
    """Time the first step of a new LeNet on eight images."""
    workload = networks.WORKLOADS["lenet_b128"]
    small = dataclasses.replace(workload, batch=8)
    steps = (training_step(run, small) for _ in range(timing.REPEATS))
    run.figures["first_step"] = min(map(timing.time_once, steps))


def xent_step(run: timing.Run) -> Callable[[], tuple[Any, Any]]:
    """Return a function that gives loss and gradient of a wide softmax."""
    torch = front_end(run.threads)
    logits, labels = networks.xent_data()
    x = torch.from_numpy(logits).requires_grad_()
    turns = [torch.from_numpy(np.roll(labels, turn).astype(np.int64)) for turn in range(8)]

    def step() -> tuple[Any, Any]:
        turns.append(turns.pop(0))
        x.grad = None
        loss = torch.nn.functional.cross_entropy(x, turns[-1])
        loss.backward()
        return loss, x.grad

    return step


def xent(run: timing.Run) -> None:
    """Time softmax cross entropy, forward and backward."""
    run.time("xent", xent_step(run))


def adam_step(run: timing.Run) -> tuple[Callable[[], object], list[Any]]:
    """Return a function that updates a hundred parameters, and these."""
    torch = front_end(run.threads)
    values, slopes = networks.adam_data()
    parameters = [torch.from_numpy(value.copy()).requires_grad_() for value in values]
    for parameter, slope in zip(parameters, slopes, strict=True):
        parameter.grad = torch.from_numpy(slope)
    return torch.optim.Adam(parameters, 1e-3, fused=True).step, parameters


def adam(run: timing.Run) -> None:
    """Time Adam's updates, for each float."""
    run.time("adam", adam_step(run)[0], int(np.prod(networks.ADAM_PARAMETERS)))


def batch_norm_step(run: timing.Run) -> Callable[[], tuple[Any, ...]]:
    """Return a function that gives normalized images after ReLU, and the gradients."""
    torch = front_end(run.threads)
    order = torch.channels_last if run.channels_last else torch.contiguous_format
    images, scale, offset, slopes = networks.batch_norm_data()
    x, dy = (
        torch.from_numpy(value.transpose(0, 3, 1, 2)).contiguous(memory_format=order)
        for value in (images, slopes)
    )
    inputs = [x, torch.from_numpy(scale), torch.from_numpy(offset)]
    for value in inputs:
        value.requires_grad_()
    epsilon = networks.BATCH_NORM_EPSILON

    def step() -> tuple[Any, ...]:
        functions = torch.nn.functional
        y = functions.batch_norm(x, None, None, *inputs[1:], training=True, eps=epsilon)
        y = functions.relu(y, inplace=True)
        return y, *torch.autograd.grad(y, inputs, dy)

    return step


def batch_norm(run: timing.Run) -> None:
    """Time batch normalization with ReLU, forward and backward."""
    run.time("batch_norm_relu", batch_norm_step(run))


def xent_numbers(run: timing.Run) -> None:
    """Record losses and gradients."""
    step = xent_step(run)

    def numbers() -> tuple[float, networks.Array]:
        loss, gradient = step()
        return loss.item(), gradient.numpy()

    curves.record_xent(run, numbers)


def adam_numbers(run: timing.Run) -> None:
    """Record updates."""
    step, parameters = adam_step(run)
    curves.record_adam(
        run, step, lambda: np.stack([parameter.detach().numpy() for parameter in parameters])
    )


def batch_norm_numbers(run: timing.Run) -> None:
    """Record the result and its gradients."""
    step = batch_norm_step(run)
    curves.record_batch_norm(run, lambda: [value.detach().numpy() for value in step()])


CASES: timing.Cases = {
    "add_chain": add_chain,
    "large_chain": large_chain,
    "tiny_step": tiny_step,
    "first_step": first_step,
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
