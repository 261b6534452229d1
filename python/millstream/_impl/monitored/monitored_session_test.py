"""Monitored sessions: what is called when, what stops them, and how they end."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import millstream as tf


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    """A graph of its own for each test."""
    with tf.Graph().as_default() as graph:
        yield graph


class Recorder(tf.train.SessionRunHook):
    """Notes its calls, and does in one of them what a test wants."""

    def __init__(self, calls: list[str], name: str = "", **actions: Any) -> None:
        self._calls = calls
        self._name = name
        self._actions = actions

    def _do(self, what: str, *arguments: Any) -> Any:
        self._calls.append(f"{what} {self._name}".strip())
        action = self._actions.get(what)
        return None if action is None else action(*arguments)

    def begin(self) -> None:
        self._do("begin")

    def after_create_session(self, session: Any, coord: Any) -> None:
        self._do("create", session, coord)

    def before_run(self, run_context: Any) -> Any:
        return self._do("before", run_context)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self._do("after", run_context, run_values)

    def end(self, session: Any) -> None:
        self._do("end", session)


def _raise(error: BaseException) -> Any:
    def action(*arguments: Any) -> None:
        raise error

    return action


# ---- Calls ----


@pytest.mark.parametrize("kind", [tf.train.MonitoredSession, tf.train.SingularMonitoredSession])
def test_hooks_are_called_in_their_order(kind: Any) -> None:
    calls: list[str] = []
    x = tf.constant(2.0)
    with kind(hooks=[Recorder(calls, "a"), Recorder(calls, "b")]) as session:
        assert session.run(x) == 2.0
        assert session.run(x) == 2.0
    around = ["before a", "before b", "after a", "after b"]
    begun = ["begin a", "begin b", "create a", "create b"]
    assert calls == [*begun, *around, *around, "end a", "end b"]


def test_a_hook_gets_what_it_asks_for(graph: tf.Graph) -> None:
    x = tf.placeholder(tf.float32)
    y = x * 2.0
    seen: list[Any] = []

    def before(context: Any) -> Any:
        seen.append(context.original_args)
        assert context.session is session.raw_session()
        return tf.train.SessionRunArgs({"twice": [y, x]})

    hooks = [
        Recorder([], before=before, after=lambda context, values: seen.append(values)),
        Recorder([], after=lambda context, values: seen.append(values.results)),
    ]
    with tf.train.SingularMonitoredSession(hooks=hooks) as session:
        assert session.run({"y": y}, {x: 3.0}) == {"y": 6.0}
    assert seen[0] == tf.train.SessionRunArgs({"y": y}, {x: 3.0})
    assert seen[1].results == {"twice": [6.0, 3.0]}
    assert isinstance(seen[1].options, tf.RunOptions)
    assert isinstance(seen[1].run_metadata, tf.RunMetadata)
    assert seen[2] is None


def test_hooks_feed_with_the_program_and_not_twice(graph: tf.Graph) -> None:
    x, y = tf.placeholder(tf.float32, name="x"), tf.placeholder(tf.float32)
    total = x + y

    def feeding(feeds: Any) -> Any:
        return Recorder([], before=lambda context: tf.train.SessionRunArgs(None, feeds))

    with tf.train.MonitoredSession(hooks=[feeding({x: 1.0}), feeding({y: 2.0})]) as session:
        assert session.run(total) == 3.0
        with pytest.raises(RuntimeError, match=r"fed by a SessionRunHook and user\. .*'x:0'"):
            session.run(total, {x: 5.0})
    with (
        tf.train.MonitoredSession(hooks=[feeding({x: 1.0}), feeding({x: 2.0})]) as session,
        pytest.raises(RuntimeError, match="Same tensor is fed by two hooks"),
    ):
        session.run(total, {y: 1.0})


def test_options_of_hooks_and_program_are_merged(graph: tf.Graph) -> None:
    x = tf.add(1.0, 2.0, name="sum")
    traced = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    seen: list[Any] = []
    hooks = [
        Recorder([], before=lambda context: tf.train.SessionRunArgs(None, options=traced)),
        Recorder([], after=lambda context, values: seen.append(values)),
    ]
    own, metadata = tf.RunOptions(timeout_in_ms=60_000), tf.RunMetadata()
    with tf.train.MonitoredSession(hooks=hooks) as session:
        session.run(x, options=own, run_metadata=metadata)
    (values,) = seen
    assert values.options.timeout_in_ms == 60_000
    assert values.options.trace_level == tf.RunOptions.FULL_TRACE
    assert own.trace_level == tf.RunOptions.NO_TRACE
    assert values.run_metadata is metadata
    assert metadata.step_stats.dev_stats


def test_the_graph_is_finalized_while_the_session_is_open(graph: tf.Graph) -> None:
    with tf.train.MonitoredSession() as session:
        assert graph.finalized
        assert session.graph is graph
        assert tf.get_default_session() is None
        with pytest.raises(RuntimeError, match="finalized"):
            tf.constant(1.0)
    assert not graph.finalized
    assert session.graph is None
    graph.finalize()
    # What a session adds is there from the first one.
    tf.train.MonitoredSession().close()
    assert graph.finalized


def test_hooks_change_the_graph_as_they_begin(graph: tf.Graph) -> None:
    made: list[Any] = []
    hook = Recorder([], begin=lambda: made.append(tf.get_variable("v", initializer=3.0)))
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        assert session.run(made[0]) == 3.0


# ---- Stopping ----


def test_a_hook_stops_the_session() -> None:
    x = tf.constant(1.0)
    hook = Recorder([], after=lambda context, values: context.request_stop())
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        assert not session.should_stop()
        session.run(x)
        assert session.should_stop()
        with pytest.raises(RuntimeError, match="Run called even after should_stop requested"):
            session.run(x)


def test_a_thread_stops_the_session() -> None:
    x = tf.constant(1.0)
    coords: list[Any] = []
    hook = Recorder([], create=lambda session, coord: coords.append(coord))
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        coords[0].request_stop()
        assert session.should_stop()
        assert session.run(x) == 1.0
    assert coords[0].joined


@pytest.mark.parametrize("error", [tf.errors.OutOfRangeError(None, None, "end"), StopIteration()])
def test_ends_of_input_are_good_ends(error: Exception) -> None:
    calls: list[str] = []
    with tf.train.MonitoredSession(hooks=[Recorder(calls)]) as session:
        raise error
    assert calls[-1] == "end"
    assert session.should_stop()


@pytest.mark.parametrize("error", [ValueError("x"), KeyboardInterrupt(), SystemExit(3)])
def test_after_an_error_hooks_do_not_end(error: BaseException) -> None:
    calls: list[str] = []
    with (
        pytest.raises(type(error)),
        tf.train.MonitoredSession(hooks=[Recorder(calls)]) as session,
    ):
        raise error
    assert "end" not in calls
    assert session.graph is None


@pytest.mark.parametrize("place", ["begin", "create", "before", "after", "end"])
def test_an_error_of_a_hook_reaches_the_program(graph: tf.Graph, place: str) -> None:
    x = tf.constant(1.0)
    hook = Recorder([], **{place: _raise(KeyError(place))})
    with pytest.raises(KeyError, match=place), tf.train.MonitoredSession(hooks=[hook]) as session:
        session.run(x)
    assert not graph.finalized


@pytest.mark.parametrize("place", ["before", "after"])
def test_a_hook_ends_the_block_by_stop_iteration(place: str) -> None:
    calls: list[str] = []
    x = tf.constant(1.0)
    hook = Recorder(calls, **{place: _raise(StopIteration())})
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        session.run(x)
        calls.append("not reached")
    assert calls[-1] == "end"


def test_it_is_closed_once() -> None:
    calls: list[str] = []
    x = tf.constant(1.0)
    session = tf.train.MonitoredSession(hooks=[Recorder(calls)])
    session.close()
    assert calls[-1] == "end"
    assert session.should_stop()
    with pytest.raises(RuntimeError, match="Session is already closed"):
        session.close()
    with pytest.raises(RuntimeError, match="Session is already closed"):
        session.run(x)
    with pytest.raises(RuntimeError, match="already closed"), tf.train.MonitoredSession() as other:
        other.close()


def test_one_session_may_be_open_within_another(graph: tf.Graph) -> None:
    v = tf.Variable(1.0)
    add = v.assign_add(1.0)
    with tf.train.MonitoredSession() as outer:
        outer.run(add)
        with tf.train.MonitoredSession() as inner:
            assert inner.run(v) == 1.0
        assert graph.finalized
        assert outer.run(v) == 2.0
    assert not graph.finalized


@pytest.mark.parametrize("kind", [tf.train.MonitoredSession, tf.train.SingularMonitoredSession])
def test_programs_find_the_session_within(kind: Any) -> None:
    v = tf.Variable(1.0)
    with kind() as session:
        inner: Any = session
        while type(inner) is not tf.Session:
            inner = inner._sess
        assert inner is session._tf_sess()
        assert v.eval(session=session) == 1.0
        assert tf.train.global_step(session, v) == 1
    assert session._tf_sess() is None


def test_several_threads_may_run_steps(tmp_path: Path) -> None:
    count = tf.train.get_or_create_global_step().assign_add(1)
    hooks = [tf.train.LoggingTensorHook([count], every_n_iter=3)]
    failures: list[BaseException] = []

    with tf.train.MonitoredTrainingSession(
        checkpoint_dir=str(tmp_path), hooks=hooks, save_checkpoint_steps=10
    ) as session:

        def work() -> None:
            try:
                for _ in range(20):
                    session.run(count)
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failures == []
    assert tf.train.load_variable(str(tmp_path), "global_step") == 80


# ---- Functions that run steps ----


def test_a_function_runs_steps_with_and_without_hooks() -> None:
    calls: list[str] = []
    v = tf.Variable(1.0)
    add = v.assign_add(1.0)

    def step_fn(step_context: Any) -> Any:
        step_context.session.run(add)
        calls.append("without")
        return step_context.run_with_hooks(fetches=v)

    with tf.train.MonitoredSession(hooks=[Recorder(calls)]) as session:
        assert session.run_step_fn(step_fn) == 2.0
    assert calls == ["begin", "create", "without", "before", "after", "end"]


def test_a_function_ends_the_block() -> None:
    calls: list[str] = []
    with tf.train.MonitoredSession(hooks=[Recorder(calls)]) as session:
        while not session.should_stop():
            session.run_step_fn(lambda step_context: step_context.request_stop())
    assert calls == ["begin", "create", "end"]
    with tf.train.SingularMonitoredSession() as session:
        with pytest.raises(StopIteration, match="step_fn has requested"):
            session.run_step_fn(lambda step_context: step_context.request_stop())
        assert not session.should_stop()


def test_functions_have_one_argument_of_that_name() -> None:
    class Steps:
        def method(self, step_context: Any) -> int:
            return 1

        def __call__(self, step_context: Any) -> int:
            return 2

        def wrong(self, step_context: Any, more: Any) -> int:
            return 3

    partial = functools.partial(lambda step_context, number: number, number=4)
    with tf.train.MonitoredSession() as session:
        good = [Steps().method, Steps(), partial]
        assert [session.run_step_fn(each) for each in good] == [1, 2, 4]
        for bad in (Steps().wrong, lambda: 5, lambda context: 6):
            with pytest.raises(ValueError, match="`step_fn` may either have one `step_context`"):
                session.run_step_fn(bad)


# ---- Threads ----


def test_queue_runners_run_until_the_end() -> None:
    numbers = tf.train.range_input_producer(3, num_epochs=1, shuffle=False).dequeue()
    seen = []
    with tf.train.MonitoredSession() as session:
        while not session.should_stop():
            seen.append(int(session.run(numbers)))
    assert seen == [0, 1, 2]
    assert [each for each in threading.enumerate() if "QueueRunner" in each.name] == []


@pytest.mark.parametrize("kind", [tf.train.MonitoredSession, tf.train.SingularMonitoredSession])
def test_an_error_of_a_queue_runner_reaches_the_program(kind: Any) -> None:
    queue = tf.FIFOQueue(2, tf.float32)
    x = tf.check_numerics(tf.log(-1.0), "broken")
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(x)]))
    element = queue.dequeue()
    with pytest.raises(tf.errors.InvalidArgumentError, match="broken"), kind() as session:
        session.run(element)


def test_threads_that_do_not_end_are_left_after_the_grace_period() -> None:
    released = threading.Event()

    def create(session: Any, coord: Any) -> None:
        thread = threading.Thread(target=released.wait, daemon=True)
        coord.register_thread(thread)
        thread.start()

    hook = Recorder([], create=create)
    tf.train.MonitoredSession(hooks=[hook], stop_grace_period_secs=0.1).close()
    released.set()
