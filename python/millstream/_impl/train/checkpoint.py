"""Checkpoints of objects: what an object and those that it holds have of variables."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from millstream._impl.base.public import public
from millstream._impl.graph.arguments import TEXT, takes
from millstream._impl.graph.default_graph import get_default_graph
from millstream._impl.train.checkpoint_nodes import CheckpointNodes, session_or_default
from millstream._impl.train.checkpoint_state import update_checkpoint_state
from millstream._impl.train.load_status import InitializationStatus, LoadStatus
from millstream._impl.train.object_graph import ObjectGraph, children_of
from millstream._impl.values import dtypes
from millstream._impl.variables.variables import Variable

_OWN = ("_checkpoint_nodes", "_save_counter", "_save_assign_op")


@public("train.Checkpoint")
class Checkpoint:
    """Saves what objects hold, by the names of attributes in place of those of variables.

    The objects are attributes: variables, optimizers, layers, other checkpoints, lists and
    dictionaries of these, and objects of the program's own classes that hold such. Each value has
    the path to it as its key, so that a checkpoint is found again when names or scopes of variables
    have changed. TensorFlow reads these checkpoints, and its own are read.

    Parameters
    ----------
    kwargs
        Objects by name. More attributes may be set later.

    Raises
    ------
    ValueError
        One of them cannot hold variables.

    Examples
    --------
    >>> import tempfile
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     v = tf.Variable(1.0)
    ...     checkpoint = tf.train.Checkpoint(parts=[v])
    ...     sess.run(v.initializer)
    ...     path = checkpoint.save(tempfile.mkdtemp() + "/ckpt")
    ...     sess.run(v.assign(5.0))
    ...     checkpoint.restore(path).assert_consumed().run_restore_ops()
    ...     print(path[-6:], float(sess.run(v)))
    5.0
    ckpt-1 1.0
    """

    def __init__(self, **kwargs: Any) -> None:
        self._checkpoint_nodes = CheckpointNodes()
        self._save_counter: Variable | None = None
        self._save_assign_op: Any = None
        for name, value in sorted(kwargs.items()):
            if children_of(value) is None:
                raise ValueError(
                    "`Checkpoint` was expecting a trackable object (a variable, an optimizer, a "
                    f"layer, a list or dictionary of these, or an object with such attributes), "
                    f"got {name}={value!r}."
                )
            setattr(self, name, value)

    if TYPE_CHECKING:  # any attributes

        def __getattr__(self, name: str) -> Any: ...

        def __setattr__(self, name: str, value: Any) -> None: ...

    def _checkpoint_children(self) -> dict[str, Any]:
        found = {name: value for name, value in vars(self).items() if name not in _OWN}
        if self._save_counter is not None:
            found["save_counter"] = self._save_counter
        return found

    def _objects(self) -> ObjectGraph:
        """The objects as they are now: those in the graph of the variables, or the default one."""
        held = ObjectGraph(self).variables()
        graph = held[0][1].graph if held else get_default_graph()
        with graph.as_default():  # optimizers have variables in several graphs
            return ObjectGraph(self)

    @property
    def save_counter(self) -> Variable:
        """How often `save` has written; an int64 variable, which is saved too."""
        if self._save_counter is None:
            held = self._objects().variables()
            graph = held[0][1].graph if held else get_default_graph()
            with (
                graph.as_default(),
                graph.name_scope(None),
                graph.control_dependencies(None),
                graph.device("/cpu:0"),
            ):
                self._save_counter = Variable(
                    0, dtype=dtypes.int64, trainable=False, name="save_counter"
                )
        return self._save_counter

    def _count(self, session: Any) -> int:
        """Raise the counter, and give its value. A new one is initialized."""
        with session.graph.as_default(), session.graph.control_dependencies(None):
            if self._save_counter is None:
                session.run(self.save_counter.initializer)
            if self._save_assign_op is None:
                self._save_assign_op = self.save_counter.assign_add(1)
        return int(session.run(self._save_assign_op))

    @takes(file_prefix=TEXT)
    def write(self, file_prefix: str, session: Any = None) -> str:
        """Write a checkpoint, without a number and without the list of the folder.

        Parameters
        ----------
        file_prefix
            The prefix of its files.
        session
            The session, by default the default one.

        Returns
        -------
        str
            The prefix.

        Raises
        ------
        ValueError
            There is no session, or a variable is in another graph than the session's.
        FailedPreconditionError
            A variable has no value.
        """
        session = session_or_default(session)
        self._checkpoint_nodes.save(session, file_prefix, self._objects())
        return file_prefix

    @takes(file_prefix=TEXT)
    def save(self, file_prefix: str, session: Any = None) -> str:
        """Write a checkpoint with the next number, and the list of its folder.

        `CheckpointManager` removes old ones as well.

        Parameters
        ----------
        file_prefix
            What stands before the number in the prefix of its files.
        session
            The session, by default the default one.

        Returns
        -------
        str
            The prefix: "ckpt-1" for the first one of "ckpt".

        Raises
        ------
        ValueError
            There is no session, or a variable is in another graph than the session's.
        FailedPreconditionError
            A variable has no value.
        """
        session = session_or_default(session)
        path = self.write(f"{file_prefix}-{self._count(session)}", session)
        update_checkpoint_state(os.path.dirname(file_prefix), path, [path])
        return path

    def restore(self, save_path: str | None) -> LoadStatus | InitializationStatus:
        """Open a checkpoint. Methods of the result give the variables their values.

        Variables may be made later: the result's methods look at what there is when they are
        called. A `tf.train.experimental.PythonState` gets its state at once. A checkpoint that
        `Saver` wrote is read by the names of the variables.

        Parameters
        ----------
        save_path
            The prefix of its files; None if there is none, so that all variables are initialized.

        Returns
        -------
        object
            With `initialize_or_restore`, `run_restore_ops`, `assert_consumed`,
            `assert_existing_objects_matched`, `assert_nontrivial_match`, `expect_partial`; and
            `report`, which says what matched.

        Raises
        ------
        NotFoundError
            There is no such checkpoint.
        DataLossError
            A file is damaged.
        """
        if save_path is None:
            status: LoadStatus | InitializationStatus = InitializationStatus(self)
        else:
            status = LoadStatus(self, os.fspath(save_path), self._checkpoint_nodes)
            status.restore_states()
        # Made now, so that it is initialized with the other variables.
        _ = self.save_counter
        return status
