"""Which checkpoints of a folder stay."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import millstream as tf
from millstream._impl.train import checkpoint_manager


def _manager(folder: Path, max_to_keep: int | None = 2, **options: Any) -> Any:
    """A manager of one variable in the default graph."""
    a = tf.Variable(1.0, name="a")
    checkpoint = tf.train.Checkpoint(a=a)
    manager = tf.train.CheckpointManager(checkpoint, str(folder), max_to_keep, **options)
    checkpoint.restore(None).initialize_or_restore()
    return manager


def _names(folder: Path) -> list[str]:
    return sorted(path.name.removesuffix(".index") for path in folder.glob("*.index"))


def test_the_newest_stay_also_after_a_restart(tmp_path: Path) -> None:
    for first in (1, 4):
        with tf.Graph().as_default(), tf.Session():
            manager = _manager(tmp_path)
            for number in range(first, first + 3):
                path = manager.save(number)
                assert path == str(tmp_path / f"ckpt-{number}")
                assert (
                    manager.latest_checkpoint == tf.train.latest_checkpoint(str(tmp_path)) == path
                )
            assert _names(tmp_path) == [f"ckpt-{first + 1}", f"ckpt-{first + 2}"]
            assert manager.checkpoints == [str(tmp_path / name) for name in _names(tmp_path)]
    assert '"ckpt-6"' in (tmp_path / "checkpoint").read_text()


def test_numbers_count_the_saves_or_are_those_of_a_variable(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        manager = _manager(tmp_path, checkpoint_name="model")
        step = tf.Variable(40, name="step")
        sess.run(step.initializer)
        assert [os.path.basename(manager.save()) for _ in range(2)] == ["model-1", "model-2"]
        assert os.path.basename(manager.save(step)) == "model-40"


def test_all_stay_when_no_number_is_given(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session():
        manager = _manager(tmp_path, None)
        for _ in range(4):
            manager.save()
    assert len(_names(tmp_path)) == len(manager.checkpoints) == 4


@pytest.mark.parametrize("jump", [0.0, -1e6, 1e6])
def test_one_in_some_hours_stays_also_when_the_clock_is_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jump: float
) -> None:
    now = [1000.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr("time.time", lambda: now[0] + (jump if now[0] > 5000.0 else 0.0))
    with tf.Graph().as_default(), tf.Session():
        manager = _manager(tmp_path, 1, keep_checkpoint_every_n_hours=1.0)
        for _ in range(6):
            now[0] += 1800.0
            manager.save()
    assert _names(tmp_path) == ["ckpt-2", "ckpt-4", "ckpt-6"]
    state = tf.train.get_checkpoint_state(str(tmp_path))
    assert list(state.all_model_checkpoint_paths) == [str(tmp_path / "ckpt-6")]
    assert state.last_preserved_timestamp == 1000.0 + 4 * 1800.0 + jump


@pytest.mark.parametrize(("best", "stays"), [("max", "ckpt-2"), ("min", "ckpt-3")])
def test_the_best_stays(tmp_path: Path, best: str, stays: str) -> None:
    metrics = iter([0.5, 0.9, 0.1, float("nan"), 0.6, 0.4])
    for _ in range(2):
        with tf.Graph().as_default(), tf.Session():
            manager = _manager(tmp_path, 1, keep_best=1, best=best)
            manager._checkpoint.restore(manager.latest_checkpoint).initialize_or_restore()
            for _ in range(3):
                manager.save(metric=next(metrics))
    assert manager.best_checkpoint == str(tmp_path / stays)
    assert _names(tmp_path) == [stays, "ckpt-6"]
    assert manager.checkpoints == [str(tmp_path / stays), str(tmp_path / "ckpt-6")]


def test_the_list_has_the_new_checkpoint_before_old_ones_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed: list[Any] = []
    monkeypatch.setattr(
        checkpoint_manager,
        "remove_checkpoint",
        lambda prefix: listed.append((prefix, tf.train.latest_checkpoint(str(tmp_path)))),
    )
    with tf.Graph().as_default(), tf.Session():
        manager = _manager(tmp_path, 1)
        first, second = manager.save(), manager.save()
    assert listed == [(first, second)]


def test_restoring_or_initializing(tmp_path: Path) -> None:
    called: list[int] = []
    for expected in (None, str(tmp_path / "ckpt-1")):
        with tf.Graph().as_default(), tf.Session() as sess:
            a = tf.Variable(1.0, name="a")
            checkpoint = tf.train.Checkpoint(a=a)
            manager = tf.train.CheckpointManager(
                checkpoint, str(tmp_path), 2, init_fn=lambda: called.append(1)
            )
            assert manager.restore_or_initialize() == expected
            assert sess.run(a) == (1.0 if expected is None else 8.0)
            sess.run(a.assign(8.0))
            manager.save()
    assert called == [1]


def test_metrics_that_are_damaged_count_for_nothing(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session():
        _manager(tmp_path, 1, keep_best=1).save(metric=1.0)
    for text in ("{", "[]", '{"ckpt-1": "x"}'):
        (tmp_path / "checkpoint_metrics.json").write_text(text)
        with tf.Graph().as_default(), tf.Session():
            assert _manager(tmp_path, 1, keep_best=1).best_checkpoint is None


def test_bad_arguments(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session():
        with pytest.raises(ValueError, match="Expected a positive integer or `None`"):
            _manager(tmp_path, 0)
        with pytest.raises(ValueError, match="best: expected 'max' or 'min'"):
            _manager(tmp_path, best="most")
        with pytest.raises(TypeError, match="checkpoint: expected"):
            tf.train.CheckpointManager(3, str(tmp_path), 1)


def test_new_checkpoints_come_one_after_the_other(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session():
        manager = _manager(tmp_path)
        first = manager.save()
        found = []
        for path in tf.train.checkpoints_iterator(str(tmp_path), timeout=0.0):
            found.append(path)
            if len(found) < 3:
                manager.save()
    assert found == [first, str(tmp_path / "ckpt-2"), str(tmp_path / "ckpt-3")]


def test_the_wait_for_checkpoints_goes_on_until_the_function_ends_it(tmp_path: Path) -> None:
    answers = [False, False, True]
    assert not list(
        tf.train.checkpoints_iterator(str(tmp_path), timeout=0.0, timeout_fn=lambda: answers.pop(0))
    )
    assert not answers
