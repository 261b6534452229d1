"""Checkpoints that a thread writes while training goes on."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any

import millstream._impl.ops.gen_ops as gen_ops
from millstream._impl.base import errors
from millstream._impl.graph.graph import Graph
from millstream._impl.graph.operation import Operation, Tensor
from millstream._impl.ops import control_ops
from millstream._impl.ops.array_creation import placeholder
from millstream._impl.train.save_nodes import Item, tensors_of
from millstream._impl.values import dtypes

_LOG = logging.getLogger("millstream")


class BackgroundSaves:
    """Takes snapshots of variables, and writes them in a thread.

    A snapshot holds the memory of the variables and copies nothing. An update of a variable finds
    that its memory is held, and writes its result into new memory. So a save takes as much memory
    as the variables have that change meanwhile. There is one snapshot at a time: a save waits for
    the one before it.

    Parameters
    ----------
    graph
        The graph.
    items
        What is saved.
    """

    def __init__(self, graph: Graph, items: Sequence[Item]) -> None:
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None
        tensors = tensors_of(items)
        with (
            graph.as_default(),
            graph.control_dependencies(None),
            graph.name_scope("save_in_background"),
        ):
            self._handles: Tensor = gen_ops.pack(
                [gen_ops.get_session_handle(each.value) for each in tensors], 0, name="snapshot"
            )
            self._prefix: Tensor = placeholder(dtypes.string, (), name="prefix")
            self._given: Tensor = placeholder(dtypes.string, (len(tensors),), name="handles")
            handles = gen_ops.unpack(self._given, len(tensors), 0)
            handles = list(handles) if isinstance(handles, (list, tuple)) else [handles]
            values = [
                gen_ops.get_session_tensor(handle, each.dtype)
                for handle, each in zip(handles, tensors, strict=True)
            ]
            saved = gen_ops.save_v2(
                self._prefix,
                [each.key for each in tensors],
                [each.spec for each in tensors],
                values,
            )
            with graph.control_dependencies([saved]):
                self._saved = self._dropped(handles)
            self._given_up = self._dropped(handles)

    @staticmethod
    def _dropped(handles: Sequence[Tensor]) -> Operation:
        return control_ops.group(*(gen_ops.delete_session_tensor(each) for each in handles))

    def start(self, session: Any, prefix: str, after: Callable[[], None]) -> None:
        """Take a snapshot and begin to write it.

        Parameters
        ----------
        session
            The session, whose `close` waits for the end.
        prefix
            The prefix of the checkpoint's files.
        after
            Called by the thread when they are written.

        Raises
        ------
        FailedPreconditionError
            A variable has no value.
        OpError, OSError
            The save before this one failed.
        """
        self.wait()
        handles = session.run(self._handles)
        self._thread = threading.Thread(
            target=self._finish, args=(session, prefix, handles, after), name="millstream_save"
        )
        session.call_before_close(self._join)
        self._thread.start()

    def _finish(self, session: Any, prefix: str, handles: Any, after: Callable[[], None]) -> None:
        try:
            self._write(session, prefix, handles)
            after()
        except BaseException as error:  # whatever it is, the thread that waits raises it
            _LOG.error("The checkpoint %s is not saved: %s", prefix, error)
            self._error = error

    def _write(self, session: Any, prefix: str, handles: Any) -> None:
        try:
            session.run(self._saved, {self._prefix: prefix, self._given: handles})
        except errors.OpError:
            session.run(self._given_up, {self._given: handles})
            raise

    def _join(self) -> None:
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def wait(self) -> None:
        """Wait until the last save is complete.

        Raises
        ------
        OpError, OSError
            It failed.
        """
        self._join()
        self._thread = None
        error, self._error = self._error, None
        if error is not None:
            raise error
