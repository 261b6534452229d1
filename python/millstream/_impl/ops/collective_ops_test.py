"""Collective operations over the devices of a process."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import millstream as tf

_CONFIG = tf.ConfigProto(device_count={"CPU": 4})


def _on_devices(count: int, make: Any) -> list[Any]:
    """What a function makes on each device, of its number."""
    made = []
    for i in range(count):
        with tf.device(f"/cpu:{i}"):
            made.append(make(i))
    return made


def _run(fetches: Any, **options: Any) -> Any:
    with tf.Session(config=_CONFIG) as session:
        return session.run(fetches, **options)


@pytest.mark.parametrize(
    ("merge", "expected"), [("Add", 9.0), ("Mul", 24.0), ("Max", 4.0), ("Min", 2.0)]
)
@pytest.mark.parametrize("dtype", [tf.float16, tf.float32, tf.float64, tf.int32, tf.int64])
def test_each_device_gets_the_reduction(merge: str, expected: float, dtype: Any) -> None:
    with tf.Graph().as_default():
        results = _on_devices(
            3,
            lambda i: tf.cluster.all_reduce(
                tf.constant([2 + i, 2 + i], dtype), 3, 1, 1, merge, "Id"
            ),
        )
        for value in _run(results):
            assert value.dtype == dtype.as_numpy_dtype
            assert value.tolist() == [expected, expected]


def test_a_mean_of_integers_is_cut_off() -> None:
    with tf.Graph().as_default():
        results = _on_devices(
            2, lambda i: tf.cluster.all_reduce([1 + i, -1 - i], 2, 1, 1, "Add", "Div")
        )
        assert [value.tolist() for value in _run(results)] == [[1, -1]] * 2


def test_operations_of_a_group_may_begin_in_any_order() -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [])

        def chain(i: int) -> Any:
            keys = [1, 2] if i == 0 else [2, 1]
            parts = {key: tf.cluster.all_reduce(x * key, 2, 1, key, "Add", "Id") for key in keys}
            return parts[1] + 10.0 * parts[2]

        results = _on_devices(2, chain)
        with tf.Session(config=_CONFIG) as session:
            for value in (1.0, 2.0):
                assert session.run(results, {x: value}) == [42.0 * value] * 2


def test_gathers_and_broadcasts() -> None:
    with tf.Graph().as_default():
        rows = _on_devices(3, lambda i: tf.cluster.all_gather(tf.fill([2, 1], float(i)), 3, 1, 1))
        assert rows[0].shape.as_list() == [6, 1]

        def share(i: int) -> Any:
            if i == 1:
                return tf.cluster.broadcast_send([1.0, 2.0], [2], tf.float32, 3, 1, 2)
            return tf.cluster.broadcast_recv([2], tf.float32, 3, 1, 2)

        gathered, shared = _run([rows, _on_devices(3, share)])
        for value in gathered:
            assert value.ravel().tolist() == [0.0, 0.0, 1.0, 1.0, 2.0, 2.0]
        assert [value.tolist() for value in shared] == [[1.0, 2.0]] * 3


@pytest.mark.parametrize("final", ["Id", "Div"])
@pytest.mark.parametrize("merge", ["Add", "Mul", "Max", "Min"])
@pytest.mark.parametrize("dtype", [tf.float16, tf.float32, tf.int64])
def test_parts_of_a_reduce_scatter_have_the_bits_of_its_reduction(
    dtype: Any, merge: str, final: str
) -> None:
    values = np.random.default_rng(1).normal(0, 9, [3, 6, 2]).astype(dtype.as_numpy_dtype)
    with tf.Graph().as_default():
        parts = _on_devices(
            3, lambda i: tf.cluster.reduce_scatter(values[i], 3, 1, 1, merge, final, timeout=60)
        )
        assert parts[0].shape.as_list() == [2, 2]
        whole = _on_devices(3, lambda i: tf.cluster.all_reduce(values[i], 3, 1, 2, merge, final))
        got = _run([parts, whole])
        assert np.concatenate(got[0]).tobytes() == got[1][0].tobytes()


def test_a_reduce_scatter_takes_bfloat16() -> None:
    with tf.Graph().as_default():
        parts = _on_devices(
            2,
            lambda i: tf.cast(
                tf.cluster.reduce_scatter(
                    tf.cast([1.0 + i, 2.0 + i], tf.bfloat16), 2, 1, 1, "Add", "Id"
                ),
                tf.float32,
            ),
        )
        assert [value.tolist() for value in _run(parts)] == [[3.0], [5.0]]


def test_a_reduce_scatter_has_a_time_limit_of_its_own() -> None:
    with tf.Graph().as_default():
        parts = _on_devices(
            2,
            lambda i: tf.cluster.reduce_scatter([1.0, 2.0], 2, 1, 1, "Add", "Id", timeout=0.05),
        )
        # Nobody else can come, and the limit ends the wait.
        limit = pytest.raises(tf.errors.DeadlineExceededError, match=r"'timeout_seconds' is 0\.05")
        with tf.Session(config=_CONFIG) as session, limit:
            session.run(parts[1])


def test_the_gradient_of_a_mean_is_the_mean_of_the_gradients() -> None:
    with tf.Graph().as_default():
        inputs = _on_devices(2, lambda i: tf.placeholder(tf.float64, [3], f"x{i}"))
        means = _on_devices(2, lambda i: tf.cluster.all_reduce(inputs[i], 2, 1, 1, "Add", "Div"))
        losses = _on_devices(2, lambda i: tf.reduce_sum((i + 1.0) * means[i] ** 3))
        gradients = _on_devices(2, lambda i: tf.gradients(losses[i], inputs[i])[0])
        assert [one.device for one in gradients] == ["/device:CPU:0", "/device:CPU:1"]
        second = _on_devices(2, lambda i: tf.gradients(gradients[i], inputs[i])[0])
        values = [np.array([1.0, 2.0, 3.0]), np.array([3.0, 5.0, -1.0])]
        mean = (values[0] + values[1]) / 2
        got = _run([gradients, second], feed_dict=dict(zip(inputs, values, strict=True)))
        for value in got[0]:
            np.testing.assert_allclose(value, (1.0 + 2.0) / 2 * 3 * mean**2)
        # By both losses and both gradients.
        for value in got[1]:
            assert np.isfinite(value).all()


def test_a_maximum_has_no_gradient() -> None:
    with tf.Graph().as_default():
        x = tf.constant([1.0])
        y = tf.cluster.all_reduce(x, 1, 1, 1, "Max", "Id")
        with pytest.raises(tf.errors.UnimplementedError, match="where merge_op is Add, not Max"):
            tf.gradients(y, x)


def test_who_is_missing_is_named() -> None:
    with tf.Graph().as_default():
        results = _on_devices(2, lambda i: tf.cluster.all_reduce([1.0], 2, 1, 1, "Add", "Id"))
        with tf.Session(config=_CONFIG) as session:
            session.run(results)
            with pytest.raises(tf.errors.DeadlineExceededError, match="group 1, instance 1") as e:
                session.run(results[0], options=tf.RunOptions(timeout_in_ms=50))
            assert "waits for 1 of 2 members" in str(e.value)
            assert "device:CPU:1" in str(e.value).partition("waits for")[2]
            # Nobody else can come: no other thread runs a step.
            with pytest.raises(tf.errors.FailedPreconditionError, match="nobody can give"):
                session.run(results[1])
            assert [value.tolist() for value in session.run(results)] == [[2.0]] * 2


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tf.cluster.all_reduce([1.0], 0, 1, 1, "Add", "Id"), "at least 1, got 0"),
        (lambda: tf.cluster.all_reduce([1.0], 1, 1, 1, "Sub", "Id"), "merge_op"),
        (lambda: tf.cluster.all_reduce(["a"], 1, 1, 1, "Add", "Id"), "string"),
        (lambda: tf.cluster.all_gather(1.0, 1, 1, 1), "input"),
        (lambda: tf.cluster.reduce_scatter([1.0], 0, 1, 1, "Add", "Id"), "at least 1, got 0"),
        (lambda: tf.cluster.reduce_scatter([1.0], 1, 1, 1, "Sub", "Id"), "merge_op"),
        (lambda: tf.cluster.reduce_scatter([1.0, 2.0, 3.0], 2, 1, 1, "Add", "Id"), "3 rows"),
        (lambda: tf.cluster.reduce_scatter(1.0, 1, 1, 1, "Add", "Id"), "input"),
        (
            lambda: tf.cluster.broadcast_send([1.0], [2], tf.float32, 2, 1, 1),
            r"not equal to the shape \(2,\)",
        ),
        (lambda: tf.cluster.broadcast_send([1.0], [1], tf.int32, 2, 1, 1), "has dtype float32"),
        (lambda: tf.cluster.broadcast_recv([1], tf.float32, 1, 1, 1), "at least 2, got 1"),
    ],
)
def test_what_makes_no_sense_is_refused(make: Any, message: str) -> None:
    with tf.Graph().as_default(), pytest.raises((ValueError, TypeError), match=message):
        make()
