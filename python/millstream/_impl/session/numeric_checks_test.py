"""A session that checks stops at the first NaN, says where it came from, and saves that."""

from __future__ import annotations

import contextlib
import functools
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millstream as tf
from millstream._impl.session import numeric_replay


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    """A graph of its own for each test, and no checks but those that it asks for."""
    with tf.Graph().as_default() as graph:
        yield graph
    tf.debugging.disable_check_numerics()


def checking(folder: Path | None = None) -> tf.ConfigProto:
    """The config of a session that checks."""
    config = tf.ConfigProto()
    config.experimental.check_numerics = True
    config.experimental.check_numerics_folder = "" if folder is None else str(folder)
    return config


def failing(session: tf.Session, fetches: Any, feeds: Any = None) -> tf.errors.OpError:
    """The error of a step."""
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        session.run(fetches, feeds)
    return caught.value


def test_the_first_node_is_named_with_its_line_and_the_ranges_of_its_inputs() -> None:
    x = tf.placeholder(tf.float32, [3], name="x")
    scaled = x * 2.0
    logarithm = tf.log(scaled, name="logarithm")
    loss = tf.reduce_sum(tf.sqrt(logarithm) + 1.0)
    with tf.Session(config=checking()) as session:
        error = failing(session, loss, {x: [4.0, 0.0, 1.0]})
        assert error.op is logarithm.op
        lines = error.message.splitlines()
        assert lines[0] == (
            "the first numbers of the step that are not finite, in output 0: 0.693147 to 2.07944, "
            "1 infinity of 3"
        )
        assert lines[1].startswith("  node 'logarithm' (op Log), made at ")
        assert lines[2] == '    logarithm = tf.log(scaled, name="logarithm")'
        assert lines[3:] == [
            "  ranges: x 0 to 8",
            "  inputs: float32[3]",
            "  device: /job:localhost/replica:0/task:0/device:CPU:0",
        ]
        # A square root of a negative number: another node is the first.
        assert failing(session, loss, {x: [0.1, 0.2, 0.3]}).op.type == "Sqrt"
        assert np.isfinite(session.run(loss, {x: [4.0, 2.0, 1.0]}))


def test_without_the_mode_nothing_is_checked() -> None:
    with tf.Session() as session:
        assert np.isinf(session.run(tf.log(tf.constant(0.0))))


def test_a_node_of_a_fused_chain_is_named_by_itself() -> None:
    x = tf.placeholder(tf.float32, [64], name="x")
    y = x
    for step in range(5):
        y = tf.add(tf.multiply(y, y, name=f"square_{step}"), 1.0)
    with tf.Session(config=checking()) as session:
        value = np.full(64, 1e6, np.float32)
        assert failing(session, y, {x: value}).op.name == "square_2"


def test_what_comes_from_a_constant_is_no_fault_of_the_node_that_takes_it() -> None:
    mask = tf.constant([0.0, -np.inf], name="mask")
    with tf.Session(config=checking()) as session:
        assert session.run(tf.nn.softmax(mask + 1.0)).tolist() == [1.0, 0.0]


def test_a_nan_that_is_fed_is_told_and_an_infinity_is_taken() -> None:
    x = tf.placeholder(tf.float32, [2], name="x")
    with tf.Session(config=checking()) as session:
        error = failing(session, tf.maximum(x, 0.0), {x: [1.0, np.nan]})
        assert error.op is x.op
        assert error.message.startswith("the feed of x:0 holds NaN: 1 to 1, 1 NaN of 2\n")
        assert session.run(tf.maximum(x, 0.0), {x: [1.0, -np.inf]}).tolist() == [1.0, 0.0]


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16, tf.float64, tf.complex64])
def test_other_floating_point_types_are_checked(dtype: tf.DType) -> None:
    x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.cast(x, dtype)
    quotient = tf.div(y, y, name="quotient")
    with tf.Session(config=checking()) as session:
        session.run(quotient.op, {x: [1.0, 2.0]})
        assert failing(session, quotient.op, {x: [1.0, 0.0]}).op.name == "quotient"


