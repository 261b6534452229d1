"""Files beside a program, and files of the package."""

from __future__ import annotations

import os

import pytest

import millstream as tf


def test_files_lie_beside_the_file_that_asks() -> None:
    folder = os.path.dirname(os.path.abspath(__file__))
    assert tf.resource_loader.get_data_files_path() == folder
    path = tf.resource_loader.get_path_to_datafile("data/words.txt")
    assert path == os.path.join(folder, "data/words.txt")


def test_files_of_the_package_are_read() -> None:
    root = tf.resource_loader.get_root_dir_with_all_resources()
    assert os.path.isfile(os.path.join(root, "__init__.py"))
    assert b"import" in tf.resource_loader.load_resource("__init__.py")
    with pytest.raises(tf.errors.NotFoundError, match="no_such_file"):
        tf.resource_loader.load_resource("no_such_file")
