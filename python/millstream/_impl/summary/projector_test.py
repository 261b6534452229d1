"""The text of the projector's configuration."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import millstream as tf

projector = tf.contrib.tensorboard.plugins.projector

_TEXT = """\
model_checkpoint_path: "model \\"1\\""
embeddings {
  tensor_name: "words"
  metadata_path: "w\u00f6rter.tsv"
  tensor_shape: 10
  tensor_shape: 3
  sprite {
    image_path: "all.png"
    single_image_dim: 28
    single_image_dim: 28
  }
}
embeddings {
}
"""


def test_the_text_is_that_of_the_message(tmp_path: Path) -> None:
    config = projector.ProjectorConfig(model_checkpoint_path='model "1"')
    words = config.embeddings.add()
    words.tensor_name = "words"
    words.metadata_path = "w\u00f6rter.tsv"
    words.tensor_shape.extend([10, 3])
    words.sprite.image_path = "all.png"
    words.sprite.single_image_dim.extend([28, 28])
    config.embeddings.add()
    writer = tf.summary.FileWriter(str(tmp_path))
    projector.visualize_embeddings(writer, config)
    writer.close()
    assert (tmp_path / "projector_config.pbtxt").read_text(encoding="utf-8") == _TEXT


def test_mistakes_are_refused() -> None:
    config = projector.ProjectorConfig()
    with pytest.raises(AttributeError, match="no field 'tensor_name'"):
        config.tensor_name = "words"
    with pytest.raises(TypeError, match="tensor_name: expected a text"):
        config.embeddings.add(tensor_name=3)


def test_old_programs_import_it(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "from tensorflow.contrib.tensorboard.plugins import projector\n"
        "config = projector.ProjectorConfig()\n"
        "config.embeddings.add().tensor_name = 'words'\n"
        "print(config)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "millstream.as_tensorflow", str(tmp_path / "program.py")],
        env={"PYTHONPATH": ":".join(str(Path(entry).absolute()) for entry in sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["embeddings", "{", "tensor_name:", '"words"', "}"], done.stderr