@pytest.mark.parametrize("optimizer", ["descent", "adam"])
def test_an_update_that_spoils_a_variable_is_named(optimizer: str, tmp_path: Path) -> None:
    w = tf.Variable([3e38, 1.0], name="w")
    rate = tf.placeholder(tf.float32, [], name="rate")
    loss = tf.reduce_sum(-w)
    make = {"descent": tf.train.GradientDescentOptimizer, "adam": tf.train.AdamOptimizer}
    train = make[optimizer](rate).minimize(loss)
    with tf.Session(config=checking(tmp_path)) as session:
        session.run(tf.global_variables_initializer())
        session.run(train, {rate: 0.5})
        before = session.run(w)
        error = failing(session, train, {rate: 3e38})
        assert "in the variable w: " in error.message
        assert error.op.type.startswith("ResourceApply")
        (path,) = tmp_path.iterdir()
        failure = tf.debugging.replay(path)
        assert failure.node_def is None
        assert failure.inputs["var"].tobytes() == before.tobytes()
        assert f"ranges: var {before[1]:g} to {before[0]:g}; " in error.message
        assert "cannot be run again" in numeric_replay.summary(failure)
        # What the step before this one left in the memory for it has been written over.
        session.run(w.assign([3e38, 7.0]))
        before = session.run(w)
        failing(session, train, {rate: 3e38})
        (second,) = set(tmp_path.iterdir()) - {path}
        assert tf.debugging.replay(second).inputs["var"].tobytes() == before.tobytes()


@pytest.mark.parametrize("optimizer", ["descent", "momentum", "adagrad", "adam"])
def test_what_is_saved_of_an_update_was_there_before_it(optimizer: str, tmp_path: Path) -> None:
    """After steps of which the bounds said that they need not be looked at."""
    w = tf.Variable([[4.0, -1.0], [2.0, 0.5]], name="w")
    rate = tf.placeholder(tf.float32, [], name="rate")
    make: dict[str, Callable[[Any], tf.train.Optimizer]] = {
        "descent": tf.train.GradientDescentOptimizer,
        "momentum": functools.partial(tf.train.MomentumOptimizer, momentum=0.5),
        "adagrad": tf.train.AdagradOptimizer,
        "adam": tf.train.AdamOptimizer,
    }
    train = make[optimizer](rate).minimize(-tf.reduce_sum(w * [[1.0, 2.0], [3.0, 1.0]]))
    with tf.Session(config=checking(tmp_path)) as session:
        session.run(tf.global_variables_initializer())
        for _ in range(5):
            session.run(train, {rate: 0.25})
        for _ in range(5):  # a float may hold what comes of the first
            if not any(tmp_path.iterdir()):
                before = session.run(w)
                with contextlib.suppress(tf.errors.InvalidArgumentError):
                    session.run(train, {rate: 3e38})
        (path,) = tmp_path.iterdir()
        assert tf.debugging.replay(path).inputs["var"].tobytes() == before.tobytes()


def test_a_node_in_a_branch_is_checked() -> None:
    message = tf.GraphDef.from_text(
        """
        node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
        node { name: "p" op: "Placeholder" attr { key: "dtype" value { type: DT_BOOL } } }
        node { name: "s" op: "Switch" input: "x" input: "p"
               attr { key: "T" value { type: DT_FLOAT } } }
        node { name: "log" op: "Log" input: "s:1" attr { key: "T" value { type: DT_FLOAT } } }
        node { name: "neg" op: "Neg" input: "s:0" attr { key: "T" value { type: DT_FLOAT } } }
        node { name: "m" op: "Merge" input: "neg" input: "log"
               attr { key: "T" value { type: DT_FLOAT } } attr { key: "N" value { i: 2 } } }
        """
    )
    tf.import_graph_def(message, name="")
    with tf.Session(config=checking()) as session:
        assert failing(session, "m:0", {"x:0": [0.0], "p:0": True}).op.name == "log"
        assert session.run("m:0", {"x:0": [0.0], "p:0": False}).tolist() == [0.0]


