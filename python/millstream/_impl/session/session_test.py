"""Steps: what goes in, what comes out, and in which memory."""

from __future__ import annotations

import collections
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import millstream as tf


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    """A graph of its own for each test."""
    with tf.Graph().as_default() as graph:
        yield graph


def test_results_keep_the_structure_of_fetches() -> None:
    Point = collections.namedtuple("Point", ["x", "y"])
    a, b = tf.constant([1, 2]), tf.constant(2.5)
    with tf.Session() as session:
        found = session.run({"p": Point(a, (b, [tf.no_op()])), "empty": []})
    assert isinstance(found["p"], Point)
    assert found["p"].x.tolist() == [1, 2]
    assert found["p"].y == (2.5, [None])
    assert found["empty"] == []


def test_fetched_dictionary_keeps_its_type_and_default() -> None:
    fetches: dict[str, Any] = collections.defaultdict(list, one=tf.constant(1.0))
    with tf.Session() as session:
        found = session.run(fetches)
    assert isinstance(found, collections.defaultdict)
    assert found == {"one": 1.0}
    assert found["other"] == []


def test_scalars_are_numpy_scalars_and_strings_bytes() -> None:
    with tf.Session() as session:
        for dtype in (np.float16, np.float32, np.float64, np.int8, np.int64, np.uint16, np.bool_):
            value = session.run(tf.constant(dtype(1)))
            assert type(value) is dtype
            assert value == 1
        assert session.run(tf.constant("né")) == "né".encode()
        words = session.run(tf.constant([["a", "b"], ["c", ""]]))
        assert words.dtype == object
        assert words.tolist() == [[b"a", b"b"], [b"c", b""]]


def test_fetched_arrays_are_writable_and_private() -> None:
    c = tf.constant([1.0, 2.0])
    with tf.Session() as session:
        first = session.run(tf.identity(c))
        first[:] = 7.0
        assert session.run(c).tolist() == [1.0, 2.0]


def test_fed_arrays_of_any_layout_give_their_values() -> None:
    x = tf.placeholder(tf.float32, [None, None])
    y = x * 2.0
    base = np.arange(24, dtype=np.float32).reshape(4, 6)
    read_only = base.copy()
    read_only.setflags(write=False)
    unaligned = np.frombuffer(b"\0" + base.tobytes(), np.uint8)[1:].view(np.float32).reshape(4, 6)
    swapped = base.astype(">f4")
    with tf.Session() as session:
        step = session.make_callable(y, [x])
        for value in (base, base.T, base[::2, ::-1], read_only, unaligned, swapped):
            np.testing.assert_array_equal(step(value), np.asarray(value, np.float32) * 2.0)
            np.testing.assert_array_equal(
                session.run(y, {x: value}), np.asarray(value, np.float32) * 2.0
            )
        np.testing.assert_array_equal(step([[1, 2]]), [[2.0, 4.0]])
        np.testing.assert_array_equal(step(base.astype(np.float64)), base * 2.0)
        assert step(np.zeros([0, 3], np.float32)).shape == (0, 3)


def test_one_hot_labels_may_be_integers() -> None:
    logits = tf.constant([[1.0, 2.0]], tf.float64)
    labels = tf.placeholder(tf.int32, [None, 2])
    losses = [
        tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits),
        tf.nn.softmax_cross_entropy_with_logits(labels=[[0, 1]], logits=logits),
        tf.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits),
        tf.nn.softmax_cross_entropy_with_logits_v2(labels=[[0, 1]], logits=logits),
    ]
    with tf.Session() as session:
        found = session.run(losses, {labels: [[0, 1]]})
    np.testing.assert_allclose(found, [[np.log1p(np.exp(-1.0))]] * 4, rtol=1e-14)


def test_a_tensor_has_at_most_32_dimensions() -> None:
    x, dims = tf.placeholder(tf.float32), tf.placeholder(tf.int32)
    y = x + x
    reshaped = tf.reshape(x, dims)
    with tf.Session() as session:
        ones = np.ones([1] * 32, np.float32)
        np.testing.assert_array_equal(session.run(y, {x: ones}), 2 * ones)
        with pytest.raises(tf.errors.InvalidArgumentError, match="a tensor has at most 32"):
            session.run(reshaped, {x: ones, dims: [1] * 33})
    with pytest.raises(ValueError, match="a tensor has at most 32"):
        tf.placeholder(tf.float32, [1] * 33)


