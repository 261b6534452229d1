"""Steps that end early: Ctrl-C, time limits, and what is usable afterwards."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import millstream as tf

# A guard against hanging: no wait here takes a hundredth of it, not even on a busy machine.
_HANG_GUARD_SECONDS = 300
_HANGS = f"a guard against hanging: this did not end within {_HANG_GUARD_SECONDS} s"


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    """A graph of its own for each test."""
    with tf.Graph().as_default() as graph:
        yield graph


# ---- One kernel that takes long ----


def _filled(*shape: int, dtype: Any = np.float32) -> tuple[tf.Tensor, dict[tf.Tensor, np.ndarray]]:
    x = tf.placeholder(dtype, shape)
    return x, {x: np.ones(shape, dtype)}


def _product(transposed: bool) -> Any:
    x, feed = _filled(3000, 3000)
    return tf.matmul(x, x, transpose_b=transposed), feed


def _product_of_doubles() -> Any:
    x, feed = _filled(1500, 1500, dtype=np.float64)
    return tf.matmul(x, x), feed


def _products() -> Any:
    x, feed = _filled(100, 512, 512)
    return tf.matmul(x, x), feed


def _elementwise() -> Any:
    x, feed = _filled(40_000_000, dtype=np.float64)
    return tf.exp(x), feed


def _fused_elementwise() -> Any:
    x, feed = _filled(40_000_000)
    y = x
    for _ in range(5):
        y = tf.tanh(tf.exp(y))
    return y, feed


def _broadcast() -> Any:
    x, feed = _filled(5000, 1)
    y, other = _filled(1, 5000)
    return tf.pow(x, y), {**feed, **other}


def _reduction() -> Any:
    x, feed = _filled(60_000_000, dtype=np.complex64)
    return tf.reduce_prod(x), feed


def _arg_max() -> Any:
    x, feed = _filled(200_000, 500)
    return tf.argmax(x, 1), feed


def _softmax() -> Any:
    x, feed = _filled(40_000, 1000)
    return tf.nn.softmax(x), feed


def _convolution() -> Any:
    x, feed = _filled(24, 80, 80, 128)
    w, filters = _filled(3, 3, 128, 128)
    return tf.nn.conv2d(x, w, [1, 1, 1, 1], "SAME"), {**feed, **filters}


def _random() -> Any:
    return tf.random_normal([60_000_000]), {}


def _truncated() -> Any:
    return tf.truncated_normal([60_000_000]), {}


_LONG: dict[str, Callable[[], Any]] = {
    "product": lambda: _product(False),
    "product with a transposed operand": lambda: _product(True),
    "product of doubles": _product_of_doubles,
    "batch of products": _products,
    "elementwise": _elementwise,
    "fused": _fused_elementwise,
    "broadcast": _broadcast,
    "reduction": _reduction,
    "arg max": _arg_max,
    "softmax": _softmax,
    "convolution": _convolution,
    "random": _random,
    "truncated": _truncated,
}


def _timeout(session: tf.Session, target: tf.Operation, feed: Any, limit: int) -> str:
    """Return the message of a step that its time limit ends in or behind a node.

    On a busy machine the time may be over before the first node has begun, and then is tried again.
    """
    message = ""
    for _ in range(20):
        with pytest.raises(tf.errors.DeadlineExceededError) as caught:
            session.run(target, feed, options=tf.RunOptions(timeout_in_ms=limit))
        message = caught.value.message
        if "node '" in message:
            break
    return message


@pytest.mark.parametrize("name", _LONG)
def test_a_long_kernel_ends_at_the_time_limit_and_is_named(name: str) -> None:
    y, feed = _LONG[name]()
    # Had the kernel not asked before its end, the step would have ended well.
    with tf.Session() as session:
        message = _timeout(session, y.op, feed, 5)
        assert "the step took longer than 5 ms" in message
        assert "node '" in message
        assert session.run(tf.constant(1.0)) == 1.0


def test_a_step_of_short_kernels_names_the_last_that_ran() -> None:
    x, feed = _filled(256, 256)
    y = x
    for i in range(2000):
        y = tf.matmul(y, x, name=f"product_{i}")
    with tf.Session() as session:
        assert "last ran node 'product_" in _timeout(session, y.op, feed, 20)


def test_the_configuration_limits_every_step() -> None:
    y, feed = _product_of_doubles()
    config = tf.ConfigProto(operation_timeout_in_ms=5)
    with tf.Session(config=config) as session, pytest.raises(tf.errors.DeadlineExceededError):
        session.run(y.op, feed)


# ---- Ctrl-C ----


def _interrupt(session: tf.Session, y: tf.Tensor, feed: Any, delay: float) -> None:
    """Expect KeyboardInterrupt of steps that run until a signal comes."""
    timer = threading.Timer(delay, os.kill, [os.getpid(), signal.SIGINT])

    def run_forever() -> None:
        timer.start()
        end = time.monotonic() + _HANG_GUARD_SECONDS
        while time.monotonic() < end:
            session.run(y.op, feed)
        pytest.fail(_HANGS)

    with pytest.raises(KeyboardInterrupt):
        run_forever()
    timer.join()


@pytest.mark.parametrize("name", ["product", "elementwise", "convolution"])
def test_control_c_ends_a_long_kernel_and_leaves_the_session_usable(name: str) -> None:
    y, feed = _LONG[name]()
    w = tf.Variable(3.0)
    with tf.Session() as session:
        session.run(w.initializer)
        for _ in range(2):
            _interrupt(session, y, feed, 0.1)
            assert session.run(w) == 3.0


def test_control_c_ends_a_step_of_several_devices() -> None:
    with tf.device("/cpu:0"):
        x = tf.random_uniform([512, 512])
    y = x
    for i in range(400):
        with tf.device(f"/cpu:{i % 2}"):
            y = tf.matmul(y, x) * 1e-9
    for threads in (1, 2):
        config = tf.ConfigProto(device_count={"CPU": 2}, inter_op_parallelism_threads=threads)
        with tf.Session(config=config) as session:
            _interrupt(session, y, {}, 0.1)
            assert session.run(tf.constant(1.0)) == 1.0


# Each attempt is announced where the interrupt is caught.
_PROGRAM = """
import numpy as np
import millstream as tf
x = tf.placeholder(tf.float32, [2500, 2500])
y = tf.matmul(x, x)
value = np.ones([2500, 2500], np.float32)
session = tf.Session()
session.run(y.op, {x: value})
for attempt in (1, 2):
    try:
        print("attempt", attempt, flush=True)
        while True:
            session.run(y.op, {x: value})
    except KeyboardInterrupt:
        pass
