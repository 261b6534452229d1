"""Recurrent networks in PyTorch, with its own LSTM.

``python -m benchmarks.cases.recurrent_torch CASE`` prints the figures as JSON.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.cases import recurrent, timing, torch_mode


def _set_weights(torch: Any, module: Any, layer: recurrent.Lstm) -> None:
    """Set the weights, whose gates are i, f, g and o here, and the bias of the forget gate."""
    i, j, f, o = np.split(layer.weights(), 4, 1)
    of_inputs, of_state = np.split(np.concatenate([i, f, j, o], 1).T, 2, 1)
    with torch.no_grad():
        for parameter in (module.bias_ih_l0, module.bias_hh_l0):
            parameter.zero_()
        module.bias_ih_l0[layer.units : 2 * layer.units] = recurrent.FORGET_BIAS
        module.weight_ih_l0.copy_(torch.from_numpy(of_inputs.copy()))
        module.weight_hh_l0.copy_(torch.from_numpy(of_state.copy()))


def lstm_step(run: timing.Run, name: str) -> Callable[[], tuple[Any, list[Any]]]:
    """Return a function that gives the loss of a layer, and its gradients."""
    torch = torch_mode.front_end(run.threads)
    layer = recurrent.LSTMS[name]
    module = torch.nn.LSTM(layer.units, layer.units, batch_first=True)
    _set_weights(torch, module, layer)
    x = torch.from_numpy(layer.inputs()).requires_grad_()
    sources = [x, module.weight_ih_l0, module.weight_hh_l0, module.bias_ih_l0]

    def step() -> tuple[Any, list[Any]]:
        outputs = module(x)[0]
        loss = (outputs * outputs).sum()
        return loss, torch.autograd.grad(loss, sources)

    return step


def lstm(run: timing.Run, name: str) -> None:
    """Time a layer forward and backward."""
    run.time(name, lstm_step(run, name))
    run.figures[f"{name}_unrolled"] = run.figures[name]


def lstm_numbers(run: timing.Run, name: str) -> None:
    """Record the loss of a layer, and its gradients."""
    loss, slopes = lstm_step(run, name)()
    x, of_inputs, of_state, bias = (slope.numpy() for slope in slopes)
    recurrent.record(run, name, loss.item(), [[x], [of_inputs, of_state], [bias]])
    run.curves[f"{name}_unrolled"] = run.curves[name]


def ptb_small(run: timing.Run) -> None:
    """Time a step of gradient descent of the small word model."""
    torch = torch_mode.front_end(run.threads)
    nn, model = torch.nn, recurrent.WORDS
    embedding = nn.Embedding(model.words, model.units)
    layers = nn.LSTM(model.units, model.units, model.layers, batch_first=True)
    softmax = nn.Linear(model.units, model.words)
    parameters = [*embedding.parameters(), *layers.parameters(), *softmax.parameters()]
    words, following = (torch.from_numpy(text).long() for text in model.text())
    optimizer = torch.optim.SGD(parameters, 1.0)

    def step() -> float:
        optimizer.zero_grad(set_to_none=True)
        logits = softmax(layers(embedding(words))[0]).flatten(0, 1)
        loss = nn.functional.cross_entropy(logits, following.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, model.largest_norm)
        optimizer.step()
        return float(loss.item())

    run.time("ptb_small", step)


CASES: dict[str, Callable[[timing.Run], None]] = {
    "ptb_small": ptb_small,
    **{name: functools.partial(lstm, name=name) for name in recurrent.LSTMS},
}

CURVES = {name: functools.partial(lstm_numbers, name=name) for name in recurrent.LSTMS}

if __name__ == "__main__":
    sys.exit(timing.main(CASES, CURVES))
