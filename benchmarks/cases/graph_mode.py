"""The cases as programs in graph mode: the same on Millstream and on ``tensorflow.compat.v1``.

``python -m benchmarks.cases.graph_mode CASE --module millstream`` prints the figures as JSON.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import importlib
import itertools
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from benchmarks.cases import curves, networks, timing, training

NULL_OPS = 10_000
LARGE = 25 * 1024 * 1024  # floats of 100 MB
WORKERS = 8  # threads on one session


@functools.cache
def front_end(module: str) -> Any:
    """Return the module, set to graph mode."""
    tf = importlib.import_module(module)
    if hasattr(tf, "disable_v2_behavior"):
        tf.disable_v2_behavior()
    return tf


def session(
    tf: Any,
    run: timing.Run,
    optimize: bool = True,
    disabled: Sequence[str] = (),
    checks: str = "",
) -> Any:
    """Return a session; one that does not optimize runs the graph as it is written.

    It does without the optimizations that are disabled, and stops at the first NaN where there is a
    folder for ``checks``: both Millstream alone can.
    """
    config = tf.ConfigProto(
        intra_op_parallelism_threads=run.threads, inter_op_parallelism_threads=run.threads
    )
    if not optimize:
        config.graph_options.optimizer_options.opt_level = -1
        config.graph_options.rewrite_options.disable_meta_optimizer = True
    if disabled:
        config.graph_options.rewrite_options.disabled_passes.extend(disabled)
    if checks:
        config.experimental.check_numerics = True
        config.experimental.check_numerics_folder = checks
    return tf.Session(config=config)


# ---- The executor --------------------------------------------------------------------------------


def time_null_ops(tf: Any, run: timing.Run, figure: str, last: Any) -> None:
    """Time steps of nodes that do nothing, of which each is dispatched."""
    with session(tf, run, optimize=False) as active:
        metadata = tf.RunMetadata()
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        active.run(last, options=options, run_metadata=metadata)
        nodes = sum(len(device.node_stats) for device in metadata.step_stats.dev_stats)
        if nodes < NULL_OPS:
            raise RuntimeError(f"{figure}: a step dispatched {nodes} nodes, not {NULL_OPS}")
        run.time(figure, active.make_callable(last), NULL_OPS)


def null_chain(run: timing.Run) -> None:
    """Time nodes that do nothing, one after the other."""
    tf = front_end(run.module)
    last = tf.no_op()
    for _ in range(NULL_OPS):
        with tf.control_dependencies([last]):
            last = tf.no_op()
    time_null_ops(tf, run, "null_chain", last)


def null_wide(run: timing.Run) -> None:
    """Time nodes that do nothing, all between one that is first and one that is last."""
    tf = front_end(run.module)
    with tf.control_dependencies([tf.no_op()]):
        nodes = [tf.no_op() for _ in range(NULL_OPS)]
    time_null_ops(tf, run, "null_wide", tf.group(*nodes))


def chain(
    tf: Any, ops: int = networks.ADD_OPS, floats: int = 4, feed: bool = True
) -> tuple[Any, Any, Any]:
    """Add additions and products to the graph; return two inputs, and the last value.

    The inputs are fed, or variables.
    """
    if feed:
        x, other = (tf.placeholder(tf.float32, [floats]) for _ in range(2))
    else:
        x, other = (variable(tf, np.ones(floats, np.float32)) for _ in range(2))
    value = x
    for _ in range(ops // 2):
        value = (value + other) * other
    return x, other, value


def add_chain(run: timing.Run) -> None:
    """Time additions and products of four floats, as written and as the optimizer likes it."""
    tf = front_end(run.module)
    for figure, optimize in (("add_chain", False), ("add_chain_optimized", True)):
        tf.reset_default_graph()
        x, other, value = chain(tf)
        ones = np.ones(4, np.float32)
        with session(tf, run, optimize) as active:
            step = active.make_callable(value, feed_list=[x, other])
            run.time(figure, functools.partial(step, ones, ones), networks.ADD_OPS)


def large_chain(run: timing.Run) -> None:
    """Time ten additions and products of a million floats."""
    tf = front_end(run.module)
    ops, floats = networks.LARGE_CHAIN_OPS, networks.LARGE_CHAIN_FLOATS
    _, _, value = chain(tf, ops, floats, feed=False)
    with session(tf, run) as active:
        active.run(tf.global_variables_initializer())
        run.time("large_chain", active.make_callable(value.op))


def tiny_step(run: timing.Run) -> None:
    """Time steps of one kernel and of none, as Python sees them."""
    tf = front_end(run.module)
    x = tf.placeholder(tf.float32, [])
    double = x * 2.0
    one = np.float32(1)
    with session(tf, run) as active:
        run.time("tiny_run", lambda: active.run(double, {x: one}))
        run.time("tiny_callable", functools.partial(active.make_callable(double, [x]), one))
        run.time("null_callable", active.make_callable(tf.no_op()))


def small_model(tf: Any) -> tuple[Any, Any]:
    """Add four products of 64 numbers with ReLU to the graph; return what is fed, and the last."""
    x = tf.placeholder(tf.float32, [1, 64])
    value = x
    weights = np.random.default_rng(3).standard_normal((64, 64), dtype=np.float32) * 0.05
    for _ in range(4):
        value = tf.nn.relu(tf.matmul(value, variable(tf, weights)))
    return x, value


def work_together(step: Callable[[], object], steps: int) -> None:
    """Take as many steps on each of ``WORKERS`` threads at the same time."""

    def work() -> None:
        for _ in range(steps):
            step()

    together = [threading.Thread(target=work) for _ in range(WORKERS)]
    for thread in together:
        thread.start()
    for thread in together:
        thread.join()


def threads(run: timing.Run) -> None:
    """Time steps of a small model when eight Python threads run them on one session."""
    tf = front_end(run.module)
    x, value = small_model(tf)
    image = np.ones((1, 64), np.float32)
    steps = 500
    with session(tf, run) as active:
        active.run(tf.global_variables_initializer())
        step = functools.partial(active.make_callable(value, feed_list=[x]), image)
        run.time("threads", functools.partial(work_together, step, steps), WORKERS * steps)


# ---- Graphs and values ---------------------------------------------------------------------------


def build(run: timing.Run) -> None:
    """Time the making of a graph of 2,000 nodes with its gradient, for each node."""
    tf = front_end(run.module)
    # What TensorFlow's graph has in the end; others are held to the same work.
    nodes = 3011

    def build_once() -> None:
        tf.reset_default_graph()
        x = tf.placeholder(tf.float32, [8])
        value = x
        for _ in range(1000):
            value = tf.tanh(value + x)
        tf.gradients(tf.reduce_sum(value), x)

    run.time("build", build_once, nodes)


def feed_fetch(run: timing.Run) -> None:
    """Time what 100 MB cost on their way in, by how they lie in memory, and on their way out."""
    tf = front_end(run.module)
    x = tf.placeholder(tf.float32, [LARGE])
    first = tf.identity(x)[:1]
    number = tf.placeholder(tf.float32, [])
    filled = tf.fill([LARGE], number)
    plain = np.ones(LARGE, np.float32)
    room = np.ones(LARGE + 16, np.float32)
    skip = -room.ctypes.data % 64 // 4
    aligned = room[skip : skip + LARGE]
    # A view of immutable bytes, at an address that no allocator gives.
    at_four = np.frombuffer(bytes(4) + plain.tobytes(), np.uint8)[4:].view(np.float32)
    with session(tf, run) as active:
        feed = active.make_callable(first, feed_list=[x])
        run.time("feed_100MB_aligned_64", functools.partial(feed, aligned))
        run.time("feed_100MB", functools.partial(feed, plain))
        run.time("feed_100MB_aligned_4_read_only", functools.partial(feed, at_four))
        fetch = active.make_callable(filled, feed_list=[number])
        run.time("fill_fetch_100MB", functools.partial(fetch, np.float32(1)))


def memory(run: timing.Run) -> None:
    """Measure what stays resident after a first product, and after training LeNet."""
    tf = front_end(run.module)
    with session(tf, run) as active:
        active.run(tf.matmul(tf.ones([64, 64]), tf.ones([64, 64])))
        run.figures["resident_first_matmul_mb"] = timing.resident_mb()
    with training_step(run, networks.WORKLOADS["lenet_b128"]) as step:
        for _ in range(50):
            step()
        run.figures["resident_lenet_mb"] = timing.resident_mb()


# ---- Training ------------------------------------------------------------------------------------


def variable(tf: Any, value: networks.Array) -> Any:
    """Return a variable with this initial value."""
    return tf.Variable(value, use_resource=True)


class Layers:
    """The layers of ``networks`` as nodes of a graph."""

    def __init__(self, tf: Any) -> None:
        self._tf = tf

    def conv(self, x: Any, parameters: networks.Parameters, layer: networks.Conv) -> Any:
        """Convolve, add the bias and apply ReLU."""
        tf = self._tf
        strides = [1, layer.stride, layer.stride, 1]
        value = tf.nn.conv2d(x, parameters[0], strides=strides, padding=layer.padding)
        return tf.nn.relu(tf.nn.bias_add(value, parameters[1]))

    def normalized_conv(
        self, x: Any, parameters: networks.Parameters, layer: networks.NormalizedConv
    ) -> Any:
        """Convolve, normalize over the batch, and apply ReLU where the layer has it."""
        tf = self._tf
        strides = [1, layer.stride, layer.stride, 1]
        value = tf.nn.conv2d(x, parameters[0], strides=strides, padding=layer.padding)
        epsilon = networks.BATCH_NORM_EPSILON
        value = tf.nn.fused_batch_norm(value, *parameters[1:], epsilon=epsilon)[0]
        return tf.nn.relu(value) if layer.relu else value

    def max_pool(self, x: Any, layer: networks.MaxPool) -> Any:
        """Give the largest of each window."""
        window = [1, layer.size, layer.size, 1]
        strides = [1, layer.stride, layer.stride, 1]
        return self._tf.nn.max_pool(x, ksize=window, strides=strides, padding=layer.padding)

    def average_pool(self, x: Any, layer: networks.AveragePool) -> Any:
        """Give the mean of the image."""
        window = [1, layer.size, layer.size, 1]
        return self._tf.nn.avg_pool(x, ksize=window, strides=[1, 1, 1, 1], padding="VALID")

    def dense(self, x: Any, parameters: networks.Parameters, layer: networks.Dense) -> Any:
        """Flatten, multiply, add the bias, and apply ReLU where the layer has it."""
        tf = self._tf
        if len(x.shape) > 2:
            x = tf.reshape(x, [-1, int(np.prod(x.shape[1:]))])
        value = tf.matmul(x, parameters[0]) + parameters[1]
        return tf.nn.relu(value) if layer.relu else value

    def join(self, parts: list[Any]) -> Any:
        """Join by channels."""
        return self._tf.concat(parts, 3)

    def add(self, x: Any, y: Any) -> Any:
        """Add, and apply ReLU."""
        return self._tf.nn.relu(x + y)


def loss_of(tf: Any, workload: networks.Workload, x: Any, labels: Any) -> Any:
    """Return the mean loss of the workload's network, with new variables."""
    parameters = [
        tuple(variable(tf, value) for value in values) for values in workload.initial_values()
    ]
    logits = networks.forward(Layers(tf), workload.layers, x, iter(parameters))
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    return tf.reduce_mean(losses)


