"""Python functions in graphs: values, errors, threads, interruption, the end of processes."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import millstream as tf

# A guard against hanging: no wait here takes a hundredth of it, not even on a busy machine.
_HANG_GUARD_SECONDS = 300


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    """A graph and a session of its own for each test."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


# ---- Values ----


def test_a_function_gets_arrays_and_gives_arrays(session: tf.Session) -> None:
    seen = []

    def function(matrix: Any, number: Any, texts: Any, text: Any) -> Any:
        seen.extend([matrix, number, texts, text])
        return matrix * np.float32(2), np.array(matrix.shape[0], np.int64), texts, b"t\0"

    inputs = [np.ones([2, 3], np.float32), np.int32(5), np.array([b"a", b"\xff"]), "é"]
    types = [tf.float32, tf.int64, tf.string, tf.string]
    results = tf.py_func(function, inputs, types, name="called")
    assert [result.shape.ndims for result in results] == [None] * 4
    assert (results[0].op.type, results[0].op.name) == ("PyFunc", "called")
    doubled, count, texts, text = session.run(results)
    assert doubled.tolist() == [[2.0] * 3] * 2
    assert (count, texts.tolist(), text) == (2, [b"a", b"\xff"], b"t\0")
    assert (seen[0].dtype, seen[0].shape) == (np.float32, (2, 3))
    assert (seen[1], type(seen[1])) == (5, np.int32)
    assert seen[2].tolist() == [b"a", b"\xff"]
    assert seen[3] == "é".encode()


def test_one_result_may_stand_alone_and_none_is_none(session: tf.Session) -> None:
    calls: list[str] = []
    one = tf.py_func(lambda: [np.float32(1)], [], [tf.float32])
    assert isinstance(one, list)
    assert session.run(one) == [1.0]
    nothing = tf.py_func(lambda: calls.append("called"), [], [])
    assert isinstance(nothing, tf.Operation)
    session.run(nothing)
    assert calls == ["called"]


@pytest.mark.parametrize(
    ("returned", "dtype", "expected"),
    [
        (lambda: "text", tf.string, b"text"),
        (lambda: np.array(["a", "bc"]), tf.string, [b"a", b"bc"]),
        (lambda: np.array([1, 2], ">i4"), tf.int32, [1, 2]),
        (lambda: np.arange(6, dtype=np.int32).reshape(2, 3).T, tf.int32, [[0, 3], [1, 4], [2, 5]]),
        (lambda: True, tf.bool, True),
        (lambda: 1.5, tf.float64, 1.5),
        (lambda: np.zeros([0, 2], np.float32), tf.float32, []),
    ],
)
def test_whatever_numpy_makes_an_array_of_is_a_result(
    session: tf.Session, returned: Any, dtype: Any, expected: Any
) -> None:
    result = session.run(tf.py_func(returned, [], dtype))
    assert (result.tolist() if hasattr(result, "tolist") else result) == expected


def test_a_function_may_write_to_its_arguments(session: tf.Session) -> None:
    def function(x: Any) -> Any:
        x += 1
        return x

    variable = tf.Variable([1.0, 2.0])
    session.run(variable.initializer)
    constant = tf.constant([3.0])
    for _ in range(2):
        assert session.run(tf.py_func(function, [variable], tf.float32)).tolist() == [2.0, 3.0]
        assert session.run(tf.py_func(function, [constant], tf.float32)).tolist() == [4.0]
    assert session.run(variable).tolist() == [1.0, 2.0]


def test_a_result_is_a_copy(session: tf.Session) -> None:
    buffer = np.zeros(3, np.float32)
    result = session.run(tf.py_func(lambda: buffer, [], tf.float32))
    buffer += 1
    assert result.tolist() == [0.0, 0.0, 0.0]


def test_functions_without_effects_and_numpy_functions(session: tf.Session) -> None:
    stateless = tf.py_func(np.sum, [[1.0, 2.0]], tf.float32, stateful=False)
    assert stateless.op.type == "PyFuncStateless"
    assert tf.numpy_function(np.sum, [[1.0, 2.0]], tf.float32).op.type == "PyFunc"
    assert session.run(stateless) == 3.0
    assert tf.gradients(stateless, stateless.op.inputs[0]) == [None]


# ---- Errors ----


def _raises(error: BaseException) -> Callable[[], None]:
    def function() -> None:
        raise error

    return function


