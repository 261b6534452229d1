"""Session managers: sessions that are restored, initialized or waited for, and scaffolds."""

from __future__ import annotations

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


def _save(folder: Path, value: float) -> str:
    """A checkpoint with the variable v."""
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(value, name="v")
        session.run(v.initializer)
        path = tf.train.Saver().save(session, str(folder / "m"))
    assert path is not None
    return path


def _manager(**arguments: Any) -> tf.train.SessionManager:
    ready = tf.report_uninitialized_variables()
    return tf.train.SessionManager(ready_op=ready, recovery_wait_secs=0.01, **arguments)


# ---- prepare_session ----


def test_a_session_is_initialized_where_there_is_no_checkpoint(tmp_path: Path) -> None:
    x = tf.placeholder(tf.float32, [])
    v = tf.Variable(x, name="v")
    saver, init = tf.train.Saver(), tf.global_variables_initializer()
    called: list[Any] = []
    with _manager().prepare_session(
        "",
        init_op=init,
        saver=saver,
        checkpoint_dir=str(tmp_path),
        init_feed_dict={x: 3.0},
        init_fn=called.append,
    ) as session:
        assert session.run(v) == 3.0
    assert called == [session]


def test_a_session_is_restored_and_not_initialized(tmp_path: Path) -> None:
    path = _save(tmp_path, 7.0)
    v = tf.Variable(1.0, name="v")
    saver, init = tf.train.Saver(), tf.global_variables_initializer()
    called: list[Any] = []
    places: list[dict[str, Any]] = [
        {"checkpoint_dir": str(tmp_path)},
        {"checkpoint_filename_with_path": path},
    ]
    for place in places:
        with _manager().prepare_session(
            "", init_op=init, saver=saver, init_fn=called.append, **place
        ) as session:
            assert session.run(v) == 7.0
    assert called == []
    assert saver.last_checkpoints == [path]


def test_a_first_checkpoint_is_waited_for(tmp_path: Path) -> None:
    v = tf.Variable(1.0, name="v")
    saver, manager = tf.train.Saver(), _manager()
    timer = threading.Timer(0.1, _save, (tmp_path, 7.0))
    timer.start()
    with manager.prepare_session(
        "", saver=saver, checkpoint_dir=str(tmp_path), wait_for_checkpoint=True
    ) as session:
        assert session.run(v) == 7.0


def test_what_is_not_ready_is_named() -> None:
    tf.Variable(1.0, name="v")
    with pytest.raises(RuntimeError, match=r"did not make model ready\.  .*initialized: v"):
        _manager().prepare_session("", init_op=tf.no_op(name="nothing"))
    with pytest.raises(RuntimeError, match="Model is not initialized and no init_op"):
        _manager().prepare_session("")


def test_local_variables_wait_for_global_ones() -> None:
    v = tf.Variable(1.0, name="v")
    w = tf.Variable(v.read_value() + 1.0, collections=[tf.GraphKeys.LOCAL_VARIABLES])
    init, nothing = tf.global_variables_initializer(), tf.no_op()
    manager = _manager(
        local_init_op=tf.local_variables_initializer(),
        ready_for_local_init_op=tf.report_uninitialized_variables(tf.global_variables()),
    )
    with manager.prepare_session("", init_op=init) as session:
        assert session.run(w) == 2.0
    with pytest.raises(RuntimeError, match=r"ready for local_init\.  .*initialized: v"):
        manager.prepare_session("", init_op=nothing)


def test_an_old_check_that_fails_is_understood() -> None:
    v = tf.Variable(1.0, name="v")
    init, nothing = v.initializer, tf.no_op()
    manager = tf.train.SessionManager(ready_op=tf.assert_variables_initialized())
    manager.prepare_session("", init_op=init).close()
    with pytest.raises(RuntimeError, match=r"did not make model ready\..*uninitialized"):
        manager.prepare_session("", init_op=nothing)


def test_wrong_pieces_are_told(tmp_path: Path) -> None:
    ready = tf.constant([], tf.string)
    with pytest.raises(ValueError, match="you must also pass a local_init_op"):
        tf.train.SessionManager(ready_for_local_init_op=ready)
    tf.Variable(1.0, name="v")
    saver, manager = tf.train.Saver(), _manager()
    with pytest.raises(ValueError, match="Can not provide both checkpoint_dir and checkpoint_fi"):
        manager.prepare_session(
            "", saver=saver, checkpoint_dir="a", checkpoint_filename_with_path="b"
        )
    with pytest.raises(ValueError, match="not a valid checkpoint"):
        manager.prepare_session("", saver=saver, checkpoint_filename_with_path=str(tmp_path / "m"))


# ---- recover_session, wait_for_session ----


def test_recovering_says_whether_there_was_a_checkpoint(tmp_path: Path) -> None:
    v = tf.Variable(1.0, name="v")
    saver, manager = tf.train.Saver(), _manager()
    session, is_ready = manager.recover_session("", saver, str(tmp_path))
    assert not is_ready
    session.close()
    _save(tmp_path, 7.0)
    session, is_ready = manager.recover_session("", saver, str(tmp_path))
    assert is_ready
    assert session.run(v) == 7.0
    session.close()
    tf.Variable(1.0, name="w")
    session, is_ready = _manager().recover_session("", saver, str(tmp_path))
    assert not is_ready
    session.close()


