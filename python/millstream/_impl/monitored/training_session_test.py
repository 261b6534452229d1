"""MonitoredTrainingSession: which hooks it has, what it saves, and from where it goes on."""

from __future__ import annotations

import os
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


def _train(folder: Path, steps: int = 5, **arguments: Any) -> tuple[list[int], list[int]]:
    """The steps of a session with a folder, and those of its checkpoints."""
    with tf.Graph().as_default():
        count = tf.train.get_or_create_global_step().assign_add(1)
        tf.summary.scalar("loss", 0.5)
        with tf.train.MonitoredTrainingSession(checkpoint_dir=str(folder), **arguments) as session:
            seen = [int(session.run(count)) for _ in range(steps)]
    tf.summary.FileWriterCache.clear()
    return seen, _checkpoints(folder)


def _checkpoints(folder: Path) -> list[int]:
    names = [name for name in os.listdir(folder) if name.endswith(".index")]
    return sorted(int(name.split("-")[1].split(".")[0]) for name in names)


def _events(folder: Path) -> list[Any]:
    names = sorted(name for name in os.listdir(folder) if "tfevents" in name)
    return [event for name in names for event in tf.train.summary_iterator(str(folder / name))]


def test_it_goes_on_from_the_newest_checkpoint(tmp_path: Path) -> None:
    assert _train(tmp_path) == ([1, 2, 3, 4, 5], [0, 5])
    assert _train(tmp_path, 2) == ([6, 7], [0, 5, 7])
    state = tf.train.get_checkpoint_state(str(tmp_path))
    paths = [os.path.basename(path) for path in state.all_model_checkpoint_paths]
    assert paths == ["model.ckpt-0", "model.ckpt-5", "model.ckpt-7"]


def test_checkpoints_are_saved_by_steps_by_seconds_or_not_at_all(tmp_path: Path) -> None:
    for name, arguments, expected in (
        ("steps", {"save_checkpoint_steps": 2}, [0, 2, 4, 5]),
        ("seconds", {"save_checkpoint_secs": 1e-6}, [1, 2, 3, 4, 5]),  # and 0, which is removed
        ("none", {"save_checkpoint_secs": None, "save_checkpoint_steps": None}, []),
        ("zero", {"save_checkpoint_secs": 0}, []),
    ):
        assert _train(tmp_path / name, 5, **arguments)[1] == expected, name
    with pytest.raises(ValueError, match="Can not provide both every_secs and every_steps"):
        _train(tmp_path, save_checkpoint_secs=1, save_checkpoint_steps=1)


def test_summaries_are_written_by_steps_by_seconds_or_not_at_all(tmp_path: Path) -> None:
    for name, arguments, expected in (
        ("default", {}, [1]),
        ("steps", {"save_summaries_steps": 2}, [1, 3, 5]),
        ("seconds", {"save_summaries_secs": 1000}, [1]),
        ("none", {"save_summaries_steps": None, "save_summaries_secs": None}, []),
    ):
        _train(tmp_path / name, **arguments)
        events = _events(tmp_path / name)
        steps = [event.step for event in events if "loss" in str(event.summary)]
        assert steps == expected, name


def test_the_event_file_tells_of_graph_speed_and_checkpoints(tmp_path: Path) -> None:
    _train(tmp_path, save_checkpoint_steps=3, log_step_count_steps=2)
    events = _events(tmp_path)
    kinds = [event.WhichOneof("what") for event in events]
    assert kinds[:3] == ["file_version", "graph_def", "meta_graph_def"]
    meta = tf.MetaGraphDef.FromString(events[2].meta_graph_def)
    assert meta.saver_def.save_tensor_name
    assert len(meta.graph_def.node) == len(tf.GraphDef.FromString(events[1].graph_def).node)
    logs = [
        (event.step, event.session_log.status)
        for event in events
        if event.WhichOneof("what") == "session_log"
    ]
    saved, begun = tf.SessionLog.CHECKPOINT, tf.SessionLog.START
    assert logs == [(0, saved), (1, begun), (3, saved), (5, saved)]
    assert [event.step for event in events if "global_step/sec" in str(event.summary)] == [3, 5]
    graph = tf.GraphDef.from_text((tmp_path / "graph.pbtxt").read_text())
    assert len(graph.node) == len(meta.graph_def.node)


def test_summaries_may_have_a_folder_of_their_own(tmp_path: Path) -> None:
    _train(tmp_path / "model", summary_dir=str(tmp_path / "events"))
    assert "loss" in str([event.summary for event in _events(tmp_path / "events")])
    assert "loss" not in str([event.summary for event in _events(tmp_path / "model")])