@dataclasses.dataclass(frozen=True)
class Training:
    """A workload's network in a graph, with a step of training: what is fed, run and fetched."""

    x: Any
    y: Any
    loss: Any
    update: Any


def add_training(tf: Any, workload: networks.Workload, batch: int | None) -> Training:
    """Add a step of gradient descent on a batch of this size, None for any, to the graph."""
    x = tf.placeholder(tf.float32, [batch, *workload.sample])
    y = tf.placeholder(tf.int32, [batch])
    loss = loss_of(tf, workload, x, y)
    update = tf.train.GradientDescentOptimizer(workload.learning_rate).minimize(loss)
    return Training(x, y, loss, update)


@contextlib.contextmanager
def training_step(run: timing.Run, workload: networks.Workload) -> Iterator[training.Step]:
    """Give a function that goes one step of gradient descent and returns the loss before it."""
    tf = front_end(run.module)
    tf.reset_default_graph()
    inputs, labels = workload.data()
    nodes = add_training(tf, workload, workload.batch)
    with session(tf, run) as active:
        active.run(tf.global_variables_initializer())
        step = active.make_callable([nodes.update, nodes.loss], feed_list=[nodes.x, nodes.y])
        yield lambda: step(inputs, labels)[1]


def first_step(run: timing.Run) -> None:
    """Time the first step of a LeNet whose graph is built: with all that is put off until then."""
    tf = front_end(run.module)
    workload = networks.WORKLOADS["lenet_b128"]
    inputs, labels = (data[:8] for data in workload.data())
    times = []
    for _ in range(timing.REPEATS):
        tf.reset_default_graph()
        nodes = add_training(tf, workload, len(labels))
        with session(tf, run) as active:
            active.run(tf.global_variables_initializer())
            start = time.perf_counter()
            active.run(nodes.update, {nodes.x: inputs, nodes.y: labels})
            times.append(time.perf_counter() - start)
    run.figures["first_step"] = min(times)


