"""Programs whose steps are compared with themselves, with an optimization and without.

Each is a graph that any number of sessions may run: ``WORKLOADS`` by name, and what is compared
beside the switches.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from benchmarks.cases import (
    encoders,
    graph_mode,
    inference,
    networks,
    recurrent,
    recurrent_graph,
    timing,
)

Step = Callable[[], Any]

WIDE_STEPS = 4  # of each thread that runs a model on a session


@dataclasses.dataclass(frozen=True)
class Program:
    """A graph, and what one step of it is.

    ``make_step`` makes a step of a session whose variables have their values; a call of it goes
    through ``parts`` of what the workload is counted in.
    """

    run: timing.Run
    graph: Any
    initialize: Any
    make_step: Callable[[Any], Step]
    parts: int = 1

    @contextlib.contextmanager
    def begin(self, disabled: Sequence[str] = (), checks: str = "") -> Iterator[Step]:
        """Give a step in a session of its own, without the optimizations that are disabled.

        With a folder for ``checks`` the session stops at the first NaN, and would save it there.
        """
        tf = graph_mode.front_end(self.run.module)
        with (
            self.graph.as_default(),
            graph_mode.session(tf, self.run, disabled=disabled, checks=checks) as active,
        ):
            active.run(self.initialize)
            yield self.make_step(active)


# Adds nodes to the default graph, and returns how to make a step of them.
AddNodes = Callable[[Any], Callable[[Any], Step]]


def _program(run: timing.Run, add_nodes: AddNodes, parts: int = 1) -> Program:
    tf = graph_mode.front_end(run.module)
    with tf.Graph().as_default() as graph:
        make_step = add_nodes(tf)
        return Program(run, graph, tf.global_variables_initializer(), make_step, parts)


# ---- Training ------------------------------------------------------------------------------------


def _train(name: str, tf: Any) -> Callable[[Any], Step]:
    workload = networks.WORKLOADS[name]
    nodes = graph_mode.add_training(tf, workload, workload.batch)
    return _step_on_data(workload, nodes, [nodes.update, nodes.loss])


def _train_with_input_gradient(name: str, tf: Any) -> Callable[[Any], Step]:
    """As training, but for a gradient of the input, which nobody needs to train."""
    workload = networks.WORKLOADS[name]
    nodes = graph_mode.add_training(tf, workload, workload.batch)
    (gradient,) = tf.gradients(nodes.loss, [nodes.x])
    return _step_on_data(workload, nodes, [nodes.update, nodes.loss, gradient.op])


def _step_on_data(
    workload: networks.Workload, nodes: graph_mode.Training, fetches: list[Any]
) -> Callable[[Any], Step]:
    data = workload.data()
    return lambda active: functools.partial(
        active.make_callable(fetches, feed_list=[nodes.x, nodes.y]), *data
    )


def _adam(floats: int, tf: Any) -> Callable[[Any], Step]:
    update = graph_mode.add_adam(tf, floats)[1]
    return lambda active: active.make_callable(update)


def _batch_norm(tf: Any) -> Callable[[Any], Step]:
    fetches = [value.op for value in graph_mode.add_batch_norm(tf)]
    return lambda active: active.make_callable(fetches)


def _lstm(name: str, way: str, tf: Any) -> Callable[[Any], Step]:
    fetches = [value.op for value in recurrent_graph.add_lstm(tf, name)[name + way]]
    return lambda active: active.make_callable(fetches)


# ---- Softmax cross entropy -----------------------------------------------------------------------


def _cross_entropy(tf: Any) -> Callable[[Any], Step]:
    nodes = graph_mode.add_cross_entropy(tf, graph_mode.losses_in_one(tf))
    return lambda active: nodes.step(active, nodes.loss, nodes.gradient.op)


def _loss_alone(tf: Any) -> Callable[[Any], Step]:
    nodes = graph_mode.add_cross_entropy(tf, graph_mode.losses_in_one(tf))
    return lambda active: nodes.step(active, nodes.loss)


def _composed_cross_entropy(tf: Any) -> Callable[[Any], Step]:
    """The same losses out of ops that each do one thing."""

    def losses_of(labels: Any, logits: Any) -> Any:
        largest = tf.stop_gradient(tf.reduce_max(logits, axis=1, keepdims=True))
        shifted = logits - largest
        sums = tf.log(tf.reduce_sum(tf.exp(shifted), axis=1))
        chosen = tf.one_hot(labels, networks.XENT_SHAPE[1])
        return sums - tf.reduce_sum(chosen * shifted, axis=1)

    nodes = graph_mode.add_cross_entropy(tf, losses_of)
    return lambda active: nodes.step(active, nodes.loss, nodes.gradient.op)


# ---- Steps and tensors ---------------------------------------------------------------------------


def _add_chain(tf: Any) -> Callable[[Any], Step]:
    x, other, value = graph_mode.chain(tf)
    ones = np.ones(4, np.float32)
    return lambda active: functools.partial(
        active.make_callable(value, feed_list=[x, other]), ones, ones
    )


def _large_chain(tf: Any) -> Callable[[Any], Step]:
    ops, floats = networks.LARGE_CHAIN_OPS, networks.LARGE_CHAIN_FLOATS
    _, _, value = graph_mode.chain(tf, ops, floats, feed=False)
    return lambda active: active.make_callable(value.op)


def _tiny_step(tf: Any) -> Callable[[Any], Step]:
    x = tf.placeholder(tf.float32, [])
    double = x * 2.0
    return lambda active: functools.partial(active.make_callable(double, [x]), np.float32(1))


def _feed(tf: Any) -> Callable[[Any], Step]:
    x = tf.placeholder(tf.float32, [graph_mode.LARGE])
    first = tf.identity(x)[:1]
    data = np.ones(graph_mode.LARGE, np.float32)
    return lambda active: functools.partial(active.make_callable(first, [x]), data)


def _fill_fetch(tf: Any) -> Callable[[Any], Step]:
    number = tf.placeholder(tf.float32, [])
    filled = tf.fill([graph_mode.LARGE], number)
    return lambda active: functools.partial(active.make_callable(filled, [number]), np.float32(1))


def _threads(tf: Any) -> Callable[[Any], Step]:
    x, value = graph_mode.small_model(tf)
    return _on_all_threads(value, x, np.ones((1, 64), np.float32))


def _wide_threads(tf: Any) -> Callable[[Any], Step]:
    workload = networks.WORKLOADS["mlp_b128"]
    nodes = graph_mode.add_training(tf, workload, workload.batch)
    inputs, labels = workload.data()
    return _on_all_threads(nodes.loss, (nodes.x, nodes.y), (inputs, labels))


def _on_all_threads(fetch: Any, feed: Any, value: Any) -> Callable[[Any], Step]:
    def make_step(active: Any) -> Step:
        step = functools.partial(active.make_callable(fetch, feed_list=[feed]), value)
        return functools.partial(graph_mode.work_together, step, WIDE_STEPS)

    return make_step


# ---- What is compared ----------------------------------------------------------------------------

_THREADS_PARTS = graph_mode.WORKERS * WIDE_STEPS

Build = Callable[[timing.Run], Program]

WORKLOADS: dict[str, Build] = {
    **{
        name: functools.partial(_program, add_nodes=functools.partial(_train, name))
        for name in networks.WORKLOADS
    },
    **{
        name + way: functools.partial(_program, add_nodes=functools.partial(_lstm, name, way))
        for name in recurrent.LSTMS
        for way in ("", "_unrolled")
    },
    **{
        name: functools.partial(
            _program, add_nodes=functools.partial(encoders.add_encoder, name=name)
        )
        for name in encoders.ENCODERS
    },
    **{
        name: functools.partial(
            _program, add_nodes=functools.partial(inference.add_network, name=name)
        )
        for name in inference.NETWORKS
    },
    "adam_small": functools.partial(_program, add_nodes=functools.partial(_adam, 64)),
    "adam": functools.partial(
        _program, add_nodes=functools.partial(_adam, networks.ADAM_PARAMETERS[1])
    ),
    "batch_norm": functools.partial(_program, add_nodes=_batch_norm),
    "xent": functools.partial(_program, add_nodes=_cross_entropy),
    "xent_loss_alone": functools.partial(_program, add_nodes=_loss_alone),
    "add_chain": functools.partial(_program, add_nodes=_add_chain, parts=networks.ADD_OPS),
    "large_chain": functools.partial(_program, add_nodes=_large_chain),
    "tiny_step": functools.partial(_program, add_nodes=_tiny_step),
    "feed_100MB": functools.partial(_program, add_nodes=_feed),
    "fill_fetch_100MB": functools.partial(_program, add_nodes=_fill_fetch),
    "threads": functools.partial(_program, add_nodes=_threads, parts=_THREADS_PARTS),
    "threads_wide": functools.partial(_program, add_nodes=_wide_threads, parts=_THREADS_PARTS),
}


@dataclasses.dataclass(frozen=True)
class Rewrite:
    """A program that does without what the workload's own has, and the runtime has no part in."""

    without: str
    workload: str
    build: Build


