"""The small hooks: when they ask for what, and what they do with it."""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import millstream as tf


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    """A graph of its own for each test."""
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture
def count() -> Any:
    """An operation that counts a step."""
    return tf.train.get_or_create_global_step().assign_add(1)


def _run(count: Any, hooks: list[Any], steps: int = 1000) -> list[int]:
    """The steps of a session with hooks, until it stops."""
    seen: list[int] = []
    with tf.train.MonitoredSession(hooks=hooks) as session:
        while not session.should_stop() and len(seen) < steps:
            seen.append(int(session.run(count)))
    return seen


def _events(folder: Path) -> list[Any]:
    tf.summary.FileWriterCache.clear()
    (name,) = [name for name in os.listdir(folder) if "tfevents" in name]
    return list(tf.train.summary_iterator(str(folder / name)))


# ---- Steps ----


def test_stop_after_a_number_of_steps_and_at_a_step(count: Any) -> None:
    assert _run(count, [tf.train.StopAtStepHook(num_steps=3)]) == [1, 2, 3]
    assert _run(count, [tf.train.StopAtStepHook(last_step=2)]) == [1, 2]


def test_a_step_that_counts_nothing_does_not_stop(graph: tf.Graph) -> None:
    step = tf.train.get_or_create_global_step()
    assert _run(step, [tf.train.StopAtStepHook(last_step=1)], steps=5) == [0] * 5


def test_a_step_that_counts_several_stops_beyond() -> None:
    count = tf.train.get_or_create_global_step().assign_add(4)
    assert _run(count, [tf.train.StopAtStepHook(last_step=6)]) == [4, 8]


def test_stop_takes_one_of_both() -> None:
    with pytest.raises(ValueError, match="One of num_steps or last_step must be specified"):
        tf.train.StopAtStepHook()
    with pytest.raises(ValueError, match="Only one of num_steps or last_step can be specified"):
        tf.train.StopAtStepHook(1, 1)


@pytest.mark.parametrize(
    "make",
    [
        lambda: tf.train.StopAtStepHook(last_step=1),
        lambda: tf.train.StepCounterHook(),
        lambda: tf.train.GlobalStepWaiterHook(1),
        lambda: tf.train.SummarySaverHook(1, summary_op=tf.constant("")),
    ],
)
def test_without_a_global_step_hooks_say_what_they_need(make: Any) -> None:
    with pytest.raises(RuntimeError, match="Global step should be created to use"):
        tf.train.MonitoredSession(hooks=[make()])


def test_all_hooks_share_one_read_of_the_global_step(graph: tf.Graph, count: Any) -> None:
    hooks = [tf.train.StopAtStepHook(last_step=1), tf.train.StepCounterHook()]
    _run(count, hooks)
    (read,) = graph.get_collection("global_step_read_op_cache")
    assert read.name == "global_step/add:0"


def test_the_first_step_waits_for_the_global_step(count: Any) -> None:
    class Others(tf.train.SessionRunHook):
        def after_create_session(self, session: Any, coord: Any) -> None:
            def work() -> None:
                for _ in range(5):
                    session.run(count)

            coord.register_thread(thread := threading.Thread(target=work))
            thread.start()

    assert _run(count, [Others(), tf.train.GlobalStepWaiterHook(5)], 2) == [6, 7]


def test_speed_is_measured(tmp_path: Path, count: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "millstream")
    hook = tf.train.StepCounterHook(every_n_steps=5, output_dir=str(tmp_path))
    _run(count, [hook], 13)
    values = [(event.step, event.summary.value[0]) for event in _events(tmp_path)[1:]]
    assert [(step, value.tag) for step, value in values] == [
        (6, "global_step/sec"),
        (11, "global_step/sec"),
    ]
    assert all(value.simple_value > 0 for _, value in values)
    assert "global_step/sec: " in caplog.text