def two_shapes(run: timing.Run) -> None:
    """Time steps of two batch sizes, each alone and in turn."""
    tf = front_end(run.module)
    workload = networks.WORKLOADS["mlp_b128"]
    inputs, labels = workload.data()
    nodes = add_training(tf, workload, None)
    batches = {size: (inputs[:size], labels[:size]) for size in (32, 48)}
    with session(tf, run) as active:
        active.run(tf.global_variables_initializer())
        step = active.make_callable(nodes.update, feed_list=[nodes.x, nodes.y])

        def both(sizes: tuple[int, int]) -> None:
            for size in sizes:
                step(*batches[size])

        for name, sizes in (("32", (32, 32)), ("48", (48, 48)), ("in_turn", (32, 48))):
            run.time(f"two_shapes_{name}", functools.partial(both, sizes), parts=2)


@dataclasses.dataclass(frozen=True)
class CrossEntropy:
    """A wide softmax in a graph, with the gradient of its loss."""

    labels: Any
    loss: Any
    gradient: Any

    def step(self, active: Any, *fetches: Any) -> Callable[[], Any]:
        """Return a function that gives the fetches, for other labels each time."""
        labels = networks.xent_data()[1]
        turns = itertools.cycle([np.roll(labels, turn) for turn in range(8)])
        step = active.make_callable(list(fetches), [self.labels])
        return lambda: step(next(turns))