class _OwnError(Exception):
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("error", "expected", "text"),
    [
        (ValueError("no good"), tf.errors.InvalidArgumentError, "ValueError: no good"),
        (TypeError("no"), tf.errors.InvalidArgumentError, "TypeError: no"),
        (UnicodeError("no"), tf.errors.InvalidArgumentError, "UnicodeError: no"),
        (StopIteration(), tf.errors.OutOfRangeError, "StopIteration"),
        (MemoryError(), tf.errors.ResourceExhaustedError, "MemoryError"),
        (NotImplementedError("no"), tf.errors.UnimplementedError, "NotImplementedError: no"),
        (KeyError("k"), tf.errors.UnknownError, "KeyError: 'k'"),
        (SystemExit(3), tf.errors.UnknownError, "SystemExit: 3"),
        (KeyboardInterrupt(), tf.errors.UnknownError, "KeyboardInterrupt"),
        (RuntimeError("\0 \ud800 é"), tf.errors.UnknownError, "RuntimeError: \\0 ? é"),
        (_OwnError(), tf.errors.UnknownError, "_OwnError"),
    ],
)
def test_what_a_function_raises_is_the_typed_error_of_the_step(
    session: tf.Session, error: BaseException, expected: type[tf.errors.OpError], text: str
) -> None:
    broken = tf.py_func(_raises(error), [], tf.float32, name="broken")
    with pytest.raises(expected) as caught:
        session.run(broken)
    assert type(caught.value) is expected
    message = caught.value.message
    assert text in message
    assert "Traceback (most recent call last):" in message
    assert f'File "{__file__}"' in message
    assert "raise error" in message
    assert "script_ops.py" not in message
    assert caught.value.op is broken.op
    assert session.run(tf.py_func(lambda: 1.0, [], tf.float64)) == 1.0


@pytest.mark.parametrize(
    ("result", "tout", "text"),
    [
        (np.float64(1), tf.float32, "0-th value returned by pyfunc_"),
        (np.float64(1), tf.float32, " is float64, but expects float32"),
        ([np.float32(1), 2], [tf.float32, tf.float32], "1-th value returned by pyfunc_"),
        ((1, 2), tf.int64, " returns 2 values, but expects to see 1 values."),
        (None, tf.int64, " returns 0 values, but expects to see 1 values."),
        (1, [], " returns 1 values, but expects to see 0 values."),
        (object(), tf.float32, "TypeError: value: expected a string, got <object object"),
        (np.datetime64(0, "s"), tf.float32, "TypeError"),
        ([[[1], [1, 2]]], tf.float32, "ValueError"),
    ],
)
def test_a_result_that_is_not_what_the_operation_says_is_an_error(
    session: tf.Session, result: Any, tout: Any, text: str
) -> None:
    wrong = tf.py_func(lambda: result, [], tout, name="wrong")
    with pytest.raises(tf.errors.InvalidArgumentError, match="node 'wrong'") as caught:
        session.run(wrong)
    assert text in caught.value.message


def test_a_step_goes_by_the_shape_of_the_result_not_by_the_one_that_was_set(
    session: tf.Session,
) -> None:
    x = tf.py_func(lambda: np.ones(300_000, np.float32), [], tf.float32)
    x.set_shape([2])
    assert session.run([tf.reduce_sum(x * 2.0 + 1.0), tf.shape(x * x)]) == [900_000.0, [300_000]]


def test_what_cannot_be_called_is_refused_before_anything_is_added() -> None:
    wrong: Any
    for wrong in (3, None, "name"):
        with pytest.raises(ValueError, match="Expected func to be callable, got func of type"):
            tf.py_func(wrong, [], tf.float32)
    with pytest.raises(TypeError, match="Tout"):
        tf.py_func(len, [], object())
    assert tf.get_default_graph().get_operations() == []


# ---- Lives ----


def _run_in_a_graph_of_its_own() -> tuple[tf.Graph, weakref.ref[Any]]:
    """A graph with a function that refers to it, and to the function."""
    graph = tf.Graph()

    def function() -> Any:
        return np.float32(len(graph.get_operations()))

    with graph.as_default(), tf.Session() as session:
        result = tf.py_func(function, [], tf.float32)
        watch = weakref.ref(function)
        del function
        gc.collect()
        assert session.run(result) == 1.0
    return graph, watch


def test_the_graph_keeps_its_functions_and_lets_them_go() -> None:
    graph, watch = _run_in_a_graph_of_its_own()
    assert watch() is not None
    graph_watch = weakref.ref(graph)
    del graph
    gc.collect()
    assert graph_watch() is None
    assert watch() is None


def test_a_graph_that_was_imported_calls_functions_that_are_there(session: tf.Session) -> None:
    with tf.Graph().as_default() as first:
        tf.py_func(lambda: np.float32(3), [], tf.float32, name="three")
    with session.graph.as_default():
        imported = tf.import_graph_def(first.as_graph_def(), return_elements=["three:0"])
    assert imported is not None
    three = imported[0]
    assert session.run(three) == 3.0
    del first
    gc.collect()
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"callback pyfunc_.* is not found"):
        session.run(three)


# ---- Threads ----