def test_a_global_step_that_does_not_count_is_told(
    graph: tf.Graph, caplog: pytest.LogCaptureFixture
) -> None:
    step = tf.train.get_or_create_global_step()
    _run(step, [tf.train.StepCounterHook()], 20)
    told = [each for each in caplog.messages if "has not been increased" in each]
    assert len(told) == 5


def test_speed_takes_steps_or_seconds() -> None:
    for arguments in ((None, None), (5, 5)):
        with pytest.raises(ValueError, match="exactly one of every_n_steps and every_n_secs"):
            tf.train.StepCounterHook(*arguments)


def test_a_variable_of_that_name_is_the_global_step() -> None:
    step = tf.Variable(0, name="global_step", trainable=False)
    loss = tf.square(tf.Variable(3.0))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(
        loss, global_step=tf.train.get_or_create_global_step()
    )
    assert tf.train.get_global_step() is step
    with tf.train.MonitoredSession(hooks=[tf.train.StopAtStepHook(last_step=2)]) as session:
        while not session.should_stop():
            session.run(train)
        assert tf.train.global_step(session._tf_sess(), step) == 2


# ---- Values ----


def test_nan_stops_with_an_error_or_without(count: Any) -> None:
    x = tf.placeholder_with_default(1.0, [])
    for is_error in (True, False):
        with tf.train.MonitoredSession(hooks=[tf.train.NanTensorHook(x, is_error)]) as session:
            session.run(count)
            assert not session.should_stop()
            if is_error:
                with pytest.raises(tf.train.NanLossDuringTrainingError, match="NaN loss"):
                    session.run(count, {x: np.nan})
            else:
                session.run(count, {x: np.nan})
                assert session.should_stop()


def test_feeds_of_a_function_join_those_of_the_program(count: Any) -> None:
    x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    total = x + y
    values = iter([1.0, 2.0])
    hook = tf.train.FeedFnHook(lambda: {x: next(values)})
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        assert [session.run(total, {y: 10.0}) for _ in range(2)] == [11.0, 12.0]


def test_final_ops_are_run_at_the_end(graph: tf.Graph) -> None:
    v, x = tf.Variable(1.0), tf.placeholder(tf.float32)
    assign = v.assign(5.0)
    hook = tf.train.FinalOpsHook({"sum": v + x}, {x: 2.0})
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        assert hook.final_ops_values is None
        session.run(assign)
    assert hook.final_ops_values == {"sum": 7.0}


def test_final_ops_at_the_end_of_the_input_fail(caplog: pytest.LogCaptureFixture) -> None:
    queue = tf.FIFOQueue(1, tf.float32)
    close, element = queue.close(), queue.dequeue()
    hook = tf.train.FinalOpsHook(element)
    with (
        pytest.raises(tf.errors.OutOfRangeError),
        tf.train.MonitoredSession(hooks=[hook]) as session,
    ):
        session.run(close)
    assert "FinalOpsHook" in caplog.text


# ---- Logs ----


def _logged(caplog: pytest.LogCaptureFixture, hook: Any, steps: int) -> list[str]:
    caplog.set_level(logging.INFO, "millstream")
    x = tf.placeholder_with_default(2.0, [], name="x")
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        caplog.clear()
        for _ in range(steps):
            session.run(x)
    return [each.partition(" (")[0] for each in caplog.messages]


def test_tensors_are_logged_every_so_many_steps(caplog: pytest.LogCaptureFixture) -> None:
    one = tf.constant(1.0, name="one")
    hook = tf.train.LoggingTensorHook({"b": "x", "a": one}, every_n_iter=2)
    assert _logged(caplog, hook, 5) == ["a = 1.0, b = 2.0"] * 3


def test_tensors_are_logged_at_the_end(caplog: pytest.LogCaptureFixture) -> None:
    hook = tf.train.LoggingTensorHook(["x"], at_end=True, formatter=lambda values: f"{values}")
    (text,) = _logged(caplog, hook, 3)
    assert text.startswith("{'x': ")