def add_cross_entropy(tf: Any, losses_of: Callable[[Any, Any], Any]) -> CrossEntropy:
    """Add the mean of the losses that ``losses_of`` makes of labels and logits to the graph."""
    logits, labels = networks.xent_data()
    x = variable(tf, logits)
    y = tf.placeholder(tf.int32, labels.shape)
    loss = tf.reduce_mean(losses_of(y, x))
    return CrossEntropy(y, loss, tf.gradients(loss, [x])[0])


def losses_in_one(tf: Any) -> Callable[[Any, Any], Any]:
    """Return the op that computes losses and gradients in one pass."""
    cross_entropy = tf.nn.sparse_softmax_cross_entropy_with_logits
    return lambda labels, logits: cross_entropy(labels=labels, logits=logits)


@contextlib.contextmanager
def xent_step(
    run: timing.Run, fetch_gradient: bool = False
) -> Iterator[Callable[[], tuple[float, networks.Array]]]:
    """Give a function that returns the loss of a wide softmax, for other labels each time.

    The gradient is computed in full, and returned too where that is asked for.
    """
    tf = front_end(run.module)
    nodes = add_cross_entropy(tf, losses_in_one(tf))
    gradient = nodes.gradient if fetch_gradient else nodes.gradient.op
    with session(tf, run) as active:
        active.run(tf.global_variables_initializer())
        yield nodes.step(active, nodes.loss, gradient)


def xent(run: timing.Run) -> None:
    """Time softmax cross entropy, forward and backward."""
    with xent_step(run) as step:
        run.time("xent", step)


def add_adam(tf: Any, floats: int) -> tuple[list[Any], Any]:
    """Add a hundred parameters of ``floats`` and Adam's update of them to the graph."""
    values, slopes = (data[:, :floats] for data in networks.adam_data())
    parameters = [variable(tf, value) for value in values]
    gradients = [tf.Variable(slope, trainable=False, use_resource=True) for slope in slopes]
    pairs = [
        (slope.read_value(), value) for slope, value in zip(gradients, parameters, strict=True)
    ]
    return parameters, tf.train.AdamOptimizer(1e-3).apply_gradients(pairs)


