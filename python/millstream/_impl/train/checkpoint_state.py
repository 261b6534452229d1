"""Which checkpoints a folder has: the text file ``checkpoint`` beside them."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Sequence
from typing import Any

from millstream._impl import protos
from millstream._impl.base.moments import Moment
from millstream._impl.base.public import public
from millstream._impl.base.whole_files import write_whole
from millstream._impl.graph.arguments import LIST, NUMBER, TEXT, takes
from millstream._impl.protos import text_format

STATE_FILE = "checkpoint"


def _state_path(folder: str, latest_filename: str | None) -> str:
    return os.path.join(folder, latest_filename or STATE_FILE)


def _below(folder: str, path: str) -> str:
    """The path as the file has it: below the folder, when both are relative."""
    return path if os.path.isabs(path) else os.path.relpath(path, folder)


@public("train.generate_checkpoint_state_proto")
@takes(
    save_dir=TEXT,
    model_checkpoint_path=TEXT,
    all_model_checkpoint_paths=LIST,
    all_model_checkpoint_timestamps=LIST,
    last_preserved_timestamp=NUMBER,
)
def generate_checkpoint_state_proto(
    save_dir: str,
    model_checkpoint_path: str,
    all_model_checkpoint_paths: Sequence[str] | None = None,
    all_model_checkpoint_timestamps: Sequence[float] | None = None,
    last_preserved_timestamp: float | None = None,
) -> Any:
    """Make the message that says which checkpoints a folder has.

    Parameters
    ----------
    save_dir
        The folder.
    model_checkpoint_path
        The newest checkpoint.
    all_model_checkpoint_paths
        All that are kept, the newest last, where it is put if it is missing.
    all_model_checkpoint_timestamps
        When each was written, in seconds since 1970.
    last_preserved_timestamp
        When the last one was written that is never removed.

    Returns
    -------
    CheckpointState

    Raises
    ------
    ValueError
        There are timestamps, and not one for each path.

    Examples
    --------
    >>> state = tf.train.generate_checkpoint_state_proto("/tmp", "/tmp/model-2", ["/tmp/model-1"])
    >>> list(state.all_model_checkpoint_paths)
    ['/tmp/model-1', '/tmp/model-2']
    """
    paths = list(all_model_checkpoint_paths or [])
    if not paths or paths[-1] != model_checkpoint_path:
        paths.append(model_checkpoint_path)
    stamps = list(all_model_checkpoint_timestamps or [])
    if stamps and len(stamps) != len(paths):
        raise ValueError(
            "Checkpoint timestamps must match checkpoint paths: all_model_checkpoint_timestamps "
            f"has {len(stamps)}, for {len(paths)} checkpoints"
        )
    if not os.path.isabs(save_dir):
        paths = [_below(save_dir, path) for path in paths]
        model_checkpoint_path = _below(save_dir, model_checkpoint_path)
    return protos.message_class("CheckpointState")(
        model_checkpoint_path=model_checkpoint_path,
        all_model_checkpoint_paths=paths,
        all_model_checkpoint_timestamps=stamps,
        last_preserved_timestamp=last_preserved_timestamp or 0.0,
    )


def write_state(folder: str, state: Any, latest_filename: str | None) -> None:
    """Write the file as a whole: readers see the old one or the new one."""
    write_whole(_state_path(folder, latest_filename), str(state).encode())


@public("train.update_checkpoint_state")
@takes(
    save_dir=TEXT,
    model_checkpoint_path=TEXT,
    all_model_checkpoint_paths=LIST,
    latest_filename=TEXT,
    all_model_checkpoint_timestamps=LIST,
    last_preserved_timestamp=NUMBER,
)
def update_checkpoint_state(
    save_dir: str,
    model_checkpoint_path: str,
    all_model_checkpoint_paths: Sequence[str] | None = None,
    latest_filename: str | None = None,
    all_model_checkpoint_timestamps: Sequence[float] | None = None,
    last_preserved_timestamp: float | None = None,
) -> None:
    """Write which checkpoints a folder has.

    Parameters
    ----------
    save_dir, model_checkpoint_path, all_model_checkpoint_paths
        See `generate_checkpoint_state_proto`.
    latest_filename
        Name of the file, by default "checkpoint".
    all_model_checkpoint_timestamps, last_preserved_timestamp
        See `generate_checkpoint_state_proto`.

    Raises
    ------
    RuntimeError
        A checkpoint has the name of the file.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> tf.train.update_checkpoint_state(folder, folder + "/model-3")
    >>> tf.train.get_checkpoint_state(folder).model_checkpoint_path == folder + "/model-3"
    True
    """
    if _state_path(save_dir, latest_filename) == model_checkpoint_path:
        raise RuntimeError(
            f"Save path '{model_checkpoint_path}' conflicts with path used for checkpoint state"
        )
    state = generate_checkpoint_state_proto(
        save_dir,
        model_checkpoint_path,
        all_model_checkpoint_paths,
        all_model_checkpoint_timestamps,
        last_preserved_timestamp,
    )
    write_state(save_dir, state, latest_filename)


@public("train.get_checkpoint_state")
@takes(checkpoint_dir=TEXT, latest_filename=TEXT)
def get_checkpoint_state(checkpoint_dir: str, latest_filename: str | None = None) -> Any:
    """Which checkpoints a folder has.

    Parameters
    ----------
    checkpoint_dir
        The folder.
    latest_filename
        Name of the file that says it, by default "checkpoint".

    Returns
    -------
    CheckpointState or None
        Its paths begin with the folder; None when there is no such file, or it cannot be read.

    Raises
    ------
    ValueError
        The file names no checkpoint.

    Examples
    --------
    >>> import tempfile
    >>> tf.train.get_checkpoint_state(tempfile.mkdtemp()) is None
    True
    """
    path = _state_path(checkpoint_dir, latest_filename)
    state = protos.message_class("CheckpointState")()
    try:
        with open(path, encoding="utf-8") as file:
            text_format.Merge(file.read(), state)
    except (OSError, UnicodeDecodeError, text_format.ParseError):
        return None
    if not state.model_checkpoint_path:
        raise ValueError(f"Invalid checkpoint state loaded from {checkpoint_dir}")
    state.model_checkpoint_path = os.path.join(checkpoint_dir, state.model_checkpoint_path)
    found = [os.path.join(checkpoint_dir, each) for each in state.all_model_checkpoint_paths]
    del state.all_model_checkpoint_paths[:]
    state.all_model_checkpoint_paths.extend(found)
    return state


@public("train.latest_checkpoint")
@takes(checkpoint_dir=TEXT, latest_filename=TEXT)
def latest_checkpoint(checkpoint_dir: str, latest_filename: str | None = None) -> str | None:
    """The newest checkpoint of a folder.

    Parameters
    ----------
    checkpoint_dir
        The folder.
    latest_filename
        Name of the file that says it, by default "checkpoint".

    Returns
    -------
    str or None
        The prefix of its files; None when there is none.

    Examples
    --------
    >>> import tempfile
    >>> tf.train.latest_checkpoint(tempfile.mkdtemp()) is None
    True
    """
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    if state is None or not checkpoint_exists(state.model_checkpoint_path):
        return None
    path: str = state.model_checkpoint_path
    return path


def index_path(prefix: str) -> str:
    """The file that lists a checkpoint's tensors."""
    return prefix + ".index"