def test_tensors_are_logged_by_seconds(caplog: pytest.LogCaptureFixture) -> None:
    assert _logged(caplog, tf.train.LoggingTensorHook(["x:0"], every_n_secs=1000), 3) == [
        "x:0 = 2.0"
    ]


def test_logging_needs_a_time() -> None:
    several: list[dict[str, Any]] = [{}, {"every_n_iter": 1, "every_n_secs": 1}]
    for arguments in several:
        with pytest.raises(ValueError, match="exactly one of every_n_iter and every_n_secs"):
            tf.train.LoggingTensorHook(["x"], **arguments)
    with pytest.raises(ValueError, match="invalid every_n_iter=0"):
        tf.train.LoggingTensorHook(["x"], every_n_iter=0)


def test_logging_names_what_is_not_there(graph: tf.Graph) -> None:
    with tf.Graph().as_default():
        other = tf.constant(1.0)
    tf.unique([1, 1], name="several")
    for tensor, message in (
        (other, "should have graph attribute that is equal to current graph"),
        ("several", "Name several is ambiguous"),
    ):
        with pytest.raises(ValueError, match=message):
            tf.train.MonitoredSession(hooks=[tf.train.LoggingTensorHook([tensor], 1)])
    with pytest.raises(KeyError, match="nothing"):
        tf.train.MonitoredSession(hooks=[tf.train.LoggingTensorHook(["nothing"], 1)])


# ---- Files ----


def test_summaries_are_written_every_so_many_steps(tmp_path: Path, count: Any) -> None:
    loss = tf.summary.scalar("loss", tf.to_float(tf.train.get_global_step()))
    hook = tf.train.SummarySaverHook(save_steps=3, output_dir=str(tmp_path), summary_op=loss)
    _run(count, [hook], 8)
    events = _events(tmp_path)
    assert events[1].session_log.status == tf.SessionLog.START
    assert events[1].step == 1
    assert [event.step for event in events[2:]] == [1, 4, 7]
    assert [event.summary.value[0].tag for event in events[2:]] == ["loss"] * 3


def test_several_summaries_are_written(tmp_path: Path, count: Any) -> None:
    both = [tf.summary.scalar("a", 1.0), tf.summary.scalar("b", 2.0)]
    with tf.summary.FileWriter(str(tmp_path)) as writer:
        hook = tf.train.SummarySaverHook(save_secs=1000, summary_writer=writer, summary_op=both)
        _run(count, [hook], 3)
    tags = [event.summary.value[0].tag for event in _events(tmp_path)[2:]]
    assert tags == ["a", "b"]


def test_a_graph_without_summaries_is_fine(tmp_path: Path, count: Any) -> None:
    hook = tf.train.SummarySaverHook(1, output_dir=str(tmp_path), scaffold=tf.train.Scaffold())
    with tf.train.MonitoredSession(tf.train.ChiefSessionCreator(), [hook]) as session:
        session.run(count)
    assert [event.step for event in _events(tmp_path)[1:]] == [1]


def test_summaries_come_from_one_place() -> None:
    summary = tf.constant("")
    several: list[dict[str, Any]] = [{}, {"scaffold": tf.train.Scaffold(), "summary_op": summary}]
    for arguments in several:
        with pytest.raises(ValueError, match="Exactly one of scaffold or summary_op"):
            tf.train.SummarySaverHook(1, **arguments)


def test_steps_are_traced(tmp_path: Path, count: Any) -> None:
    hook = tf.train.ProfilerHook(save_steps=2, output_dir=str(tmp_path))
    _run(count, [hook], 5)
    names = sorted(name for name in os.listdir(tmp_path) if name.startswith("timeline"))
    assert names == ["timeline-2.json", "timeline-4.json"]
    trace = json.loads((tmp_path / names[0]).read_text())
    assert any("AssignAdd" in event["name"] for event in trace["traceEvents"])
    tags = [event.tagged_run_metadata.tag for event in _events(tmp_path)[1:]]
    assert tags == ["step_2", "step_4"]