print(session.run(tf.constant(7)) + len(input()), flush=True)
"""


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


def _read_until(terminal: int, text: bytes) -> bytes:
    seen = b""
    while text not in seen:
        assert select.select([terminal], [], [], _HANG_GUARD_SECONDS)[0], (_HANGS, seen)
        seen += os.read(terminal, 1000)
    return seen


def _open_terminal() -> tuple[int, int]:
    try:
        return pty.openpty()
    except OSError as error:
        pytest.skip(f"this container has no pseudo-terminals: {error}")


def test_control_c_twice_at_a_terminal_leaves_it_usable() -> None:
    terminal, end_of_child = _open_terminal()
    before = termios.tcgetattr(terminal)
    child = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM],
        stdin=end_of_child,
        stdout=end_of_child,
        stderr=end_of_child,
        env=_environment(),
        # A session of its own, of which this is the terminal, so that ^C gets there.
        start_new_session=True,
        preexec_fn=lambda: __import__("fcntl").ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(end_of_child)
    try:
        for attempt in (b"attempt 1", b"attempt 2"):
            _read_until(terminal, attempt)
            time.sleep(0.1)  # so that the signal mostly comes within a step; it may come before
            os.write(terminal, b"\x03")
        assert termios.tcgetattr(terminal) == before
        os.write(terminal, b"abc\n")
        output = _read_until(terminal, b"10")
        assert b"abc" in output, "the terminal shows what is typed"
        assert child.wait(_HANG_GUARD_SECONDS) == 0
    finally:
        child.kill()
        child.wait()
        os.close(terminal)


_TWO_AT_ONCE = """
import os, signal, sys, threading, time
import millstream as tf
x = tf.random_uniform([1500, 1500])
y = tf.matmul(x, x)
session = tf.Session()
session.run(y.op)
both_sent = threading.Event()
def interrupt():
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(float(sys.argv[1]))
    os.kill(os.getpid(), signal.SIGINT)
    both_sent.set()