@public("train.checkpoint_exists")
@takes(checkpoint_prefix=TEXT)
def checkpoint_exists(checkpoint_prefix: str) -> bool:
    """Whether there is a checkpoint.

    Parameters
    ----------
    checkpoint_prefix
        The prefix of its files, which may be a pattern.

    Examples
    --------
    >>> tf.train.checkpoint_exists("/tmp/no/such/model")
    False
    """
    return _found(checkpoint_prefix) is not None


def _found(prefix: str) -> str | None:
    """The file that shows that a checkpoint is there: its index, or the file of version 1."""
    for path in (index_path(prefix), prefix):
        if os.path.isfile(path):
            return path
        matching = [each for each in glob.glob(path) if os.path.isfile(each)]
        if matching:
            return matching[0]
    return None


@public("train.get_checkpoint_mtimes")
@takes(checkpoint_prefixes=LIST)
def get_checkpoint_mtimes(checkpoint_prefixes: Sequence[str]) -> list[float]:
    """When checkpoints were written.

    Parameters
    ----------
    checkpoint_prefixes
        The prefixes of their files. Those that are not there are left out.

    Returns
    -------
    list of float
        Seconds since 1970.

    Examples
    --------
    >>> tf.train.get_checkpoint_mtimes(["/tmp/no/such/model"])
    []
    """
    found = [_found(prefix) for prefix in checkpoint_prefixes]
    return [os.path.getmtime(path) for path in found if path is not None]


