"""Savers: the values of variables in files, and back."""

from __future__ import annotations

import functools
import math
import operator
import os
from collections.abc import Sequence
from typing import Any

from millstream._impl import protos
from millstream._impl.base import errors
from millstream._impl.base.graph_keys import GraphKeys
from millstream._impl.base.public import public
from millstream._impl.graph.arguments import INTEGER, ITEMS, NUMBER, SESSION, TEXT, or_none, takes
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.graph.graph import Graph
from millstream._impl.train import meta_graphs
from millstream._impl.train.background_saves import BackgroundSaves
from millstream._impl.train.checkpoint_nodes import CheckpointNodes
from millstream._impl.train.checkpoint_state import (
    STATE_FILE,
    KeptCheckpoints,
    checkpoint_exists,
    get_checkpoint_mtimes,
    remove_checkpoint,
    write_state,
)
from millstream._impl.train.global_step import global_step as value_of_step
from millstream._impl.train.save_items import save_items
from millstream._impl.train.save_nodes import Item, SaveNodes
from millstream._impl.train.save_objects import split_objects


@public("train.Saver")
class Saver:
    """Saves variables to checkpoints, and restores them.

    Parameters
    ----------
    var_list
        The variables, or a dictionary from names in checkpoints to variables; by default all
        global ones, under their own names. Tables and other objects of the collection
        ``saveable_objects`` may be among them, under names of their own.
    reshape
        Whether a tensor of a checkpoint may have another shape than its variable.
    sharded
        Whether the variables of each device are written to a file of their own.
    max_to_keep
        How many checkpoints stay; 0 or None: all.
    keep_checkpoint_every_n_hours
        One in so many hours is never removed.
    name
        Scope of its nodes, by default "save".
    restore_sequentially
        Whether variables are restored one after the other, which takes less memory.
    saver_def
        A ``SaverDef`` whose nodes are in the graph already; no others are made.
    builder
        Not used.
    defer_build
        Whether the nodes are made by a later call of `build`.
    allow_empty
        Whether there may be no variable; such a saver does nothing.
    write_version
        2, or 1 for checkpoints of one file, as old programs write them. Both are read.
    pad_step_number
        Whether the step in names has eight digits or more.
    save_relative_paths
        Whether the file ``checkpoint`` has paths below its folder.
    filename
        The path when none is fed to the nodes.
    asynchronous
        Whether `save` returns once it has a snapshot of the variables. A thread writes the files
        and the list of checkpoints; `wait` waits for it, and so do the next `save`, `restore` and
        the session's `close`. For one file of version 2 alone.

    Raises
    ------
    ValueError
        There is no variable, or one twice; or `asynchronous` is for another kind of checkpoint.
    TypeError
        Something else is among them.

    Examples
    --------
    >>> import tempfile
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     v = tf.Variable(1.0, name="v")
    ...     saver = tf.train.Saver()
    ...     sess.run(v.initializer)
    ...     path = saver.save(sess, tempfile.mkdtemp() + "/model", global_step=3)
    ...     sess.run(v.assign(5.0))
    ...     saver.restore(sess, path)
    ...     print(path[-7:], float(sess.run(v)))
    5.0
    model-3 1.0
    """

    @takes(
        var_list=ITEMS,
        max_to_keep=or_none(INTEGER),
        keep_checkpoint_every_n_hours=NUMBER,
        name=TEXT,
        write_version=INTEGER,
        filename=TEXT,
    )
    def __init__(
        self,
        var_list: Any = None,
        reshape: bool = False,
        sharded: bool = False,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: str | None = None,
        restore_sequentially: bool = False,
        saver_def: Any = None,
        builder: Any = None,
        defer_build: bool = False,
        allow_empty: bool = False,
        write_version: int = 2,
        pad_step_number: bool = False,
        save_relative_paths: bool = False,
        filename: str | None = None,
        *,
        asynchronous: bool = False,
    ) -> None:
        if defer_build and var_list:
            raise ValueError(
                "If `var_list` is provided then build cannot be deferred. Either set "
                "defer_build=False or var_list=None."
            )
        if int(write_version) not in (1, 2):
            raise ValueError(f"write_version: expected 1 or 2, got {write_version!r}")
        if asynchronous and (sharded or int(write_version) != 2 or saver_def is not None):
            raise ValueError(
                "asynchronous: only nodes of this saver write in the background, into one file of "
                "version 2"
            )
        self._asynchronous = asynchronous
        self._background: BackgroundSaves | None = None
        self._version = int(write_version)
        self._var_list = var_list
        self._reshape = reshape
        self._sharded = sharded
        self._max_to_keep = max_to_keep
        self._keep_hours = keep_checkpoint_every_n_hours
        self._name = name
        self._sequential = restore_sequentially
        self._allow_empty = allow_empty
        self._pad_step_number = pad_step_number
        self._relative = save_relative_paths
        self._filename = filename
        self._is_empty = False
        self.saver_def: Any = None
        self._kept = KeptCheckpoints(max_to_keep, keep_checkpoint_every_n_hours)
        self._object_nodes = CheckpointNodes()
        if saver_def is not None:
            self._take(saver_def)
        elif not defer_build:
            self.build()

    def _take(self, saver_def: Any) -> None:
        """Use nodes that are there."""
        kind = protos.message_class("SaverDef")
        if not isinstance(saver_def, kind):
            if not hasattr(saver_def, "SerializeToString"):
                raise TypeError(f"saver_def: expected a SaverDef, got {saver_def!r}")
            saver_def = kind.FromString(saver_def.SerializeToString())
        self.saver_def = saver_def
        self._max_to_keep = saver_def.max_to_keep
        self._keep_hours = saver_def.keep_checkpoint_every_n_hours or 10000.0
        self._kept = KeptCheckpoints(self._max_to_keep, self._keep_hours)

    def build(self) -> None:
        """Make the nodes, unless they are there."""
        if self.saver_def is not None or self._is_empty:
            return
        graph = get_default_graph()
        chosen = self._var_list
        if chosen is None:
            chosen = graph.get_collection(GraphKeys.GLOBAL_VARIABLES)
            chosen = [*chosen, *graph.get_collection(GraphKeys.SAVEABLE_OBJECTS)]
        variables, objects = split_objects(chosen)
        items: list[Item] = [*save_items(variables), *objects]
        if not items:
            if not self._allow_empty:
                raise ValueError("No variables to save")
            self._is_empty = True
            return
        nodes = SaveNodes(items[0].graph, items, self._reshape, self._sequential, self._version)
        made = nodes.add(self._name or "save", self._filename or "model", self._sharded)
        made.max_to_keep = self._max_to_keep or 0
        made.keep_checkpoint_every_n_hours = self._keep_hours
        if self._asynchronous:
            self._background = BackgroundSaves(items[0].graph, items)
        self.saver_def = made

    # ---- What it has written ----

    @property
    def last_checkpoints(self) -> list[str]:
        """The checkpoints that it keeps, the newest last."""
        return [path for path, _ in self._kept.kept]

    def set_last_checkpoints(self, last_checkpoints: Sequence[str]) -> None:
        """Take over checkpoints of an earlier saver, the newest last. They are never removed."""
        if not isinstance(last_checkpoints, (list, tuple)):
            raise TypeError(f"last_checkpoints: expected a list, got {last_checkpoints!r}")
        self._kept.take_over((path, math.inf) for path in last_checkpoints)

    def set_last_checkpoints_with_time(
        self, last_checkpoints_with_time: Sequence[tuple[str, float]]
    ) -> None:
        """Take over checkpoints of an earlier saver, each with the time of its writing."""
        if not isinstance(last_checkpoints_with_time, (list, tuple)):
            raise TypeError(
                f"last_checkpoints_with_time: expected a list, got {last_checkpoints_with_time!r}"
            )
        self._kept.take_over(last_checkpoints_with_time)

    def recover_last_checkpoints(self, checkpoint_paths: Sequence[str]) -> None:
        """Take over those of these checkpoints that are there, the newest last."""
        there = [path for path in checkpoint_paths if checkpoint_exists(path)]
        self._kept.take_over(zip(there, get_checkpoint_mtimes(there), strict=True))

    # ---- Saving and restoring ----

    @takes(sess=SESSION, save_path=TEXT, latest_filename=TEXT, meta_graph_suffix=TEXT)
    def save(
        self,
        sess: Any,
        save_path: str,
        global_step: Any = None,
        latest_filename: str | None = None,
        meta_graph_suffix: str = "meta",
        write_meta_graph: bool = True,
        write_state: bool = True,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> str | None:
        """Save the variables' values in a session.

        Parameters
        ----------
        sess
            The session.
        save_path
            The prefix of the files.
        global_step
            A number, or the variable or tensor that has it, to put behind the prefix.
        latest_filename
            Name of the file that lists checkpoints, by default "checkpoint".
        meta_graph_suffix
            The ending of the file with the graph.
        write_meta_graph
            Whether to write the graph as well.
        write_state
            Whether to write the list of checkpoints, and to remove old ones.
        strip_default_attrs
            Whether the graph's file leaves out attributes that have their default values.
        save_debug_info
            Not used.

        Returns
        -------
        str or None
            The prefix of the files written; None for a saver without variables.

        Raises
        ------
        ValueError
            The folder does not exist, or the names of the files collide.
        RuntimeError
            `build` was put off and not called.
        FailedPreconditionError
            A variable has no value.
        """
        if self.saver_def is None and not self._is_empty:
            raise RuntimeError("`build()` should be called before save if defer_build==True")
        listed_in = latest_filename or STATE_FILE
        if os.path.dirname(listed_in):
            raise ValueError("'latest_filename' must not contain path components")
        prefix = self._numbered(sess, save_path, global_step)
        is_the_list = global_step is None and os.path.basename(save_path) == listed_in
        if is_the_list and not self._sharded:
            raise ValueError(
                f"'latest_filename' collides with 'save_path': '{listed_in}' and '{save_path}'"
            )
        folder = os.path.dirname(save_path)
        if not os.path.isdir(os.path.dirname(folder.rstrip("/")) or ".") and not os.path.isdir(
            folder
        ):
            raise ValueError(f"Parent directory of {save_path} doesn't exist, can't save.")
        written: str | None = None
        if not self._is_empty:

            def note(path: str) -> None:
                if write_state:
                    self._note(folder, path, listed_in, meta_graph_suffix)

            if self._background is None:
                written = self._run_save(sess, prefix)
                note(written)
            else:
                written = prefix
                self._background.start(sess, prefix, functools.partial(note, prefix))
        if write_meta_graph:
            with sess.graph.as_default():
                self.export_meta_graph(
                    f"{prefix}.{meta_graph_suffix}", strip_default_attrs=strip_default_attrs
                )
        return written

    def wait(self) -> None:
        """Wait until the last save of an asynchronous saver is complete.

        Raises
        ------
        OpError, OSError
            It failed.
        """
        if self._background is not None:
            self._background.wait()

    def _numbered(self, sess: Any, save_path: str, global_step: Any) -> str:
        if global_step is None:
            return save_path
        # NumPy's integers are not integers of Python; tensors and variables have no such method.
        if hasattr(global_step, "__index__"):
            global_step = operator.index(global_step)
        else:
            global_step = value_of_step(sess, global_step)
        return (
            f"{save_path}-{global_step:08d}"
            if self._pad_step_number
            else f"{save_path}-{global_step}"
        )

    def _run_save(self, sess: Any, prefix: str) -> str:
        names = self.saver_def
        written = sess.run(names.save_tensor_name, {names.filename_tensor_name: prefix})
        return os.fsdecode(written)

    def _note(self, folder: str, written: str, listed_in: str, meta_graph_suffix: str) -> None:
        """List a checkpoint, and remove the old ones that are too many."""
        old = self._kept.add(written)
        state = self._kept.state(folder or ".", written, self._relative)
        write_state(folder, state, listed_in)
        for each in old:
            remove_checkpoint(each, meta_graph_suffix=meta_graph_suffix)

    @takes(sess=SESSION)
    def restore(self, sess: Any, save_path: str | None) -> None:
        """Give the variables the values of a checkpoint.

        A checkpoint of objects, that `Checkpoint` wrote, is read by the variables' names as well.

        Parameters
        ----------
        sess
            The session. The variables need not be initialized.
        save_path
            The prefix of the checkpoint's files.

        Raises
        ------
        ValueError
            There is no such checkpoint.
        NotFoundError
            It has no value for a variable.
        InvalidArgumentError
            Its value has another shape or type.
        DataLossError
            A file is damaged.
        """
        if self._is_empty:
            return
        if save_path is None:
            raise ValueError("Can't load save_path when it is None.")
        prefix = os.fspath(save_path)
        self.wait()
        if not checkpoint_exists(prefix):
            raise ValueError(f"The passed save_path is not a valid checkpoint: {prefix}")
        names = self.saver_def
        try:
            sess.run(names.restore_op_name, {names.filename_tensor_name: prefix})
        except errors.NotFoundError as error:
            if self._object_nodes.restore_by_names(sess, prefix, self._var_list):
                return
            raise _explained(
                error,
                "a Variable name or other graph key that is missing from the checkpoint. Please "
                "ensure that you have not altered the graph expected based on the checkpoint.",
            ) from error
        except errors.InvalidArgumentError as error:
            raise _explained(
                error,
                "a mismatch between the current graph and the graph from the checkpoint. Please "
                "ensure that you have not altered the graph expected based on the checkpoint.",
            ) from error

    # ---- As a message ----

    def as_saver_def(self) -> Any:
        """Its ``SaverDef``."""
        return self.saver_def

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Its ``SaverDef`` with names below a scope; None when its nodes are not there.

        Parameters
        ----------
        export_scope
            A scope to leave out of the names.
        """
        if self.saver_def is None or export_scope is None:
            return self.saver_def
        scope = f"{export_scope}/"
        if not self.saver_def.filename_tensor_name.startswith(scope):
            return None
        return _renamed(self.saver_def, lambda name: name.removeprefix(scope))

    @staticmethod
    def from_proto(saver_def: Any, import_scope: str | None = None) -> Saver:
        """The saver whose nodes are in the graph already.

        Parameters
        ----------
        saver_def
            Its ``SaverDef``.
        import_scope
            The scope that its names are below of.
        """
        scope = f"{import_scope}/" if import_scope else ""
        return Saver(saver_def=_renamed(saver_def, lambda name: scope + name))

    def export_meta_graph(
        self,
        filename: str | None = None,
        collection_list: Sequence[str] | None = None,
        as_text: bool = False,
        export_scope: str | None = None,
        clear_devices: bool = False,
        clear_extraneous_savers: bool = False,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> Any:
        """Write the default graph, its collections and this saver.

        Parameters
        ----------
        filename, collection_list, as_text, export_scope, clear_devices
            See `train.export_meta_graph`.
        clear_extraneous_savers, strip_default_attrs
            See `train.export_meta_graph`.
        save_debug_info
            Not used.
        """
        return meta_graphs.export_meta_graph(
            filename,
            saver_def=self.to_proto(export_scope),
            collection_list=collection_list,
            as_text=as_text,
            export_scope=export_scope,
            clear_devices=clear_devices,
            clear_extraneous_savers=clear_extraneous_savers,
            strip_default_attrs=strip_default_attrs,
        )


def _renamed(saver_def: Any, rename: Any) -> Any:
    made = protos.message_class("SaverDef").FromString(saver_def.SerializeToString())
    for field in ("filename_tensor_name", "save_tensor_name", "restore_op_name"):
        setattr(made, field, rename(getattr(made, field)))
    return made


def _explained(error: Any, cause: str) -> Exception:
    text = (
        f"Restoring from checkpoint failed. This is most likely due to {cause} "
        f"Original error:\n\n{error.message}"
    )
    made: Exception = type(error)(error.node_def, error.op, text)
    return made


def saver_of(graph: Graph) -> Any:
    """The saver in the graph's collection of savers, or None."""
    found = graph.get_collection(GraphKeys.SAVERS)
    return found[0] if found else None