caught = 0
try:
    try:
        threading.Timer(0.1, interrupt).start()
        while True:
            session.run(y.op)
    except KeyboardInterrupt:
        caught += 1
        both_sent.wait()
except KeyboardInterrupt:
    caught += 1
assert caught >= 1
assert session.run(tf.constant(7)) == 7
"""


# A loop that does not end: what does not hear the signal is there until it is killed.
_OTHER_MAIN_THREADS = """
import os, signal, sys, threading
FLOAT = 'attr { key: "T" value { type: DT_FLOAT } }'
ENTER = 'attr { key: "frame_name" value { s: "loop" } }' + FLOAT
NODES = [
    ("enter", "Enter", ["zero"], ENTER),
    ("limit", "Enter", ["one"], ENTER + 'attr { key: "is_constant" value { b: true } }'),
    ("merge", "Merge", ["enter", "next"], FLOAT + 'attr { key: "N" value { i: 2 } }'),
    ("less", "Less", ["merge", "limit"], FLOAT),
    ("cond", "LoopCond", ["less"], ""),
    ("switch", "Switch", ["merge", "cond"], FLOAT),
    ("twice", "Add", ["switch:1", "switch:1"], FLOAT),
    ("next", "NextIteration", ["twice"], FLOAT),
    ("exit", "Exit", ["switch"], FLOAT),
]
def endless():
    from millstream import _runtime
    text = "".join(
        f'node {{ name: "{name}" op: "{op}" {attrs} '
        + " ".join(f'input: "{one}"' for one in inputs) + "}"
        for name, op, inputs, attrs in NODES
    )
    definition = tf.GraphDef.FromString(_runtime.message_parse_text("GraphDef", text))
    given = {name: tf.placeholder(tf.float32, []) for name in ("zero", "one")}
    (exit,) = tf.import_graph_def(definition, given, ["exit:0"], name="")
    return exit, list(given.values())
def interrupted():
    session = tf.Session()
    exit, feeds = endless()
    step = session.make_callable(exit, feeds)
    assert step(3.0, 4.0) == 6.0
    try:
        threading.Timer(0.2, os.kill, [os.getpid(), signal.SIGINT]).start()
        step(0.0, 1.0)
    except KeyboardInterrupt:
        print("interrupted", step(1.0, 4.0), flush=True)
def forked():
    if os.fork() > 0:
        return os.wait()
    try:
        interrupted()
    finally:
        os._exit(0)
def import_it():
    global tf
    import millstream as tf
def in_another_thread(body):
    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
if sys.argv[1] == "imported":
    in_another_thread(import_it)
    interrupted()
else:
    import_it()
    in_another_thread(forked)
"""


@pytest.mark.parametrize("how", ["imported", "forked"])
def test_control_c_is_heard_whichever_thread_imported_the_package_or_forked(how: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _OTHER_MAIN_THREADS, how],
        env=_environment(),
        capture_output=True,
        text=True,
        timeout=_HANG_GUARD_SECONDS,
    )
    assert done.stdout == "interrupted 4.0\n", done.stderr


@pytest.mark.parametrize("pause", [0, 0.001, 0.03])
def test_two_signals_at_once_are_no_crash(pause: float) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _TWO_AT_ONCE, str(pause)],
        env=_environment(),
        capture_output=True,
        text=True,
        timeout=_HANG_GUARD_SECONDS,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_signals_in_the_middle_of_products_do_no_harm() -> None:
    enough = 100  # signals; a step sees one at the most
    # The library's code for AVX-512 has its stack pointer in the heap meanwhile: handlers need a
    # stack of their own (kernels/matmul/signal_stack.h). Without it the process ends here.
    x, feed = _filled(100, 200, 200)
    y = tf.matmul(x, x)
    count = 0

    def handler(*_: object) -> None:
        nonlocal count
        count += 1

    with tf.Session() as session:
        expected = session.run(y, feed)
        previous = signal.signal(signal.SIGALRM, handler)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
            while count < enough:
                np.testing.assert_array_equal(session.run(y, feed), expected)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, previous)
