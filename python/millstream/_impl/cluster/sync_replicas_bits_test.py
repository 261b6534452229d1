"""Synchronous training by several workers gives the bits of one worker with all their batches.

Where the workers wait for each other after every step, each step has one gradient of each: it adds
them, and divides by their number. One worker that computes the same gradients, and adds them, gets
the same bits. One that computes the gradient of the whole batch at once adds the same numbers in
another order: it gets the same bits where no sum is rounded.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import millstream as tf
from millstream._impl.cluster.local_cluster import free_addresses

Floats = npt.NDArray[np.float32]

# The chief's queue runner waits for gradients until its session is closed, and ends quietly then.
pytestmark = pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILLSTREAM_CLUSTER_LIBRARY", "/there/is/none")


def _config(index: int) -> Any:
    """A session that needs no other worker, and gives the same bits for any number of threads."""
    config = tf.ConfigProto(device_filters=["/job:ps", f"/job:worker/task:{index}"])
    config.experimental.deterministic = True
    return config


class _Model:
    """A network of two layers, or of one, and the loss of a batch."""

    def __init__(self, start: list[Floats]) -> None:
        self.variables = [
            tf.get_variable(f"w{i}", initializer=value) for i, value in enumerate(start)
        ]
        self.step = tf.train.get_or_create_global_step()

    def loss(self, x: Any, y: Any) -> Any:
        """The mean of the squared errors."""
        for i, w in enumerate(self.variables):
            x = tf.matmul(x, w) if i == 0 else tf.matmul(tf.tanh(x), w)
        return tf.reduce_mean(tf.square(x - y))


def _together(
    workers: int, start: list[Floats], rate: float, xs: Floats, ys: Floats
) -> list[Floats]:
    """Variables after a training by workers in threads; xs and ys are [step, worker, row, ...]."""
    addresses = free_addresses(workers + 2)
    cluster = tf.train.ClusterSpec({"ps": addresses[:2], "worker": addresses[2:]})
    kept = [tf.train.Server(cluster, "ps", task) for task in range(2)]
    servers = [tf.train.Server(cluster, "worker", task) for task in range(workers)]
    is_ready = threading.Event()
    meeting = threading.Barrier(workers)
    result: list[Floats] = []
    failures: list[BaseException] = []

    def work(index: int) -> None:
        setter = tf.train.replica_device_setter(
            cluster=cluster, worker_device=f"/job:worker/task:{index}"
        )
        with tf.Graph().as_default(), tf.device(setter):
            model = _Model(start)
            x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
            momentum = tf.train.MomentumOptimizer(rate, 0.5)
            optimizer = tf.train.SyncReplicasOptimizer(momentum, workers)
            train = optimizer.minimize(model.loss(x, y), global_step=model.step)
            # Without first tokens nobody is a step ahead.
            hook = optimizer.make_session_run_hook(index == 0, num_tokens=0)
            if index > 0:
                is_ready.wait()
            with tf.train.MonitoredTrainingSession(
                servers[index].target,
                index == 0,
                hooks=[hook],
                config=_config(index),
                stop_grace_period_secs=1,  # the chief's queue runner waits for gradients
            ) as session:
                is_ready.set()
                for xs_of_step, ys_of_step in zip(xs, ys, strict=True):
                    session.run(train, {x: xs_of_step[index], y: ys_of_step[index]})
                    # A fast worker may take the token of a slow one, and give two gradients of the
                    # next step, as in 1.15.
                    meeting.wait()
                if index == 0:
                    result.extend(session.run(model.variables))
                    assert session.run(model.step) == len(xs)
                meeting.wait()

    def guarded(index: int) -> None:
        try:
            work(index)
        except BaseException as error:
            failures.append(error)
            is_ready.set()
            meeting.abort()

    threads = [threading.Thread(target=guarded, args=(index,)) for index in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    assert len(kept) == 2
    return result


def _alone(
    start: list[Floats],
    rate: float,
    xs: Floats,
    ys: Floats,
    loss_of: Callable[[_Model, Any, Any], Any],
) -> list[Floats]:
    """The same by one worker without a cluster, whose loss is `loss_of` [worker, row, ...]."""
    config = tf.ConfigProto()
    config.experimental.deterministic = True
    with tf.Graph().as_default():
        model = _Model(start)
        x = tf.placeholder(tf.float32, xs.shape[1:])
        y = tf.placeholder(tf.float32, ys.shape[1:])
        train = tf.train.MomentumOptimizer(rate, 0.5).minimize(loss_of(model, x, y))
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())
            for xs_of_step, ys_of_step in zip(xs, ys, strict=True):
                session.run(train, {x: xs_of_step, y: ys_of_step})
            found: list[Floats] = session.run(model.variables)
            return found


def _bits(values: list[Floats]) -> list[bytes]:
    return [value.tobytes() for value in values]


def _mean_of_losses(model: _Model, x: Any, y: Any) -> Any:
    pairs = zip(tf.unstack(x), tf.unstack(y), strict=True)
    return tf.add_n([model.loss(*pair) for pair in pairs]) / x.shape[0].value


def _loss_of_all(model: _Model, x: Any, y: Any) -> Any:
    return model.loss(*[tf.reshape(z, [-1, z.shape[2].value]) for z in (x, y)])


def test_two_workers_give_the_bits_of_one_with_both_batches() -> None:
    random = np.random.RandomState(1)
    start = [random.normal(size=shape).astype(np.float32) for shape in ((20, 30), (30, 4))]
    xs = random.normal(size=(12, 2, 16, 20)).astype(np.float32)
    ys = random.normal(size=(12, 2, 16, 4)).astype(np.float32)
    together = _together(2, start, 0.05, xs, ys)
    alone = _alone(start, 0.05, xs, ys, _mean_of_losses)
    assert _bits(together) == _bits(alone)
    assert all(np.isfinite(value).all() for value in alone)
    assert _bits(alone) != _bits(start)


def test_four_workers_give_the_bits_of_one_with_the_whole_batch_where_no_sum_is_rounded() -> None:
    random = np.random.RandomState(2)
    start = [random.randint(-2, 3, (3, 1)).astype(np.float32)]
    xs = random.randint(-1, 2, (4, 4, 2, 3)).astype(np.float32)
    ys = random.randint(-2, 3, (4, 4, 2, 1)).astype(np.float32)
    together = _together(4, start, 0.25, xs, ys)
    assert _bits(together) == _bits(_alone(start, 0.25, xs, ys, _loss_of_all))
    # No sum was rounded: double precision gives the same numbers.
    w, velocity = start[0].astype(np.float64), np.zeros((3, 1))
    for x, y in zip(xs.reshape(4, 8, 3), ys.reshape(4, 8, 1), strict=True):
        velocity = 0.5 * velocity + 2 / 8 * x.T @ (x @ w - y)
        w -= 0.25 * velocity
    assert together[0].tolist() == w.tolist()
