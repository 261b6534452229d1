"""Threads fill queues until the input ends or the program stops."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

import millstream as tf


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    with tf.Graph().as_default(), tf.Session() as running:
        yield running


def _counting(limit: int | None = None) -> tuple[tf.FIFOQueue, tf.train.QueueRunner]:
    """A queue that is filled with 1, 2, ..., and its runner."""
    queue = tf.FIFOQueue(3, [tf.int32], shapes=[()], name="numbers")
    count = tf.Variable(0, name="count")
    number = tf.assign_add(count, 1) if limit is None else tf.count_up_to(count, limit) + 1
    runner = tf.train.QueueRunner(queue, [queue.enqueue(tf.identity(number), name="put")])
    tf.global_variables_initializer().run()
    return queue, runner


def test_a_thread_fills_the_queue_until_the_stop(session: tf.Session) -> None:
    queue, runner = _counting()
    taken = queue.dequeue()
    coord = tf.train.Coordinator()
    threads = runner.create_threads(session, coord, start=True)
    assert [thread.name for thread in threads] == [
        "QueueRunnerThread-numbers-put",
        "QueueRunnerThread-numbers-close_on_stop",
    ]
    assert [int(session.run(taken)) for _ in range(10)] == list(range(1, 11))
    assert runner.create_threads(session, coord) == []  # they run
    coord.request_stop()
    coord.join()
    assert not any(thread.is_alive() for thread in threads)
    assert queue.is_closed().eval()


def test_the_end_of_the_input_closes_the_queue(session: tf.Session) -> None:
    queue, runner = _counting(limit=5)
    coord = tf.train.Coordinator()
    threads = runner.create_threads(session, coord, start=True)
    taken = queue.dequeue()
    assert [int(session.run(taken)) for _ in range(5)] == [1, 2, 3, 4, 5]
    with pytest.raises(tf.errors.OutOfRangeError):
        session.run(taken)
    coord.request_stop()
    coord.join(threads)


def test_a_monitored_session_has_started_its_runners() -> None:
    _counting()
    with tf.train.MonitoredSession() as monitored:
        assert tf.train.start_queue_runners(monitored) == []


def test_no_runners_are_worth_a_warning(
    session: tf.Session, caplog: pytest.LogCaptureFixture
) -> None:
    assert tf.train.start_queue_runners(session) == []
    assert "was called when no queue runners were defined" in caplog.text


def test_a_runner_that_is_refused_adds_nothing(session: tf.Session) -> None:
    queue = tf.FIFOQueue(3, [tf.float32])
    enqueue = queue.enqueue(1.0)
    before = len(session.graph.get_operations())
    with pytest.raises(TypeError, match="queue_closed_exception_types"):
        tf.train.QueueRunner(queue, [enqueue], queue_closed_exception_types=(ValueError,))
    assert len(session.graph.get_operations()) == before


def test_an_error_reaches_the_coordinator(session: tf.Session) -> None:
    queue = tf.FIFOQueue(3, [tf.float32])
    unfed = tf.placeholder(tf.float32, [])
    runner = tf.train.QueueRunner(queue, [queue.enqueue(unfed)])
    coord = tf.train.Coordinator()
    threads = runner.create_threads(session, coord, start=True)
    with pytest.raises(tf.errors.InvalidArgumentError):
        coord.join(threads)
    assert runner.exceptions_raised == []


def test_a_step_that_is_cancelled_after_the_join_is_no_error(
    session: tf.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    raised: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", raised.append)
    begun = threading.Event()
    queue, source = tf.FIFOQueue(1, [tf.int32]), tf.FIFOQueue(1, [tf.int32], shapes=[()])
    with tf.control_dependencies([tf.py_func(begun.set, [], [])]):
        runner = tf.train.QueueRunner(queue, [queue.enqueue(source.dequeue())])
    coord = tf.train.Coordinator()
    threads = runner.create_threads(session, coord, daemon=True, start=True)
    begun.wait()
    coord.request_stop()
    coord.join(threads, stop_grace_period_secs=0, ignore_live_threads=True)
    session.close()
    for thread in threads:
        thread.join()
    assert raised == []


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_error_without_a_coordinator_is_kept(session: tf.Session) -> None:
    queue = tf.FIFOQueue(3, [tf.float32])
    runner = tf.train.QueueRunner(queue, [queue.enqueue(tf.placeholder(tf.float32, []))])
    (thread,) = runner.create_threads(session, start=True)
    thread.join()
    assert [type(error) for error in runner.exceptions_raised] == [tf.errors.InvalidArgumentError]


def test_all_runners_of_a_graph_start(session: tf.Session) -> None:
    queue, runner = _counting()
    tf.train.add_queue_runner(runner)
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(coord=coord)
    assert len(threads) == 2
    assert all(thread.daemon for thread in threads)
    assert int(queue.dequeue().eval()) == 1
    coord.request_stop()
    coord.join(threads)
    assert tf.train.start_queue_runners(session, collection="none") == []


def test_starting_without_a_session_is_refused() -> None:
    with pytest.raises(TypeError, match=r"must be a .tf\.Session. object"):
        tf.train.start_queue_runners(sess="no session")


def test_a_runner_survives_a_meta_graph() -> None:
    _, runner = _counting()
    tf.train.add_queue_runner(runner)
    message = tf.train.export_meta_graph()
    with tf.Graph().as_default(), tf.Session() as running:
        tf.train.import_meta_graph(message, import_scope="again")
        (same,) = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
        assert same.name == "again/numbers"
        assert same.queue_closed_exception_types == (tf.errors.OutOfRangeError,)
        running.run(tf.global_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(running, coord)
        graph = tf.get_default_graph()
        taken = tf.FIFOQueue(3, [tf.int32], shapes=[()], shared_name="again/numbers").dequeue()
        assert graph.get_operation_by_name("again/put") is not None
        assert int(running.run(taken)) == 1
        coord.request_stop()
        coord.join(threads)


def test_a_definition_names_what_is_in_a_scope() -> None:
    with tf.name_scope("inner"):
        _, runner = _counting()
    definition = runner.to_proto("inner")
    assert definition.queue_name == "numbers"
    assert list(definition.enqueue_op_name) == ["put"]
    assert definition.cancel_op_name.startswith("numbers_Close")
    assert list(definition.queue_closed_exception_types) == [tf.errors.OUT_OF_RANGE]
    assert runner.to_proto("other") is None
    assert runner.to_proto().queue_name == "inner/numbers"


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, ValueError, "Must provide queue and enqueue_ops"),
        ({"queue_runner_def": object(), "enqueue_ops": [1]}, ValueError, "mutually exclusive"),
        (
            {"queue_closed_exception_types": (KeyError,)},
            TypeError,
            "must be a tuple of tf.error types",
        ),
    ],
)
def test_a_runner_that_contradicts_itself_is_refused(
    arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    if "queue_closed_exception_types" in arguments:
        queue = tf.FIFOQueue(1, tf.float32)
        arguments = {**arguments, "queue": queue, "enqueue_ops": [queue.enqueue(1.0)]}
    with pytest.raises(error, match=message):
        tf.train.QueueRunner(**arguments)
