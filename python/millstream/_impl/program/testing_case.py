"""Test cases with a graph and sessions of their own."""

from __future__ import annotations

import os
import random
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from millstream._impl import protos
from millstream._impl.base.public import public
from millstream._impl.graph.default_graph import get_default_graph, reset_default_graph
from millstream._impl.graph.random_seed import set_random_seed
from millstream._impl.graph.stacks import STACKS
from millstream._impl.program.testing_assertions import Assertions
from millstream._impl.program.testing_environment import get_temp_dir
from millstream._impl.session.base_session import get_default_session
from millstream._impl.session.session import Session

_SEED = 87654321  # of the graph when no seed is set


class CapturedWrites:
    """What was written to a file of the process within a block.

    Parameters
    ----------
    stream, path
        The file, and that in its place.
    """

    def __init__(self, stream: Any, path: str) -> None:
        self._stream = stream
        self._path = path

    def contents(self) -> str:
        """All that was written so far."""
        if not self._stream.closed:
            self._stream.flush()
        return Path(self._path).read_text(encoding="utf-8")


class CheckedThread:
    """A thread whose exception fails the test that waits for it.

    Parameters
    ----------
    case
        The test.
    target, args, kwargs
        What the thread calls.
    """

    def __init__(
        self, case: TestCase, target: Callable[..., Any], args: Any = None, kwargs: Any = None
    ) -> None:
        self._case = case
        self._target = target
        self._args = args or ()
        self._kwargs = kwargs or {}
        self._error: BaseException | None = None
        self._was_joined = False
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        try:
            self._target(*self._args, **self._kwargs)
        except Exception as error:  # `join` fails the test with it
            self._error = error

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def join(self) -> None:
        """Wait for the end of the thread; fail the test if it raised an error."""
        self._was_joined = True
        self._thread.join()
        if self._error is not None:
            self._case.fail(f"Error in checkedThread: {self._error!r}")

    def is_alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

    def check_termination(self) -> None:
        """Fail the test if the thread runs, or was not waited for."""
        if self._thread.ident is None:
            return
        if self.is_alive():
            self._case.fail("Thread was not joined with main thread, and is still running")
        if not self._was_joined:
            self._case.fail("A checked thread was not joined")