def test_what_was_saved_runs_again(tmp_path: Path) -> None:
    a = tf.placeholder(tf.float32, name="a")
    b = tf.placeholder(tf.float32, name="b")
    product = tf.matmul(a, b, transpose_b=True, name="scope/product")
    values = {a: np.full([2, 3], 1e30, np.float32), b: np.full([4, 3], 1e30, np.float32)}
    tf.debugging.enable_check_numerics(folder=tmp_path)
    with tf.Session() as session:
        error = failing(session, product, values)
    (path,) = tmp_path.iterdir()
    assert f"  replay: millstream replay {path}\n" in error.message
    failure = tf.debugging.replay(path)
    assert failure.node_def.name == "scope/product"
    assert [value.tolist() for value in failure.inputs.values()] == [
        value.tolist() for value in values.values()
    ]
    assert np.isinf(failure.outputs[0]).all()
    command = [sys.executable, "-m", "millstream", "replay", str(path), "--npz"]
    done = subprocess.run(
        [*command, str(tmp_path / "arrays.npz")], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [
        f"node 'scope/product' (op {product.op.type})",
        "  input x: float32[2,3] 1e+30 to 1e+30",
        "  input y: float32[4,3] 1e+30 to 1e+30",
        "  output 0: float32[2,4], 8 infinite",
    ]
    with np.load(tmp_path / "arrays.npz") as arrays:
        assert sorted(arrays.files) == ["input_x", "input_y", "node_def", "output_0"]
        assert arrays["input_x"].shape == (2, 3)


def test_large_inputs_of_one_value_run_again(tmp_path: Path) -> None:
    x = tf.placeholder(tf.float32, name="x")
    with tf.Session(config=checking(tmp_path)) as session:
        failing(session, tf.log(x), {x: np.zeros(5_000_000, np.float32)})
    (path,) = tmp_path.iterdir()
    assert path.stat().st_size < 1000
    assert np.isneginf(tf.debugging.replay(path).outputs[0]).all()


def test_each_failure_has_a_file_of_its_own(tmp_path: Path) -> None:
    x = tf.placeholder(tf.float32, name="x")
    y = tf.log(x, name="y")
    messages = []
    for count in range(3):
        with tf.Session(config=checking(tmp_path)) as session:
            messages.append(failing(session, y, {x: [0.0] * (count + 1)}).message)
    for count, message in enumerate(messages):
        path = message.partition("  replay: millstream replay ")[2].splitlines()[0]
        assert tf.debugging.replay(path).inputs["x"].shape == (count + 1,)


def test_a_folder_that_is_none_and_a_file_that_is_none_are_errors(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is no folder"):
        tf.debugging.enable_check_numerics(folder=tmp_path / "missing")
    wrong: Any = 3
    with pytest.raises(TypeError, match="folder: expected a path, got 3"):
        tf.debugging.enable_check_numerics(folder=wrong)
    with pytest.raises(TypeError, match="path: expected a path, got 3"):
        tf.debugging.replay(wrong)
    with tf.Session(config=checking(tmp_path / "missing")) as session:
        error = failing(session, tf.log(tf.zeros([2])))
        assert "  not saved: " in error.message
        assert "No such file or directory" in error.message
    with pytest.raises(OSError, match="No such file"):
        tf.debugging.replay(tmp_path / "missing")
    two = tmp_path / "two.pb"
    with tf.Graph().as_default() as other:
        tf.negative(tf.negative(tf.ones([1])))
    two.write_bytes(other.as_graph_def().SerializeToString())
    with pytest.raises(ValueError, match="more than one node"):
        tf.debugging.replay(two)
    command = [sys.executable, "-m", "millstream", "replay", str(two)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert "more than one node" in done.stderr


def test_the_mode_changes_no_bit_of_a_training() -> None:
    random = np.random.RandomState(1)
    first, second = random.randn(20, 30), random.randn(30, 5)
    values, classes = random.randn(40, 20), random.randint(0, 5, 40)

    def trained(config: tf.ConfigProto | None) -> list[bytes]:
        with tf.Graph().as_default(), tf.Session(config=config) as session:
            x = tf.placeholder(tf.float32, [None, 20])
            bias = tf.Variable(tf.zeros([30]))
            hidden = tf.nn.relu(tf.matmul(x, tf.Variable(first, dtype=tf.float32)) + bias)
            logits = tf.matmul(hidden, tf.Variable(second, dtype=tf.float32))
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=classes, logits=logits)
            train = tf.train.AdamOptimizer(0.01).minimize(tf.reduce_mean(losses))
            session.run(tf.global_variables_initializer())
            for _ in range(3):
                session.run(train, {x: values})
            return [value.tobytes() for value in session.run(tf.global_variables())]

    assert trained(checking()) == trained(None)