def test_many_threads_call_functions_at_the_same_time(session: tf.Session) -> None:
    x = tf.placeholder(tf.float32, [None])
    doubled = tf.py_func(lambda value: value * np.float32(2), [x], tf.float32)
    failed: list[Any] = []

    def run(start: int) -> None:
        for i in range(50):
            got = session.run(doubled + 1.0, {x: [start + i]})
            if got.tolist() != [2.0 * (start + i) + 1]:
                failed.append((start, i, got))

    threads = [threading.Thread(target=run, args=[100 * i]) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(_HANG_GUARD_SECONDS)
    assert not failed


def test_functions_of_a_step_may_wait_for_each_other(session: tf.Session) -> None:
    barrier = threading.Barrier(3)

    def function(x: Any) -> Any:
        barrier.wait(_HANG_GUARD_SECONDS)
        return x

    results = [tf.py_func(function, [float(i)], tf.float32) for i in range(3)]
    assert session.run(results) == [0.0, 1.0, 2.0]


def test_a_function_may_run_steps_and_threads_with_steps(session: tf.Session) -> None:
    inner = tf.constant(20.0) + 1.0

    def function() -> Any:
        found = [session.run(inner)]
        thread = threading.Thread(target=lambda: found.append(session.run(inner)))
        thread.start()
        thread.join()
        return found[0] + found[1]

    assert session.run(tf.py_func(function, [], tf.float32)) == 42.0


def test_a_function_may_fork(session: tf.Session) -> None:
    def function() -> Any:
        child = os.fork()
        if child == 0:
            os._exit(7)
        return np.int64(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

    assert session.run(tf.py_func(function, [], tf.int64)) == 7


# ---- Steps that end while a function runs ----


class _Held:
    """A function that says that it runs, and goes on when it may."""

    def __init__(self) -> None:
        self.runs, self.may_return, self.returned = (threading.Event() for _ in range(3))

    def __call__(self) -> Any:
        self.runs.set()
        self.may_return.wait(_HANG_GUARD_SECONDS)
        self.returned.set()
        return np.float32(1)

    def let_go(self) -> None:
        """Let the function return, which nobody waits for."""
        self.may_return.set()
        assert self.returned.wait(_HANG_GUARD_SECONDS)


def test_ctrl_c_ends_a_step_whose_function_runs(session: tf.Session) -> None:
    held = _Held()
    result = tf.py_func(held, [], tf.float32)

    def interrupt() -> None:
        held.runs.wait(_HANG_GUARD_SECONDS)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        session.run(result)
    thread.join()
    held.let_go()
    assert session.run(result) == 1.0


def test_a_time_limit_ends_a_step_whose_function_runs(session: tf.Session) -> None:
    held = _Held()
    result = tf.py_func(held, [], tf.float32, name="held")
    with pytest.raises(tf.errors.DeadlineExceededError, match="waits for function 'pyfunc_"):
        session.run(result, options=tf.RunOptions(timeout_in_ms=50))
    held.let_go()


def test_a_session_is_closed_while_a_function_runs() -> None:
    held = _Held()
    session = tf.Session()
    result = tf.py_func(held, [], tf.float32)

    def close() -> None:
        held.runs.wait(_HANG_GUARD_SECONDS)
        session.close()

    thread = threading.Thread(target=close)
    thread.start()
    with pytest.raises(tf.errors.CancelledError):
        session.run(result)
    thread.join(_HANG_GUARD_SECONDS)
    held.let_go()


_PROGRAM = """
import contextlib, os, signal, sys, threading
import numpy as np
import millstream as tf
runs, never = threading.Event(), threading.Event()
def function():
    runs.set()
    while True:
        {work}
result = tf.py_func(function, [], tf.float32)
session = tf.Session()
{ending}
"""
_IN_THREAD = """
def run():
    # Python aborts where a daemon thread writes to stderr while the interpreter ends.
    with contextlib.suppress(Exception):
        session.run(result)
threading.Thread(target=run, daemon=True).start()
runs.wait()
"""
_ENDINGS = {
    "returns": (_IN_THREAD, 0),
    "exits": (_IN_THREAD + "sys.exit(3)", 3),
    "closes": (_IN_THREAD + "session.close()", 0),
    "is interrupted": (
        """
def interrupt():
    runs.wait()
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt, daemon=True).start()
try:
    session.run(result)
except KeyboardInterrupt:
    sys.exit(5)
""",
        5,
    ),
}


@pytest.mark.parametrize("work", ["pass", "never.wait()"])
@pytest.mark.parametrize("ending", _ENDINGS)
def test_a_process_ends_while_a_function_runs(ending: str, work: str) -> None:
    last, code = _ENDINGS[ending]
    program = _PROGRAM.format(work=work, ending=last)
    path = os.pathsep.join(os.path.abspath(entry) for entry in sys.path if entry)
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=dict(os.environ, PYTHONPATH=path),
        capture_output=True,
        text=True,
        timeout=_HANG_GUARD_SECONDS,
        check=False,
    )
    assert done.returncode == code, done.stderr