def test_a_fed_array_is_not_kept() -> None:
    x = tf.placeholder(tf.float32, [3])
    v = tf.Variable(tf.zeros([3]))
    assign = v.assign(x)
    with tf.Session() as session:
        session.run(v.initializer)
        value = np.ones(3, np.float32)
        same = session.run(tf.identity(x), {x: value})
        session.run(assign, {x: value})
        value[:] = 9.0
        assert same.tolist() == [1.0] * 3
        assert session.run(v).tolist() == [1.0] * 3


def test_callable_takes_its_feeds_by_position() -> None:
    x, y = tf.placeholder(tf.int32, []), tf.placeholder(tf.int32, [])
    with tf.Session() as session:
        step = session.make_callable([x - y, x], [x, y])
        assert step(5, 3) == [2, 5]
        with pytest.raises(TypeError, match="2 arguments"):
            step(5)


def test_bfloat16_is_fetched_by_its_bits() -> None:
    x = tf.placeholder(tf.bfloat16, [2])
    with tf.Session() as session:
        value = session.run(tf.identity(x), {x: [1.0, -2.0]})
    assert value.dtype == tf.bfloat16.as_numpy_dtype
    assert value["bfloat16"].tolist() == [0x3F80, 0xC000]


class _Pair(NamedTuple):
    first: Any
    second: Any


def test_keys_in_tuples_take_values_in_tuples() -> None:
    a, b, c = (tf.placeholder(tf.float32, name=name) for name in "abc")
    total = a + 10.0 * b + 100.0 * c
    with tf.Session() as session:
        for feeds in (
            {(a, b): (1, 2), c: 3},
            {("a:0", "b:0"): [1, 2], c: 3},
            {_Pair(a, b): _Pair(1, 2), c: 3},
            {_Pair(first=a, second=(b, c)): (1, [2, 3])},
            {(a,): (1,), (): (), b: 2, c: 3},
        ):
            for _ in range(2):
                assert session.run(total, feeds) == 321.0
            assert total.eval(feeds) == 321.0
        rows = session.run(total, {(a, b): ([1, 2], [3, 4]), c: 0})
        assert rows.tolist() == [31.0, 42.0]
        assert session.make_callable(total, [_Pair(a, b), c])((1, 2), 3) == 321.0
        assert "add" in session.explain_placement(total, {(a, b): (1, 2), c: 3})


def test_keys_in_tuples_need_as_many_values_each_once() -> None:
    a, b = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    with tf.Session() as session:
        for wrong in ((1,), (1, 2, 3), 1, np.ones([2]), ((1, 2), 3)):
            with pytest.raises((ValueError, TypeError), match="feed_dict: "):
                session.run(a + b, {(a, (b,)): wrong})
        with pytest.raises(ValueError, match=r"feed_dict: the key .*Placeholder:0.* occurs twice"):
            session.run(a + b, {(a, b): (1, 2), a: 3})


def test_strings_are_fed() -> None:
    x = tf.placeholder(tf.string, [None])
    with tf.Session() as session:
        fed = session.run(tf.identity(x), {x: ["ab", b"c", ""]})
    assert fed.tolist() == [b"ab", b"c", b""]