def test_a_session_is_waited_for_until_it_is_ready() -> None:
    answers = iter([["v"], ["v"], []])
    check = tf.py_func(lambda: np.array(next(answers), object), [], tf.string)
    manager = tf.train.SessionManager(ready_op=check, recovery_wait_secs=0.01)
    manager.wait_for_session("", max_wait_secs=60).close()
    assert next(answers, None) is None


def test_the_first_looks_at_a_session_follow_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([["v"]] * 9 + [[]])
    check = tf.py_func(lambda: np.array(next(answers), object), [], tf.string)
    pauses: list[float] = []
    monkeypatch.setattr("millstream._impl.monitored.session_manager.time.sleep", pauses.append)
    tf.train.SessionManager(ready_op=check).wait_for_session("").close()
    assert pauses == [0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30]


def test_waiting_has_a_limit() -> None:
    tf.Variable(1.0, name="v")
    with pytest.raises(tf.errors.DeadlineExceededError, match=r"was not ready after waiting 0\.1"):
        _manager().wait_for_session("", max_wait_secs=0.1)


# ---- Scaffold ----


def test_a_scaffold_makes_what_is_missing_and_keeps_it_in_collections(graph: tf.Graph) -> None:
    tf.Variable(1.0)
    tf.summary.scalar("loss", 1.0)
    scaffold = tf.train.Scaffold()
    assert scaffold.init_op is None
    assert scaffold.finalize() is scaffold
    assert graph.finalized
    keys = tf.GraphKeys
    for key, piece in (
        (keys.INIT_OP, scaffold.init_op),
        (keys.READY_OP, scaffold.ready_op),
        (keys.READY_FOR_LOCAL_INIT_OP, scaffold.ready_for_local_init_op),
        (keys.LOCAL_INIT_OP, scaffold.local_init_op),
        (keys.SUMMARY_OP, scaffold.summary_op),
        (keys.SAVERS, scaffold.saver),
    ):
        assert graph.get_collection(key) == [piece]
    again = tf.train.Scaffold().finalize()
    assert again.init_op is scaffold.init_op
    assert again.saver is scaffold.saver


def test_a_scaffold_needs_to_be_told_which_of_several(graph: tf.Graph) -> None:
    graph.add_to_collections([tf.GraphKeys.INIT_OP], tf.no_op())
    graph.add_to_collections([tf.GraphKeys.INIT_OP], tf.no_op())
    with pytest.raises(RuntimeError, match=r'"init_op".*tf\.Scaffold\(init_op=item to use\)'):
        tf.train.Scaffold().finalize()


def test_what_is_given_is_used(graph: tf.Graph) -> None:
    x = tf.placeholder(tf.float32, [])
    v = tf.get_variable("v", initializer=1.0)
    local = tf.get_local_variable("local", initializer=0.0)
    calls: list[Any] = []
    scaffold = tf.train.Scaffold(
        init_op=v.assign(x),
        init_feed_dict={x: 5.0},
        init_fn=lambda scaffold, session: calls.append((scaffold, session.run(v))),
        ready_op=tf.constant([], tf.string),
        local_init_op=local.assign(9.0),
    )
    with tf.train.SingularMonitoredSession(scaffold=scaffold) as session:
        assert session.run([v, local]) == [5.0, 9.0]
    assert calls == [(scaffold, 5.0)]


def test_a_scaffold_takes_over_from_another(graph: tf.Graph) -> None:
    calls: list[Any] = []
    first = tf.train.Scaffold(
        init_op=tf.no_op(), init_fn=lambda scaffold, session: calls.append(scaffold)
    )
    own = tf.no_op()
    second = tf.train.Scaffold(local_init_op=own, copy_from_scaffold=first)
    assert second.init_op is first.init_op
    assert second.local_init_op is own
    assert second.init_fn is not None
    second.init_fn(None)
    assert calls == [second]
    with pytest.raises(TypeError, match="copy_from_scaffold is not a Scaffold instance"):
        tf.train.Scaffold(copy_from_scaffold=3)  # type: ignore[arg-type]


def test_a_graph_without_variables_has_a_saver_that_does_nothing(tmp_path: Path) -> None:
    one = tf.constant(1.0)
    with tf.train.MonitoredTrainingSession(hooks=[]) as session:
        assert session.run(one) == 1.0


def test_tables_and_resources_are_initialized(graph: tf.Graph) -> None:
    class Resource:
        """A resource as programs register it: a variable behind it."""

        def __init__(self, variable: Any) -> None:
            self.handle = variable.handle
            self.create = variable.initializer
            self.is_initialized = tf.is_variable_initialized(variable)

    shared, local = tf.Variable(1.0, collections=[]), tf.Variable(2.0, collections=[])
    both = shared.read_value() + local.read_value()
    graph.add_to_collection(tf.GraphKeys.RESOURCES, Resource(shared))
    graph.add_to_collection(tf.GraphKeys.LOCAL_RESOURCES, Resource(local))
    filled = tf.Variable(0.0, collections=[])
    graph.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, filled.initializer)
    with tf.train.MonitoredSession() as session:
        assert session.run([both, filled]) == [3.0, 0.0]
    scaffold = tf.train.Scaffold(init_op=tf.no_op())
    with pytest.raises(RuntimeError, match="Variables not initialized: Variable:0"):
        tf.train.SingularMonitoredSession(scaffold=scaffold)
