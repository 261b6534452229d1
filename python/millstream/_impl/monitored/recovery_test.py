"""Sessions that are lost are made again, and restored from the last checkpoint."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import millstream as tf

_LOST = [
    tf.errors.AbortedError(None, None, "lost"),
    tf.errors.UnavailableError(None, None, "away"),
]


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    """A graph of its own for each test."""
    with tf.Graph().as_default() as graph:
        yield graph


class Acting(tf.train.SessionRunHook):
    """Does what a test wants for each session, and before and after each step."""

    def __init__(self, **actions: Any) -> None:
        self._actions = actions
        self.calls: list[str] = []

    def _do(self, what: str, *arguments: Any) -> None:
        self.calls.append(what)
        if what in self._actions:
            self._actions[what](*arguments)

    def begin(self) -> None:
        self._do("begin")

    def after_create_session(self, session: Any, coord: Any) -> None:
        self._do("create", session, coord)

    def before_run(self, run_context: Any) -> None:
        self._do("before", run_context)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self._do("after", run_context, run_values)

    def end(self, session: Any) -> None:
        self._do("end")


class Failing:
    """An action of a hook that raises errors, one a call, and then no more."""

    def __init__(self, *errors: Exception | None) -> None:
        self._errors = list(errors)

    def __call__(self, *arguments: Any) -> None:
        error = self._errors.pop(0) if self._errors else None
        if error is not None:
            raise error


@pytest.mark.parametrize("error", _LOST)
@pytest.mark.parametrize("place", ["create", "before", "after"])
def test_a_step_is_run_again_in_a_new_session(error: Exception, place: str) -> None:
    v = tf.Variable(1.0)
    add = v.assign_add(1.0)
    hook = Acting(**{place: Failing(error)})
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        assert session.run(add) == 2.0
        assert session.run(add) == 3.0
    assert hook.calls.count("begin") == 1
    assert hook.calls.count("create") == 2
    assert hook.calls[-1] == "end"


@pytest.mark.parametrize("place", ["create", "before"])
def test_sessions_that_are_lost_one_after_another_are_made_with_longer_and_longer_pauses(
    place: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("millstream._impl.monitored.recovery.time.sleep", pauses.append)
    caplog.set_level(logging.WARNING, "millstream")
    x = tf.constant(1.0)
    errors = [tf.errors.UnavailableError(None, None, f"away {i}") for i in range(9)]
    with tf.train.MonitoredSession(hooks=[Acting(**{place: Failing(*errors)})]) as session:
        assert session.run(x) == 1.0
    assert pauses == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]
    told = [text for text in caplog.messages if "Error: " in text]
    assert [f"away {i}" in text for i, text in enumerate(told)] == [True] * 9


def test_steps_that_end_begin_the_pauses_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("millstream._impl.monitored.recovery.time.sleep", pauses.append)
    x = tf.constant(1.0)
    hook = Acting(before=Failing(_LOST[0], _LOST[1], None, _LOST[0], None))
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        for _ in range(2):
            assert session.run(x) == 1.0
    assert pauses == [0.1]


def test_a_new_session_begins_at_the_last_checkpoint(tmp_path: Path) -> None:
    count = tf.train.get_or_create_global_step().assign_add(1)
    hook = Acting(after=Failing(*[None] * 4, _LOST[0]))
    seen = []
    with tf.train.MonitoredTrainingSession(
        checkpoint_dir=str(tmp_path),
        hooks=[hook, tf.train.StopAtStepHook(num_steps=6)],
        save_checkpoint_steps=2,
    ) as session:
        while not session.should_stop():
            seen.append(int(session.run(count)))
    # The step that gives 5 is lost. Its session had saved 4, from where the next one goes on.
    assert seen == [1, 2, 3, 4, 5, 6]
    assert hook.calls.count("create") == 2
    assert {"model.ckpt-4.index", "model.ckpt-6.index"} <= set(os.listdir(tmp_path))


def test_steps_since_the_last_checkpoint_are_run_again(tmp_path: Path) -> None:
    count = tf.train.get_or_create_global_step().assign_add(1)
    seen = []
    with tf.train.MonitoredTrainingSession(
        checkpoint_dir=str(tmp_path),
        hooks=[Acting(before=Failing(*[None] * 3, _LOST[1]))],
        save_checkpoint_steps=100,
    ) as session:
        for _ in range(5):
            seen.append(int(session.run(count)))
    assert seen == [1, 2, 3, 1, 2]


def test_a_function_is_called_again_with_the_new_session() -> None:
    v = tf.Variable(1.0)
    add = v.assign_add(1.0)
    sessions = []

    def step_fn(step_context: Any) -> Any:
        sessions.append(step_context.session)
        value = step_context.session.run(add)
        if len(sessions) == 1:
            raise _LOST[0]
        return value

    with tf.train.MonitoredSession() as session:
        assert session.run_step_fn(step_fn) == 2.0
    assert sessions[0] is not sessions[1]


def test_a_lost_thread_is_a_lost_session() -> None:
    coords: list[Any] = []
    x = tf.constant(1.0)
    hook = Acting(create=lambda session, coord: coords.append(coord))
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        coords[0].request_stop(_LOST[0])
        assert not session.should_stop()
        assert len(coords) == 2
        assert session.run(x) == 1.0


def test_a_step_that_fails_because_a_thread_was_lost_is_run_again() -> None:
    coords: list[Any] = []
    x = tf.constant(1.0)

    def before(context: Any) -> None:
        if len(coords) == 1:
            coords[0].request_stop(_LOST[0])
            raise ValueError("a consequence")

    hooks = [Acting(create=lambda session, coord: coords.append(coord), before=before)]
    with tf.train.MonitoredSession(hooks=hooks) as session:
        assert session.run(x) == 1.0
    assert len(coords) == 2


def test_another_error_of_a_thread_does_not_hide_that_of_the_step() -> None:
    def before(context: Any) -> None:
        coords[0].request_stop(KeyError("of the thread"))
        raise ValueError("of the step")

    coords: list[Any] = []
    x = tf.constant(1.0)
    hooks = [Acting(create=lambda session, coord: coords.append(coord), before=before)]
    session = tf.train.MonitoredSession(hooks=hooks)
    with pytest.raises(ValueError, match="of the step"):
        session.run(x)
    assert session.should_stop()
    with pytest.raises(KeyError, match="of the thread"):
        session.close()


def test_a_singular_session_is_not_made_again() -> None:
    x = tf.constant(1.0)
    hook = Acting(before=Failing(_LOST[0]))
    with (
        pytest.raises(tf.errors.AbortedError, match="lost"),
        tf.train.SingularMonitoredSession(hooks=[hook]) as session,
    ):
        session.run(x)


def test_a_session_recovers_outside_of_the_block_of_its_graph(tmp_path: Path) -> None:
    with tf.Graph().as_default():
        count = tf.train.get_or_create_global_step().assign_add(1)
        session = tf.train.MonitoredTrainingSession(
            checkpoint_dir=str(tmp_path), hooks=[Acting(after=Failing(_LOST[0]))]
        )
    assert session.run(count) == 1
    session.close()
    assert not tf.get_default_graph().finalized
    assert int(tf.train.load_variable(str(tmp_path), "global_step")) == 1


def test_queue_runners_are_started_again() -> None:
    queue = tf.FIFOQueue(4, tf.int32)
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(7)]))
    element = queue.dequeue()
    hook = Acting(after=Failing(None, _LOST[0]))
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        assert [int(session.run(element)) for _ in range(3)] == [7, 7, 7]