def test_threads_share_a_session() -> None:
    x = tf.placeholder(tf.float32, [64])
    total = tf.reduce_sum(x * x)
    results: list[float] = []
    with tf.Session() as session:
        step = session.make_callable(total, [x])

        def work(number: int) -> None:
            value = np.full(64, number, np.float32)
            results.extend(float(step(value)) / number**2 for _ in range(200))

        threads = [threading.Thread(target=work, args=(i + 1,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert results == [64.0] * 800


class _Key:
    """A key of a dictionary of fetches; looking it up runs something once."""

    def __init__(self) -> None:
        self.run: list[Callable[[], Any]] = []

    def __hash__(self) -> int:
        while self.run:
            self.run.pop()()
        return 1


def test_steps_of_many_kinds_come_and_go_at_the_same_time() -> None:
    x = tf.placeholder(tf.float32, [])
    key, kinds = _Key(), [x * float(i) for i in range(601)]
    with tf.Session() as session:
        for meanwhile in (lambda: session.run(kinds[600], {x: 1.0}), session.trim):
            session.run({key: x}, {x: 1.0})
            # As the oldest step goes, another one comes, or all of them go.
            key.run = [meanwhile]
            for kind in kinds[:600]:
                session.run(kind, {x: 1.0})
            assert not key.run, "no step had to go"
        assert session.run(kinds[5], {x: 2.0}) == 10.0


# A guard against hanging: nothing here takes a hundredth of it, not even on a busy machine.
_HANG_GUARD_SECONDS = 120


def test_control_c_stops_a_running_step() -> None:
    x = tf.placeholder(tf.float32, [256, 256])
    y = x
    for _ in range(1000):
        y = tf.matmul(y, x)
    with tf.Session() as session:
        step = session.make_callable(y.op, [x])
        value = np.eye(256, dtype=np.float32)
        step(value)  # compiled, so that what follows is running and nothing else
        timer = threading.Timer(0.02, signal.raise_signal, [signal.SIGINT])

        def run_forever() -> None:
            timer.start()
            end = time.monotonic() + _HANG_GUARD_SECONDS
            while time.monotonic() < end:
                step(value)
            pytest.fail(f"a guard against hanging: no interrupt in {_HANG_GUARD_SECONDS} s")

        with pytest.raises(KeyboardInterrupt):
            run_forever()
        timer.join()
        assert session.run(tf.constant(1.0)) == 1.0


def test_a_callable_without_its_feeds_fails_when_it_is_called() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        step = session.make_callable(tf.placeholder(tf.float32, [], name="x") + 1.0)
        with pytest.raises(tf.errors.InvalidArgumentError, match="You must feed a value"):
            step()


def test_a_session_is_not_entered_twice() -> None:
    session = tf.Session()
    with session:
        with pytest.raises(RuntimeError, match="Session context managers are not re-entrant"):
            session.__enter__()
        with session.as_default(), session.as_default():
            assert tf.get_default_session() is session
        assert tf.get_default_session() is session


def test_default_session_runs_eval() -> None:
    c = tf.constant(3.0)
    with pytest.raises(ValueError, match="session"):
        c.eval()
    with tf.Session() as outer:
        assert tf.get_default_session() is outer
        assert c.eval() == 3.0
        with tf.Session().as_default() as inner:
            assert tf.get_default_session() is inner
        assert tf.get_default_session() is outer
    assert tf.get_default_session() is None


def test_options_limit_the_time_of_a_step() -> None:
    x = tf.placeholder(tf.float32, [512, 512])
    y = x
    for _ in range(500):
        y = tf.matmul(y, x)
    value, options = np.zeros([512, 512], np.float32), tf.RunOptions(timeout_in_ms=50)
    with tf.Session() as session, pytest.raises(tf.errors.DeadlineExceededError):
        session.run(y.op, {x: value}, options=options)


def test_devices_are_listed() -> None:
    tf.constant(0)
    with tf.Session() as session:
        kinds = [device.device_type for device in session.list_devices()]
    assert "CPU" in kinds


def test_a_tensor_that_an_op_reads_twice_keeps_its_value() -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [4])
        twice, thrice = x * 2.0, x * 3.0
        total = -tf.add_n([twice, thrice, twice])
        (gradient,) = tf.gradients((x + x) + x, [x], grad_ys=[x * 1.0])
        logits = tf.reshape(x * 1.0, [2, 2])
        loss = tf.nn.softmax_cross_entropy_with_logits(labels=logits, logits=logits) * 1.0
        with tf.Session() as session:
            fed = np.array([1.0, 2.0, 3.0, 4.0], np.float32)
            got_total, got_gradient, got_loss = session.run([total, -gradient, loss], {x: fed})
    np.testing.assert_allclose(got_total, -7 * fed)
    np.testing.assert_allclose(got_gradient, -3 * fed)
    rows = fed.reshape(2, 2)
    logarithms = rows - np.log(np.exp(rows).sum(1, keepdims=True))
    np.testing.assert_allclose(got_loss, -(rows * logarithms).sum(1), rtol=1e-5)


def test_known_shapes_keep_the_order_that_their_tensors_had() -> None:
    with tf.Graph().as_default():
        counter = tf.Variable(0)
        with tf.control_dependencies([counter.assign_add(1)]):
            size = tf.shape(tf.zeros([3, 2]))
        rows = size[0]
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            assert session.run(rows) == 3
            assert session.run(counter) == 1


def test_a_session_is_usable_after_a_kernel_failed_on_tensors_of_unknown_shape() -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.int32, [None])
        size = tf.placeholder(tf.int32, [1])
        quotient = tf.floordiv(tf.reshape(x, size), tf.reshape(x, size) - 1) + 0
        with tf.Session() as session:
            good = {x: [4, 8], size: [2]}
            assert session.run(quotient, good).tolist() == [1, 1]
            with pytest.raises(tf.errors.InvalidArgumentError):
                session.run(quotient, {x: [1, 8], size: [2]})
            assert session.run(quotient, good).tolist() == [1, 1]
