"""The file `checkpoint` of a directory."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import millstream as tf


def _write(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).write_text("")


def test_state_comes_back_as_it_was_written(tmp_path: Path) -> None:
    folder = str(tmp_path)
    paths = [f"{folder}/m-1", f"{folder}/m-2"]
    tf.train.update_checkpoint_state(folder, paths[1], paths, None, [1.5, 2.5], 0.5)
    state = tf.train.get_checkpoint_state(folder)
    assert state.model_checkpoint_path == paths[1]
    assert list(state.all_model_checkpoint_paths) == paths
    assert list(state.all_model_checkpoint_timestamps) == [1.5, 2.5]
    assert state.last_preserved_timestamp == 0.5
    assert os.listdir(folder) == ["checkpoint"]


def test_relative_paths_are_joined_to_the_directory(tmp_path: Path) -> None:
    (tmp_path / "latest").write_text(
        'model_checkpoint_path: "m-7"\nall_model_checkpoint_paths: "m-7"\n'
    )
    state = tf.train.get_checkpoint_state(str(tmp_path), "latest")
    assert state.model_checkpoint_path == str(tmp_path / "m-7")
    assert list(state.all_model_checkpoint_paths) == [str(tmp_path / "m-7")]
    assert tf.train.get_checkpoint_state(str(tmp_path)) is None


def test_file_that_is_no_state_is_ignored_and_one_without_a_path_refused(tmp_path: Path) -> None:
    (tmp_path / "checkpoint").write_text("nonsense {")
    assert tf.train.get_checkpoint_state(str(tmp_path)) is None
    (tmp_path / "checkpoint").write_text("")
    with pytest.raises(ValueError, match="Invalid checkpoint state loaded from"):
        tf.train.get_checkpoint_state(str(tmp_path))


def test_newest_checkpoint_is_one_whose_files_exist(tmp_path: Path) -> None:
    prefix = str(tmp_path / "m-1")
    tf.train.update_checkpoint_state(str(tmp_path), prefix)
    assert tf.train.latest_checkpoint(str(tmp_path)) is None
    assert not tf.train.checkpoint_exists(prefix)
    _write(tmp_path, "m-1.index")
    assert tf.train.latest_checkpoint(str(tmp_path)) == prefix
    assert tf.train.checkpoint_exists(prefix)
    _write(tmp_path, "old-00000-of-00002")
    assert tf.train.checkpoint_exists(str(tmp_path / "old-?????-of-00002"))


def test_times_are_those_of_the_checkpoints_that_exist(tmp_path: Path) -> None:
    _write(tmp_path, "a.index", "b")
    os.utime(tmp_path / "a.index", (10, 10))
    os.utime(tmp_path / "b", (20, 20))
    prefixes = [str(tmp_path / name) for name in ("a", "none", "b")]
    assert tf.train.get_checkpoint_mtimes(prefixes) == [10.0, 20.0]
    with pytest.raises(TypeError, match="checkpoint_prefixes"):
        tf.train.get_checkpoint_mtimes("a")


def test_only_the_files_of_the_checkpoint_are_removed(tmp_path: Path) -> None:
    _write(tmp_path, "m-1.index", "m-1.meta", "m-1.data-00000-of-00001", "m-10.index", "old")
    tf.train.remove_checkpoint(str(tmp_path / "m-1"))
    assert sorted(os.listdir(tmp_path)) == ["m-10.index", "old"]
    tf.train.remove_checkpoint(str(tmp_path / "old"), tf.train.SaverDef.V1)
    assert os.listdir(tmp_path) == ["m-10.index"]


def test_state_refuses_a_path_of_its_own_and_times_that_do_not_match(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="conflicts with path used for checkpoint state"):
        tf.train.update_checkpoint_state(str(tmp_path), str(tmp_path / "checkpoint"))
    with pytest.raises(ValueError, match="must match checkpoint paths"):
        tf.train.generate_checkpoint_state_proto("d", "d/m", ["d/m"], [1.0, 2.0])