REWRITES = (
    Rewrite(
        "softmax cross entropy in one pass",
        "xent",
        functools.partial(_program, add_nodes=_composed_cross_entropy),
    ),
    *(
        Rewrite(
            "input gradients pruned",
            name,
            functools.partial(
                _program, add_nodes=functools.partial(_train_with_input_gradient, name)
            ),
        )
        for name in ("mlp_b128", "lenet_b128")
    ),
)

# Batch sizes that a network is shown, one after the other; the first one to warm up.
NEW_SHAPES = {
    "mlp_b128": range(1, 25),
    "lenet_b128": range(1, 13),
    "googlenet_b8": range(1, 7),
}


@dataclasses.dataclass(frozen=True)
class NewShape:
    """What steps of one batch size took, in seconds: the first, and the best of those after it."""

    first: float
    known: float

    @property
    def more(self) -> float:
        """What the new shape cost besides the step itself."""
        return self.first - self.known


def new_shapes(run: timing.Run, name: str) -> list[NewShape]:
    """Train a network on batches of sizes that it has not seen."""
    tf = graph_mode.front_end(run.module)
    workload = networks.WORKLOADS[name]
    sizes = NEW_SHAPES[name]
    inputs, labels = dataclasses.replace(workload, batch=max(sizes)).data()
    found = []
    with tf.Graph().as_default():
        nodes = graph_mode.add_training(tf, workload, None)
        with graph_mode.session(tf, run) as active:
            active.run(tf.global_variables_initializer())
            step = active.make_callable(nodes.update, feed_list=[nodes.x, nodes.y])
            for size in sizes:
                on_batch = functools.partial(step, inputs[:size], labels[:size])
                first = timing.time_once(on_batch)
                known = min(timing.time_once(on_batch) for _ in range(timing.REPEATS))
                found.append(NewShape(first, known))
    return found[1:]
