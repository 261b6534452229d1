"""The end of a process: in every order, with threads that run steps, and of forked children."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

# A step of each kind: variables, the threads of libraries, several devices.
_STEPS = {
    "variables": """
v = tf.Variable(np.ones([300, 300], np.float32))
y = tf.assign_add(v, tf.matmul(tf.random_uniform([300, 300]), v) * 1e-6)
start = v.initializer
""",
    "products": """
x = tf.random_uniform([800, 800])
y = x
for _ in range(20):
    y = tf.matmul(y, x) * 1e-9
start = tf.no_op()
""",
    "devices": """
with tf.device("/cpu:0"):
    x = tf.random_uniform([300, 300])
with tf.device("/cpu:1"):
    y = tf.matmul(x, x)
with tf.device("/cpu:0"):
    y = tf.reduce_sum(tf.matmul(y, y))
start = tf.no_op()
""",
}

_PROGRAM = """
import atexit, gc, os, sys, threading, time
import numpy as np
import millstream as tf
{graph}
config = tf.ConfigProto(device_count={{"CPU": 2}}, inter_op_parallelism_threads=2)
session = tf.Session(config=config)
session.run(start)
session.run(y)
running = threading.Event()
def keep_running(session, y):
    while True:
        try:
            session.run(y)
        # It was closed before the step, or within; or the process ends, and refuses further steps.
        except (RuntimeError, tf.errors.CancelledError, tf.errors.FailedPreconditionError):
            return
        running.set()
for _ in range({threads}):
    threading.Thread(target=keep_running, args=[session, y], daemon=True).start()
if {threads}:
    running.wait()
    time.sleep(0.05)
{ending}
"""

# What a program does last, its exit code, and the last line of what it says.
_ENDINGS = {
    "returns": ("", 0, ""),
    "exits": ("sys.exit(3)", 3, ""),
    "raises": ("raise ValueError('at the top')", 1, "ValueError: at the top"),
    "ends at once": ("os._exit(4)", 4, ""),
    "closes": ("session.close()", 0, ""),
    "closes and exits": ("session.close()\nsys.exit(3)", 3, ""),
    "closes at exit": ("atexit.register(session.close)", 0, ""),
    "runs at exit": ("atexit.register(lambda: session.run(y))", 0, ""),
    "drops all": ("del session, y, start, config", 0, ""),
    "a cycle": ("class Node: pass\nnode = Node()\nnode.all = node, session, y\ndel session", 0, ""),
    "another session": ("other = tf.Session()\nother.run(tf.constant(1.0))\nsys.exit(3)", 3, ""),
    "a thread exits": (
        "thread = threading.Thread(target=sys.exit, args=[5])\nthread.start()\nthread.join()",
        0,
        "",
    ),
}


# A guard against hanging: no process here takes a hundredth of it.
_HANG_GUARD_SECONDS = 300


def _run(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=_HANG_GUARD_SECONDS,
    )


@pytest.mark.parametrize(
    ("step", "threads"), [("variables", 0), ("variables", 2), ("products", 2), ("devices", 2)]
)
@pytest.mark.parametrize("ending", _ENDINGS)
def test_a_process_ends_as_it_says(ending: str, step: str, threads: int) -> None:
    text, code, says = _ENDINGS[ending]
    done = _run(_PROGRAM.format(graph=_STEPS[step], threads=threads, ending=text))
    assert done.returncode == code, done.stderr
    assert done.stderr.strip().rpartition("\n")[2] == says
    assert done.stdout == ""


# A step of products is cut off while libraries compute. One attempt often misses the moment.
def test_threads_within_kernels_are_no_harm_at_exit() -> None:
    program = _PROGRAM.format(graph=_STEPS["products"], threads=3, ending="sys.exit(3)")
    for _ in range(8):
        done = _run(program)
        assert (done.returncode, done.stderr) == (3, "")


_ORDERS = """
import gc, itertools
import numpy as np
import millstream as tf
def make():
    graph = tf.Graph()
    with graph.as_default():
        v = tf.Variable(np.ones([30], np.float32))
        x = tf.placeholder(tf.float32, [30])
        y = v * x
    session = tf.Session(graph=graph)
    session.run(v.initializer)
    step = session.make_callable(y, [x])
    return {"graph": graph, "v": v, "y": y, "session": session, "step": step,
            "fetched": step(np.ones([30], np.float32))}
for order in itertools.permutations(make()):
    things = make()
    fetched = things["fetched"]
    for name in order:
        del things[name]
    assert fetched.sum() == 30
    del fetched
gc.collect()
left = make()
left["self"] = left
"""


def test_things_may_go_in_any_order() -> None:
    done = _run(_ORDERS)
    assert (done.returncode, done.stderr) == (0, "")


# ---- Crashes ----

# The heap is broken where malloc finds it, with its locks held: what handles the signal may not
# allocate. The thread is older than the library, so that the thread's data of that are not there
# yet.
_BROKEN_HEAP = """
import ctypes, threading
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
libc.memset.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
ready = threading.Event()
def crash():
    libc.malloc(1)
    ready.wait()
    libc.memset(libc.malloc(3000), 255, 3064)
    for size in range(9000, 200000, 1000):
        libc.malloc(size)
thread = threading.Thread(target=crash)
thread.start()
import millstream as tf
with tf.Session() as session:
    session.run(tf.constant(1.0))
ready.set()
thread.join()
"""


@pytest.mark.parametrize("preload", ["", "libc_malloc_debug.so.0"])
def test_a_crash_within_malloc_ends_the_process(
    preload: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LD_PRELOAD", preload)
    monkeypatch.setenv("MALLOC_CHECK_", "3" if preload else "")
    assert _run(_BROKEN_HEAP).returncode in (-signal.SIGABRT, -signal.SIGSEGV)


# ---- Forks ----

_FORKS = """
import multiprocessing, os, subprocess, sys
import numpy as np
import millstream as tf
x = tf.random_uniform([300, 300])
total = tf.reduce_sum(tf.matmul(x, x))
SENTENCE = "this process was forked from one that had a session"
def refused(queue=None):
    try:
        session.run(total)
        text = "ran"
    except tf.errors.FailedPreconditionError as error:
        text = error.message
    if queue is None:
        return text
    queue.put(text)
with tf.Session() as session:
    session.run(total)
    child = os.fork()
    if child == 0:
        os._exit(0 if refused().startswith(SENTENCE) else 1)
    assert os.waitpid(child, 0)[1] == 0
    session.run(total)
    # The child leaves the block, and its interpreter ends as any other.
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        sys.exit(0 if refused().startswith(SENTENCE) else 1)
    assert os.waitpid(child, 0)[1] == 0
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    process = context.Process(target=refused, args=[queue])
    process.start()
    assert queue.get().startswith(SENTENCE)
    process.join()
    assert process.exitcode == 0
    assert subprocess.run([sys.executable, "-c", "print(1)"], capture_output=True).stdout == b"1\\n"
    session.run(total)
"""


def test_forked_children_get_a_sentence_and_the_parent_goes_on() -> None:
    done = _run(_FORKS)
    assert (done.returncode, done.stderr) == (0, "")
