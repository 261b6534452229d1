"""Supervisors: sessions with threads that save."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import millstream as tf

_HANG_GUARD_SECONDS = 300


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    """A graph of its own for each test."""
    with tf.Graph().as_default() as graph:
        yield graph


def _events(folder: Path) -> list[Any]:
    names = sorted(name for name in os.listdir(folder) if "tfevents" in name)
    return [event for name in names for event in tf.train.summary_iterator(str(folder / name))]


class Telling(tf.summary.FileWriter):
    """A writer that lets a test wait for what is written."""

    def __init__(self, folder: Path) -> None:
        super().__init__(str(folder))
        self._written = {text: threading.Event() for text in ("loss", "sec", "checkpoint")}

    def wait(self) -> None:
        for text, event in self._written.items():
            assert event.wait(_HANG_GUARD_SECONDS), text

    def add_summary(self, summary: Any, global_step: Any = None) -> None:
        super().add_summary(summary, global_step)
        self._written["loss" if "loss" in str(summary) else "sec"].set()

    def add_session_log(self, session_log: Any, global_step: Any = None) -> None:
        super().add_session_log(session_log, global_step)
        if session_log.status == tf.SessionLog.CHECKPOINT:
            self._written["checkpoint"].set()


def test_it_saves_and_goes_on(tmp_path: Path) -> None:
    seen = []
    for _ in range(2):
        with tf.Graph().as_default():
            count = tf.train.get_or_create_global_step().assign_add(1)
            supervisor = tf.train.Supervisor(logdir=str(tmp_path), save_model_secs=0)
            with supervisor.managed_session() as session:
                seen.append(int(session.run(count)))
                supervisor.saver.save(session, supervisor.save_path, supervisor.global_step)
    assert seen == [1, 2]
    assert tf.train.latest_checkpoint(str(tmp_path)) == str(tmp_path / "model.ckpt-2")
    assert (tmp_path / "graph.pbtxt").exists()


def test_its_threads_write_summaries_speed_and_checkpoints(tmp_path: Path) -> None:
    count = tf.train.get_or_create_global_step().assign_add(1)
    tf.summary.scalar("loss", 0.5)
    writer = Telling(tmp_path)
    supervisor = tf.train.Supervisor(
        logdir=str(tmp_path),
        save_summaries_secs=0.01,
        save_model_secs=0.01,
        summary_writer=writer,
    )
    with supervisor.managed_session() as session:
        session.run(count)
        writer.wait()
    events = _events(tmp_path)
    assert tf.train.latest_checkpoint(str(tmp_path)) is not None
    assert {"loss", "global_step/sec"} <= {v.tag for e in events for v in e.summary.value}
    statuses = [e.session_log.status for e in events if e.WhichOneof("what") == "session_log"]
    assert statuses[0] == tf.SessionLog.START
    assert tf.SessionLog.CHECKPOINT in statuses
    assert statuses[-1] == tf.SessionLog.STOP
    assert sum(event.WhichOneof("what") == "graph_def" for event in events) == 1


def test_the_pieces_of_the_graph_are_used(graph: tf.Graph) -> None:
    v = tf.Variable(1.0)
    init = v.assign(4.0).op
    graph.add_to_collection(tf.GraphKeys.INIT_OP, init)
    step = tf.Variable(0, name="global_step", trainable=False)
    supervisor = tf.train.Supervisor(init_op=tf.group(init, step.initializer))
    assert supervisor.global_step.name == "global_step:0"
    assert supervisor.summary_op is None
    assert supervisor.summary_writer is None
    assert graph.finalized
    with supervisor.managed_session() as session:
        assert session.run(v) == 4.0


def test_errors_of_the_block_and_of_threads_are_raised_after_it() -> None:
    supervisor = tf.train.Supervisor()
    with pytest.raises(KeyError, match="block"), supervisor.managed_session():
        raise KeyError("block")
    supervisor = tf.train.Supervisor()
    with supervisor.managed_session():
        raise tf.errors.OutOfRangeError(None, None, "the end of the input")

    def fail() -> None:
        raise ValueError("thread")

    with pytest.raises(ValueError, match="thread"), supervisor.managed_session():
        supervisor.loop(None, fail).join()


def test_queue_runners_are_started_and_stopped() -> None:
    queue = tf.FIFOQueue(4, tf.int32)
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(7)]))
    element = queue.dequeue()
    supervisor = tf.train.Supervisor()
    with supervisor.managed_session() as session:
        assert session.run(element) == 7
    assert [each for each in threading.enumerate() if "QueueRunner" in each.name] == []


def test_a_program_writes_its_own_summaries(tmp_path: Path) -> None:
    count = tf.train.get_or_create_global_step().assign_add(1)
    loss = tf.summary.scalar("loss", 0.5)
    supervisor = tf.train.Supervisor(logdir=str(tmp_path), summary_op=None)
    with supervisor.managed_session() as session:
        supervisor.SummaryComputed(session, session.run([loss, count])[0])
        supervisor.summary_computed(session, session.run(loss), global_step=9)
    steps = [event.step for event in _events(tmp_path) if "loss" in str(event.summary)]
    assert steps == [1, 9]
    with tf.Graph().as_default():
        other = tf.train.Supervisor()
        with pytest.raises(RuntimeError, match="requires a summary writer"):
            other.summary_computed(None, b"")


def test_one_that_is_no_chief_writes_nothing(graph: tf.Graph, tmp_path: Path) -> None:
    supervisor = tf.train.Supervisor(is_chief=False, logdir=str(tmp_path))
    assert (supervisor.save_path, supervisor.save_model_secs) == (None, None)
    with (
        pytest.raises(RuntimeError, match="Only chief supervisor can start standard"),
        supervisor.managed_session() as session,
    ):
        supervisor.start_standard_services(session)
    assert os.listdir(tmp_path) == []
    with tf.Graph().as_default():
        tf.Variable(1.0, name="v")
        with pytest.raises(ValueError, match="must have their device set: 'v'"):
            tf.train.Supervisor(is_chief=False)


def test_a_loop_is_begun_again_when_its_session_is_lost(tmp_path: Path) -> None:
    count = tf.train.get_or_create_global_step().assign_add(1)
    supervisor = tf.train.Supervisor(logdir=str(tmp_path), save_model_secs=0)
    seen: list[int] = []

    def train(session: Any, last: int, name: str) -> None:
        assert name == "x"
        seen.append(int(session.run(count)))
        if len(seen) == 3:
            raise tf.errors.AbortedError(None, None, "lost")
        if seen[-1] == 2:
            supervisor.saver.save(session, supervisor.save_path, 2)
        if seen[-1] == last:
            supervisor.request_stop()

    tf.train.basic_train_loop(supervisor, train, (4,), {"name": "x"})
    assert seen == [1, 2, 3, 3, 4]
