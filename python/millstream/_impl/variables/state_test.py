"""State: containers, imported references, sessions that share a graph, threads, forks, signals."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

import millstream as tf
from millstream import _runtime
from millstream._impl import protos

_THREADS = 4

# A graph as programs wrote it before resource variables: v = 2, y = 3 * v, v += 1.
_REFERENCES = """
node { name: "v" op: "VariableV2" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "shape" value { shape { } } } }
node { name: "two" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: 2 } } } }
node { name: "one" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: 1 } } } }
node { name: "v/Assign" op: "Assign" input: "v" input: "two"
  attr { key: "T" value { type: DT_FLOAT } } }
node { name: "v/read" op: "Identity" input: "v" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "square" op: "Mul" input: "v/read" input: "v"
  attr { key: "T" value { type: DT_FLOAT } } }
node { name: "bump" op: "AssignAdd" input: "v" input: "one"
  attr { key: "T" value { type: DT_FLOAT } } }
versions { producer: 27 }
"""


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    """A graph of its own for each test."""
    with tf.Graph().as_default() as graph:
        yield graph


# ---- References ----


def _references() -> object:
    return protos.message_class("GraphDef").FromString(
        _runtime.message_parse_text("GraphDef", _REFERENCES)
    )


def test_imported_references_run_and_are_exported_as_they_came(graph: tf.Graph) -> None:
    tf.import_graph_def(_references(), name="")
    with tf.Session() as sess:
        sess.run("v/Assign")
        assert sess.run("v:0") == 2.0
        assert sess.run("square:0") == 4.0
        assert sess.run("bump:0") == 3.0
        assert sess.run(["square:0", "v:0"]) == [9.0, 3.0]
    exported = {node.name: node for node in graph.as_graph_def().node}
    assert sorted(exported) == ["bump", "one", "square", "two", "v", "v/Assign", "v/read"]
    assert exported["v"].op == "VariableV2"
    assert exported["bump"].op == "AssignAdd"
    assert list(exported["square"].input) == ["v/read", "v"]
    assert graph.get_operation_by_name("v").type == "VariableV2"
    assert graph.get_operation_by_name("bump").get_attr("T") == tf.float32


def test_a_feed_of_an_imported_variable_reaches_its_consumers() -> None:
    tf.import_graph_def(_references(), name="old")
    with tf.Session() as sess:
        assert sess.run(["old/square:0", "old/v:0"], {"old/v:0": 5.0}) == [25.0, 5.0]
        sess.run("old/v/Assign")
        assert sess.run("old/square:0", {"old/v:0": 6.0}) == 36.0
        assert sess.run("old/square:0", {"old/v/read:0": 7.0}) == 14.0
        with pytest.raises(tf.errors.InvalidArgumentError, match="expected a reference"):
            sess.run("old/bump:0", {"old/v:0": 8.0})
        assert sess.run("old/v:0") == 2.0


def test_gradient_by_an_imported_variable(graph: tf.Graph) -> None:
    tf.import_graph_def(_references(), name="")
    v, square = graph.get_tensor_by_name("v:0"), graph.get_tensor_by_name("square:0")
    (gradient,) = tf.gradients(square, [v])
    with tf.Session() as sess:
        sess.run("v/Assign")
        assert sess.run(gradient) == 4.0


def test_errors_of_imported_nodes_name_them_and_the_importing_line() -> None:
    tf.import_graph_def(_references(), name="old")
    with tf.Session() as sess, pytest.raises(tf.errors.FailedPreconditionError) as caught:
        sess.run("old/square:0")
    message = str(caught.value)
    assert "Attempting to use uninitialized value old/v" in message
    assert "state_test.py" in message
    assert "test_errors_of_imported_nodes_name_them_and_the_importing_line" in message


# ---- Containers and reset ----


def test_containers_keep_variables_of_one_name_apart(graph: tf.Graph) -> None:
    def variable(value: float) -> tf.Variable:
        return tf.Variable(value)

    with graph.container("left"):
        left = variable(1.0)
    with tf.container("right"):
        right = variable(2.0)
    assert left.handle.op.get_attr("container") == b"left"
    assert right.handle.op.get_attr("container") == b"right"
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert sess.run([left, right]) == [1.0, 2.0]


def test_reset_closes_the_sessions_of_the_process() -> None:
    v = tf.Variable(1.0)
    one, two = tf.Session(), tf.Session()
    one.run(v.initializer)
    initializers = [session.make_callable(v.initializer) for session in (one, two)]
    tf.Session.reset("", ["there is none"])
    for session, initialize in zip((one, two), initializers, strict=True):
        with pytest.raises(tf.errors.FailedPreconditionError, match="closed"):
            session.run(v.initializer)
        with pytest.raises(tf.errors.FailedPreconditionError, match="closed"):
            session.trim()
        session.close()
        with pytest.raises(RuntimeError, match="closed"):
            session.run(v.initializer)
        with pytest.raises(RuntimeError, match="closed"):
            session.trim()
        with pytest.raises(tf.errors.FailedPreconditionError, match="closed"):
            initialize()
    with tf.Session() as fresh:
        assert not fresh.run(tf.is_variable_initialized(v))


def test_reset_refuses_what_it_does_not_know() -> None:
    with pytest.raises(tf.errors.NotFoundError, match="elsewhere"):
        tf.Session.reset("elsewhere://there:1")
    with pytest.raises(TypeError, match="containers"):
        tf.Session.reset("", "name")
    with pytest.raises(TypeError, match="containers"):
        tf.Session.reset("", [1])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="target"):
        tf.Session.reset(None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="config"):
        tf.Session.reset("", config={})


# ---- Sessions, threads ----


def test_a_node_that_has_run_no_longer_changes() -> None:
    x = tf.constant(1.0)
    y = tf.negative(x)
    with tf.Session() as sess:
        sess.run(y)
    with pytest.raises(tf.errors.FailedPreconditionError, match="has run") as caught:
        y.op._add_control_input(x.op)
    assert caught.value.op is y.op
    with pytest.raises(tf.errors.FailedPreconditionError, match="has run"):
        y.op._set_device("/device:CPU:0")


def _on_threads(body: object) -> None:
    failures: list[BaseException] = []

    def run(number: int) -> None:
        try:
            body(number)  # type: ignore[operator]
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(_THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures


def test_sessions_on_one_graph_have_state_of_their_own() -> None:
    v = tf.Variable(0)
    bump = v.assign_add(1)
    sessions = [tf.Session() for _ in range(_THREADS)]

    def body(number: int) -> None:
        sessions[number].run(v.initializer)
        for _ in range(50 * (number + 1)):
            sessions[number].run(bump)

    _on_threads(body)
    assert [int(session.run(v)) for session in sessions] == [50, 100, 150, 200]
    for session in sessions:
        session.close()


def test_a_graph_grows_between_the_runs_of_a_session() -> None:
    v = tf.Variable(1.0)
    with tf.Session() as sess:
        sess.run(v.initializer)
        total = v + 0.0
        for step in range(1, 20):
            total = total + 1.0
            assert sess.run(total) == 1.0 + step
        w = tf.Variable(5.0)
        sess.run(w.initializer)
        assert sess.run(v + w) == 6.0


def test_concurrent_steps_lose_no_update() -> None:
    v = tf.Variable(np.zeros(64, np.int64))
    bump = v.assign_add(np.ones(64, np.int64))
    with tf.Session() as sess:
        sess.run(v.initializer)

        def body(number: int) -> None:
            for _ in range(100):
                seen = sess.run(bump)
                assert (seen == seen[0]).all()

        _on_threads(body)
        assert (sess.run(v) == 100 * _THREADS).all()


def test_concurrent_steps_share_the_counter_of_a_random_op() -> None:
    draw = tf.random_uniform([4], seed=7)
    with tf.Session() as sess:
        alone = [tuple(sess.run(draw)) for _ in range(20 * _THREADS)]
    drawn: list[tuple[float, ...]] = []
    with tf.Session() as sess:
        _on_threads(lambda number: drawn.extend(tuple(sess.run(draw)) for _ in range(20)))
    assert len(set(alone)) == len(alone)
    assert sorted(drawn) == sorted(alone)


def test_closing_cancels_the_steps_of_other_threads() -> None:
    x = tf.placeholder(tf.float32, [128, 128])
    total = x
    for _ in range(400):
        total = tf.matmul(total, x)
    fed = np.zeros([128, 128], np.float32)
    outcomes: list[BaseException] = []

    def run_until_closed(session: tf.Session, running: threading.Event) -> None:
        try:
            while True:
                session.run(total, {x: fed})
                running.set()
        except BaseException as error:
            outcomes.append(error)

    for attempt in range(200):
        session, running = tf.Session(), threading.Event()
        runner = threading.Thread(target=run_until_closed, args=(session, running))
        runner.start()
        running.wait()
        # A step takes milliseconds; at once, it would often not have begun the next one.
        time.sleep(0.001 * (attempt % 20))
        session.close()
        runner.join()
        if isinstance(outcomes[-1], tf.errors.CancelledError):
            break
        assert "closed" in str(outcomes[-1])  # between two steps
    assert isinstance(outcomes[-1], tf.errors.CancelledError)
    assert "the session was closed" in outcomes[-1].message


# ---- Signals and forks ----


def _long_step() -> tf.Tensor:
    x = tf.random_uniform([512, 512])  # products of constants would be computed once
    for _ in range(400):
        x = tf.matmul(x, x) * 1e-9
    return tf.reduce_sum(x)


def test_a_signal_handler_may_close_the_session_of_the_step_that_it_interrupts() -> None:
    total = _long_step()
    session = tf.Session()
    session.run(total)
    closed: list[int] = []

    def close(number: int, frame: object) -> None:
        session.close()
        closed.append(number)

    before = signal.signal(signal.SIGALRM, close)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        while not closed:
            # Closed between two steps, or within one.
            with contextlib.suppress(RuntimeError, tf.errors.CancelledError):
                session.run(total)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert closed
    with pytest.raises(RuntimeError, match="closed"):
        session.run(total)


# Of a child that takes milliseconds, on a busy machine as well as on an idle one.
_HANG_GUARD_SECONDS = 120


def _in_child(body: object) -> str:
    """What `body` returns in a forked child."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(_HANG_GUARD_SECONDS)
        try:
            text = str(body())  # type: ignore[operator]
        except BaseException as error:
            text = f"{type(error).__name__}: {error}"
        os.write(write_end, text.encode())
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end) as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    assert status != signal.SIGALRM, f"a guard against hanging: {_HANG_GUARD_SECONDS} s are over"
    return text


def test_a_forked_child_gets_a_sentence() -> None:
    total = tf.reduce_sum(tf.ones([300, 300]))
    session = tf.Session()
    session.run(total)
    stop = threading.Event()

    def keep_running() -> None:
        while not stop.is_set():
            session.run(total)

    runner = threading.Thread(target=keep_running)
    runner.start()
    try:
        sentence = "FailedPreconditionError: this process was forked"
        assert _in_child(lambda: session.run(total)).startswith(sentence)
        assert _in_child(tf.Session).startswith(sentence)
        assert _in_child(session.close) == "None"
    finally:
        stop.set()
        runner.join()
    assert session.run(total) == 90000.0
    session.close()
