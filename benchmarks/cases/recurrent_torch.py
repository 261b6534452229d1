"""Recurrent networks in PyTorch, with its own LSTM.

``python -m benchmarks.cases.recurrent_torch CASE`` prints the figures as JSON.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from benchmarks.cases import recurrent, timing, torch_mode


def lstm(run: timing.Run, name: str) -> None:
    """Time a layer forward and backward."""
    torch = torch_mode.front_end(run.threads)
    layer = recurrent.LSTMS[name]
    module = torch.nn.LSTM(layer.units, layer.units, batch_first=True)
    x = torch.from_numpy(layer.inputs()).requires_grad_()
    sources = [x, *module.parameters()]

    def step() -> Any:
        outputs = module(x)[0]
        return torch.autograd.grad((outputs * outputs).sum(), sources)

    run.time(name, step)
    run.figures[f"{name}_unrolled"] = run.figures[name]


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

if __name__ == "__main__":
    sys.exit(timing.main(CASES, {}))