@contextlib.contextmanager
def adam_step(run: timing.Run) -> Iterator[tuple[Callable[[], object], Callable[[], Any]]]:
    """Give a function that updates a hundred parameters, and one that returns them."""
    tf = front_end(run.module)
    parameters, update = add_adam(tf, networks.ADAM_PARAMETERS[1])
    with session(tf, run) as active:
        active.run(tf.global_variables_initializer())
        yield active.make_callable(update), active.make_callable(parameters)


def adam(run: timing.Run) -> None:
    """Time Adam's updates, for each float."""
    with adam_step(run) as (step, _):
        run.time("adam", step, int(np.prod(networks.ADAM_PARAMETERS)))


def add_batch_norm(tf: Any) -> list[Any]:
    """Add batch normalization with ReLU to the graph; return the result and the gradients.

    The gradients are those of images, scale and offset.
    """
    x, scale, offset, slopes = (variable(tf, value) for value in networks.batch_norm_data())
    epsilon = networks.BATCH_NORM_EPSILON
    y = tf.nn.relu(tf.nn.fused_batch_norm(x, scale, offset, epsilon=epsilon)[0])
    return [y, *tf.gradients(y, [x, scale, offset], slopes.read_value())]


@contextlib.contextmanager
def batch_norm_step(run: timing.Run, fetch: bool = False) -> Iterator[Callable[[], Any]]:
    """Give a function that computes what `add_batch_norm` adds, and returns it if asked to."""
    tf = front_end(run.module)
    found = add_batch_norm(tf)
    with session(tf, run) as active:
        active.run(tf.global_variables_initializer())
        yield active.make_callable(found if fetch else [value.op for value in found])


def batch_norm(run: timing.Run) -> None:
    """Time batch normalization with ReLU, forward and backward."""
    with batch_norm_step(run) as step:
        run.time("batch_norm_relu", step)


# ---- The numbers that the others must give too ---------------------------------------------------


def xent_numbers(run: timing.Run) -> None:
    """Record losses and gradients."""
    with xent_step(run, fetch_gradient=True) as step:
        curves.record_xent(run, step)


def adam_numbers(run: timing.Run) -> None:
    """Record updates."""
    with adam_step(run) as (step, values):
        curves.record_adam(run, step, lambda: np.stack(values()))


def batch_norm_numbers(run: timing.Run) -> None:
    """Record the result and its gradients."""
    with batch_norm_step(run, fetch=True) as step:
        curves.record_batch_norm(run, step)


def checkpoint(run: timing.Run) -> None:
    """Save and restore 400 MB, 40 variables; each save replaces the checkpoint before."""
    tf = front_end(run.module)
    tables = [variable(tf, np.ones(LARGE // 10, np.float32)) for _ in range(40)]
    saver = tf.train.Saver(tables)
    with session(tf, run) as active, tempfile.TemporaryDirectory() as folder:
        active.run(tf.global_variables_initializer())
        path = f"{folder}/model"
        run.time("save_400MB", lambda: saver.save(active, path, write_meta_graph=False))
        run.time("restore_400MB", functools.partial(saver.restore, active, path))


CASES: timing.Cases = {
    "null_chain": null_chain,
    "null_wide": null_wide,
    "add_chain": add_chain,
    "large_chain": large_chain,
    "tiny_step": tiny_step,
    "build": build,
    "feed_fetch": feed_fetch,
    "two_shapes": two_shapes,
    "first_step": first_step,
    "xent": xent,
    "adam": adam,
    "batch_norm": batch_norm,
    "threads": threads,
    "checkpoint": checkpoint,
    "memory": memory,
    **training.timed(training_step),
}
CURVES: timing.Cases = {
    "xent": xent_numbers,
    "adam": adam_numbers,
    "batch_norm": batch_norm_numbers,
    **training.recorded(training_step),
}

if __name__ == "__main__":
    sys.exit(timing.main(CASES, CURVES))