def test_without_a_folder_nothing_is_written(tmp_path: Path) -> None:
    v = tf.Variable(1.0)
    here = os.listdir()
    with tf.train.MonitoredTrainingSession() as session:  # no global step is needed
        assert session.run(v) == 1.0
    assert os.listdir() == here


def test_hooks_of_the_chief_are_first_and_the_programs_last(tmp_path: Path) -> None:
    order: list[str] = []

    class Note(tf.train.SessionRunHook):
        def __init__(self, name: str) -> None:
            self._name = name

        def end(self, session: Any) -> None:
            order.append(self._name + str(_checkpoints(tmp_path)))

    _train(tmp_path, 1, hooks=[Note("own")], chief_only_hooks=[Note("chief")])
    assert order == ["chief[0]", "own[0, 1]"]


def test_a_process_that_is_no_chief_has_its_own_hooks_alone_and_saves_nothing(
    tmp_path: Path,
) -> None:
    begun: list[str] = []

    class Note(tf.train.SessionRunHook):
        def __init__(self, name: str) -> None:
            self._name = name

        def begin(self) -> None:
            begun.append(self._name)

    with tf.train.MonitoredTrainingSession(
        is_chief=False,
        checkpoint_dir=str(tmp_path),
        hooks=[Note("own")],
        chief_only_hooks=[Note("chief")],
    ):
        pass
    assert begun == ["own"]
    assert os.listdir(tmp_path) == []


def test_a_chief_that_never_comes(tmp_path: Path) -> None:
    tf.get_variable("v", initializer=1.0)
    with pytest.raises(tf.errors.DeadlineExceededError, match=r"not ready after.*initialized: v"):
        tf.train.MonitoredTrainingSession(
            is_chief=False, max_wait_secs=1, checkpoint_dir=str(tmp_path)
        )
    assert os.listdir(tmp_path) == []


# ---- The hook and its listeners ----


class Listener(tf.train.CheckpointSaverListener):
    """Notes its calls; may ask for a stop at a step."""

    def __init__(self, stop_at: int | None = None) -> None:
        self.calls: list[str] = []
        self._stop_at = stop_at

    def begin(self) -> None:
        self.calls.append("begin")

    def before_save(self, session: Any, global_step_value: int) -> None:
        self.calls.append(f"before {global_step_value}")

    def after_save(self, session: Any, global_step_value: int) -> bool:
        self.calls.append(f"after {global_step_value}")
        return global_step_value == self._stop_at

    def end(self, session: Any, global_step_value: int) -> None:
        self.calls.append(f"end {global_step_value}")


def test_listeners_hear_of_each_checkpoint_and_may_stop(tmp_path: Path) -> None:
    count = tf.train.get_or_create_global_step().assign_add(1)
    listener = Listener(stop_at=2)
    scaffold = tf.train.Scaffold()
    hook = tf.train.CheckpointSaverHook(
        str(tmp_path), save_steps=2, scaffold=scaffold, listeners=[listener]
    )
    creator = tf.train.ChiefSessionCreator(scaffold, checkpoint_dir=str(tmp_path))
    with tf.train.MonitoredSession(creator, [hook]) as session:
        while not session.should_stop():
            session.run(count)
    saved = ["before 0", "after 0", "before 2", "after 2"]
    assert listener.calls == ["begin", *saved, "end 2"]


def test_the_saver_is_given_or_that_of_the_collection(tmp_path: Path) -> None:
    count = tf.train.get_or_create_global_step().assign_add(1)
    folder = str(tmp_path)
    with pytest.raises(ValueError, match="You cannot provide both saver and scaffold"):
        tf.train.CheckpointSaverHook(
            folder, 1, saver=tf.train.Saver(), scaffold=tf.train.Scaffold()
        )
    tf.add_to_collection(tf.GraphKeys.SAVERS, tf.train.Saver(max_to_keep=1))
    hook = tf.train.CheckpointSaverHook(folder, save_steps=1, checkpoint_basename="m")
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        session.run(count)
    assert sorted(name for name in os.listdir(tmp_path) if name.endswith("index")) == ["m-1.index"]
    tf.add_to_collection(tf.GraphKeys.SAVERS, tf.train.Saver())
    hook = tf.train.CheckpointSaverHook(folder, save_steps=1)
    scaffold = tf.train.Scaffold(saver=tf.train.Saver())
    with pytest.raises(RuntimeError, match="More than one item in collection savers"):
        tf.train.MonitoredSession(tf.train.ChiefSessionCreator(scaffold), [hook])
