"""What TensorBoard's projector shows: which tensors of a checkpoint, and what their rows are."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from typing import Any

from millstream._impl.base.public import public
from millstream._impl.graph.arguments import Kind, takes

# The names and numbers of fields are those of TensorBoard's messages.
_FILE = "projector_config.pbtxt"
# How names of fields end that are texts.
_TEXTS = ("_name", "_path", "_dir")


class _Fields:
    """The fields of a message: texts, lists of sizes, other messages. An empty one is not set."""

    def _lines(self) -> Iterator[str]:
        """The lines of the text of the message."""
        for name, value in vars(self).items():
            if isinstance(value, str):
                if value:
                    yield f"{name}: {json.dumps(value, ensure_ascii=False)}"
                continue
            for one in value if isinstance(value, list) else [value]:
                if not isinstance(one, _Fields):
                    yield f"{name}: {int(one)}"
                elif isinstance(value, list) or list(one._lines()):
                    yield f"{name} {{"
                    yield from (f"  {line}" for line in one._lines())
                    yield "}"

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in type(self).__init__.__annotations__:
            raise AttributeError(f"{type(self).__name__} has no field {name!r}", name=name)
        is_text = name.endswith(_TEXTS)
        if is_text != isinstance(value, str):
            expected = "a text" if is_text else "no text"
            raise TypeError(f"{name}: expected {expected}, got {value!r}")
        super().__setattr__(name, value)

    def __str__(self) -> str:
        return "".join(f"{line}\n" for line in self._lines())

    def __repr__(self) -> str:
        return str(self)


@public("contrib.tensorboard.plugins.projector.SpriteMetadata")
class SpriteMetadata(_Fields):
    """An image that has a small picture of each row.

    Parameters
    ----------
    image_path
        The file.
    single_image_dim
        Width and height of a picture.

    Examples
    --------
    >>> projector = tf.contrib.tensorboard.plugins.projector
    >>> print(projector.SpriteMetadata(image_path="all.png", single_image_dim=[28, 28]))
    image_path: "all.png"
    single_image_dim: 28
    single_image_dim: 28
    <BLANKLINE>
    """

    def __init__(self, image_path: str = "", single_image_dim: Iterable[int] = ()) -> None:
        self.image_path = image_path
        self.single_image_dim = list(single_image_dim)


@public("contrib.tensorboard.plugins.projector.EmbeddingInfo")
class EmbeddingInfo(_Fields):
    """A tensor whose rows are shown.

    Parameters
    ----------
    tensor_name
        Its name in the checkpoint.
    metadata_path
        A file that has a line for each row.
    bookmarks_path
        A file of views.
    tensor_shape
        Its shape, for a tensor in a file.
    sprite
        Pictures of the rows, a `SpriteMetadata`.
    tensor_path
        A file that has the tensor, in place of the checkpoint.

    Examples
    --------
    >>> projector = tf.contrib.tensorboard.plugins.projector
    >>> print(projector.EmbeddingInfo(tensor_name="words", metadata_path="words.tsv"))
    tensor_name: "words"
    metadata_path: "words.tsv"
    <BLANKLINE>
    """

    def __init__(
        self,
        tensor_name: str = "",
        metadata_path: str = "",
        bookmarks_path: str = "",
        tensor_shape: Iterable[int] = (),
        sprite: SpriteMetadata | None = None,
        tensor_path: str = "",
    ) -> None:
        self.tensor_name = tensor_name
        self.metadata_path = metadata_path
        self.bookmarks_path = bookmarks_path
        self.tensor_shape = list(tensor_shape)
        self.sprite = SpriteMetadata() if sprite is None else sprite
        self.tensor_path = tensor_path


class _Embeddings(list[EmbeddingInfo]):
    """The tensors of a configuration."""

    def add(self, **fields: Any) -> EmbeddingInfo:
        """A new one, which the caller fills."""
        self.append(EmbeddingInfo(**fields))
        return self[-1]


@public("contrib.tensorboard.plugins.projector.ProjectorConfig")
class ProjectorConfig(_Fields):
    """What the projector shows.

    Parameters
    ----------
    model_checkpoint_path
        The checkpoint; by default the newest of the folder.
    embeddings
        The tensors; ``embeddings.add()`` gives a new one to fill.
    model_checkpoint_dir
        The folder whose newest checkpoint is taken.

    Examples
    --------
    >>> config = tf.contrib.tensorboard.plugins.projector.ProjectorConfig()
    >>> words = config.embeddings.add()
    >>> words.tensor_name = "words"
    >>> print(config)
    embeddings {
      tensor_name: "words"
    }
    <BLANKLINE>
    """

    def __init__(
        self,
        model_checkpoint_path: str = "",
        embeddings: Iterable[EmbeddingInfo] = (),
        model_checkpoint_dir: str = "",
    ) -> None:
        self.model_checkpoint_path = model_checkpoint_path
        self.embeddings = _Embeddings(embeddings)
        self.model_checkpoint_dir = model_checkpoint_dir


_WRITER = Kind("a tf.summary.FileWriter", lambda value: hasattr(value, "get_logdir"))
_CONFIG = Kind("a ProjectorConfig", lambda value: hasattr(value, "embeddings"))


@public("contrib.tensorboard.plugins.projector.visualize_embeddings")
@takes(summary_writer=_WRITER, config=_CONFIG)
def visualize_embeddings(summary_writer: Any, config: Any) -> None:
    """Write what the projector shows into the folder of a writer of summaries.

    Parameters
    ----------
    summary_writer
        The `tf.summary.FileWriter`.
    config
        The `ProjectorConfig`.

    Raises
    ------
    ValueError
        The writer has no folder.

    Examples
    --------
    >>> import os, tempfile
    >>> writer = tf.summary.FileWriter(tempfile.mkdtemp())
    >>> config = tf.contrib.tensorboard.plugins.projector.ProjectorConfig()
    >>> tf.contrib.tensorboard.plugins.projector.visualize_embeddings(writer, config)
    >>> os.path.exists(os.path.join(writer.get_logdir(), "projector_config.pbtxt"))
    True
    """
    folder = summary_writer.get_logdir()
    if folder is None:
        raise ValueError("summary_writer: Summary writer must have a logdir")
    with open(os.path.join(folder, _FILE), "w", encoding="utf-8") as file:
        file.write(str(config))