@public("test.TestCase")
class TestCase(Assertions):
    """A test case of Python's ``unittest`` for graphs.

    Each test begins with a new default graph and with the same random numbers.

    Parameters
    ----------
    methodName
        The name of the test's method.

    Examples
    --------
    >>> class SquareTest(tf.test.TestCase):
    ...     def testSquare(self):
    ...         with self.session():
    ...             self.assertAllEqual(tf.square([2, 3]).eval(), [4, 9])
    >>> import unittest
    >>> with tf.Graph().as_default():
    ...     result = SquareTest("testSquare").run()
    >>> result.wasSuccessful()
    True
    """

    def __init__(self, methodName: str = "runTest") -> None:  # noqa: N803
        super().__init__(methodName)
        self._threads: list[CheckedThread] = []
        self._tempdir: str | None = None
        self._cached: tuple[Session, Any] | None = None

    def setUp(self) -> None:
        """Begin with a new graph and with the same random numbers."""
        super().setUp()
        if self.id().endswith(".test_session"):
            self.skipTest("Not a test.")
        self._forget_session()
        random.seed(_SEED)
        np.random.seed(_SEED)  # noqa: NPY002  (what tests draw from)
        if not STACKS.graphs:
            reset_default_graph()
        set_random_seed(_SEED)

    def tearDown(self) -> None:
        """Fail if a checked thread has not ended; close the cached session."""
        for thread in self._threads:
            thread.check_termination()
        self._forget_session()
        super().tearDown()

    def _forget_session(self) -> None:
        if self._cached is not None:
            self._cached[0].close()
            self._cached = None

    def get_temp_dir(self) -> str:
        """A folder of this test's own, which `tf.test.get_temp_dir` holds."""
        if self._tempdir is None:
            self._tempdir = tempfile.mkdtemp(dir=get_temp_dir())
        return self._tempdir

    # ---- Sessions ----

    @contextmanager
    def session(
        self,
        graph: Any = None,
        config: Any = None,
        use_gpu: bool = False,
        force_gpu: bool = False,
    ) -> Iterator[Session]:
        """A block with a new session, which is the default one.

        Parameters
        ----------
        graph
            The graph, by default the default one.
        config
            A ``ConfigProto``; by default, what a device cannot run runs on the CPU.
        use_gpu
            Whether operations that ask for no device may run elsewhere than on the CPU.
        force_gpu
            Whether they must run on a GPU.
        """
        with (
            Session(graph=graph, config=_config(config, force_gpu)) as session,
            _placed(session, use_gpu, force_gpu),
        ):
            yield session

    @contextmanager
    def cached_session(
        self,
        graph: Any = None,
        config: Any = None,
        use_gpu: bool = False,
        force_gpu: bool = False,
    ) -> Iterator[Session]:
        """A block with the test's session, which is the same one in each such block.

        Parameters
        ----------
        graph, config, use_gpu, force_gpu
            As for `session`, and the same in each block.

        Raises
        ------
        ValueError
            An argument differs from that of the first block.
        """
        wanted = (graph or get_default_graph(), config, force_gpu)
        if self._cached is None:
            self._cached = (Session(graph=graph, config=_config(config, force_gpu)), wanted)
        session, given = self._cached
        for name, one, other in zip(("graph", "config", "force_gpu"), wanted, given, strict=True):
            if one is not other and one != other:
                raise ValueError(
                    f"The {name} used to get the cached session is different than the one that "
                    "was used to create the session; use self.session() for another session"
                )
        with session.graph.as_default(), session.as_default(), _placed(session, use_gpu, force_gpu):
            yield session

    @contextmanager
    def test_session(
        self,
        graph: Any = None,
        config: Any = None,
        use_gpu: bool = False,
        force_gpu: bool = False,
    ) -> Iterator[Session]:
        """`session` for a graph that is given, `cached_session` otherwise; an old name.

        Parameters
        ----------
        graph, config, use_gpu, force_gpu
            As for `session`.
        """
        make = self.cached_session if graph is None else self.session
        with make(graph, config, use_gpu, force_gpu) as session:
            yield session

    def evaluate(self, tensors: Any) -> Any:
        """The values of tensors in a nested structure, in the default session or the cached one.

        Parameters
        ----------
        tensors
            What `Session.run` fetches.
        """
        session = get_default_session()
        if session is not None:
            return session.run(tensors)
        with self.test_session() as own:
            return own.run(tensors)

    # ---- Streams ----

    @contextmanager
    def captureWritesToStream(self, stream: Any) -> Iterator[CapturedWrites]:  # noqa: N802
        """A block in which a file of the process, as ``sys.stderr``, is written to another one.

        What the runtime writes is captured as well as what Python writes.

        Parameters
        ----------
        stream
            The file, which has a descriptor.
        """
        stream.flush()
        descriptor = stream.fileno()
        kept = os.dup(descriptor)
        captured, path = tempfile.mkstemp(dir=self.get_temp_dir())
        os.dup2(captured, descriptor)
        os.close(captured)
        try:
            yield CapturedWrites(stream, path)
        finally:
            stream.flush()
            os.dup2(kept, descriptor)
            os.close(kept)

    # ---- Threads ----

    def checkedThread(  # noqa: N802
        self, target: Callable[..., Any], args: Any = None, kwargs: Any = None
    ) -> CheckedThread:
        """A thread whose error fails the test; it must be waited for by ``join``.

        Parameters
        ----------
        target, args, kwargs
            What the thread calls.
        """
        made = CheckedThread(self, target, args, kwargs)
        self._threads.append(made)
        return made


def _config(config: Any, force_gpu: bool) -> Any:
    if config is not None:
        return config
    return protos.message_class("ConfigProto")(allow_soft_placement=not force_gpu)


@contextmanager
def _placed(session: Session, use_gpu: bool, force_gpu: bool) -> Iterator[None]:
    """A block whose operations are on the device that a test asks for."""
    with ExitStack() as stack:
        if force_gpu:
            stack.enter_context(session.graph.device("/device:GPU:0"))
        elif not use_gpu:
            stack.enter_context(session.graph.device("/device:CPU:0"))
        yield


@public("test.assert_equal_graph_def")
def assert_equal_graph_def(
    actual: Any, expected: Any, checkpoint_v2: bool = False, hash_table_shared_name: bool = False
) -> None:
    """Raise AssertionError unless two graphs have the same nodes, in any order.

    Parameters
    ----------
    actual, expected
        The graphs.
    checkpoint_v2, hash_table_shared_name
        Not used.

    Raises
    ------
    TypeError
        One of them is no ``GraphDef``.
    AssertionError
        It names the first node that differs.

    Examples
    --------
    >>> x = tf.constant(1.0, name="x")
    >>> graph_def = x.graph.as_graph_def()
    >>> tf.test.assert_equal_graph_def(graph_def, graph_def)
    """
    kind = protos.message_class("GraphDef")
    for name, value in (("actual", actual), ("expected", expected)):
        if not isinstance(value, kind):
            raise TypeError(f"Expected tf.GraphDef for {name}, got {type(value).__name__}")
    found = {node.name: node for node in actual.node}
    for node in expected.node:
        other = found.pop(node.name, None)
        if other is None:
            raise AssertionError(f"The node {node.name!r} is expected and missing")
        if other != node:
            raise AssertionError(f"The node {node.name!r} differs: expected\n{node}got\n{other}")
    for name in found:
        raise AssertionError(f"The node {name!r} is not expected")