@public("train.remove_checkpoint")
@takes(checkpoint_prefix=TEXT, meta_graph_suffix=TEXT)
def remove_checkpoint(
    checkpoint_prefix: str, checkpoint_format_version: Any = 2, meta_graph_suffix: str = "meta"
) -> None:
    """Remove the files of a checkpoint.

    Parameters
    ----------
    checkpoint_prefix
        The prefix of its files, or the pattern of those of version 1: ``model-?????-of-00002``.
    checkpoint_format_version
        Not used: files of either version are removed.
    meta_graph_suffix
        The ending of the file with its graph.

    Examples
    --------
    >>> tf.train.remove_checkpoint("/tmp/no/such/model")
    """
    escaped = glob.escape(checkpoint_prefix)
    graph = f"{checkpoint_prefix}.{meta_graph_suffix}"
    old = [graph, index_path(checkpoint_prefix), checkpoint_prefix]
    files = glob.glob(escaped + ".data-?????-of-?????")
    if "-?????-of-" in checkpoint_prefix:
        files += glob.glob(checkpoint_prefix)
    for path in [*old, *files]:
        if os.path.isfile(path):
            os.remove(path)


class KeptCheckpoints:
    """The checkpoints that a saver has written, and which of them are too many.

    Parameters
    ----------
    max_to_keep
        How many stay; 0 or None: all, and none is listed.
    keep_every_n_hours
        One in so many hours is never removed.
    """

    def __init__(self, max_to_keep: int | None, keep_every_n_hours: float) -> None:
        self._max_to_keep = max_to_keep or 0
        self._seconds = keep_every_n_hours * 3600
        self._next_kept = Moment.now().steady + self._seconds
        self.kept: list[tuple[str, Moment]] = []

    def take_over(self, dated: Iterable[tuple[str, float]]) -> None:
        """Keep the checkpoints of an earlier saver: paths and dates, the newest last."""
        self.kept = [(path, Moment.at(date)) for path, date in dated]

    def add(self, path: str) -> list[str]:
        """Note a new one. Returns the old ones to remove, once the folder's file has the new one.

        The folder's file must not name a checkpoint that is gone, whenever the process is killed.
        """
        if not self._max_to_keep:
            return []
        self.kept = [each for each in self.kept if each[0] != path] + [(path, Moment.now())]
        old: list[str] = []
        while len(self.kept) > self._max_to_keep:
            oldest, written = self.kept.pop(0)
            if written.steady > self._next_kept:
                self._next_kept += self._seconds
            else:
                old.append(oldest)
        return old

    def state(self, folder: str, path: str, relative: bool) -> Any:
        """The message that says which there are; with paths below the folder if `relative`."""
        paths = [each for each, _ in self.kept]
        if relative:
            paths = [os.path.relpath(each, folder) for each in paths]
            path = os.path.relpath(path, folder)
        return generate_checkpoint_state_proto(folder if not relative else os.sep, path, paths)
