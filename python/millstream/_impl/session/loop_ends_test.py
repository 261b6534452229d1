"""Long loops in each form that the runtime has for them: they end early, and keep memory flat."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import millstream as tf

# A guard against hanging.
_HANG_GUARD_SECONDS = 300

# More iterations than any machine runs within the guard.
_ENDLESS = 2_000_000_000


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    """A graph of its own for each test."""
    with tf.Graph().as_default() as graph:
        yield graph


def _scalar_loop(limit: int) -> tuple[Any, Any]:
    x = tf.placeholder(tf.float32, [])
    loop = tf.while_loop(lambda i, _: i < limit, lambda i, y: (i + 1, y * 0.5 + 1.0), [0, x])
    return loop[1], {x: 3.0}


def _row_loop(limit: int) -> tuple[Any, Any]:
    x = tf.placeholder(tf.float32, [4096])
    loop = tf.while_loop(lambda i, _: i < limit, lambda i, y: (i + 1, y * 0.5 + 1.0), [0, x])
    return loop[1], {x: np.ones(4096, np.float32)}


def _long_row_loop(limit: int) -> tuple[Any, Any]:
    # No part of the rows is worth a question alone.
    steps = min(limit, 500)
    x = tf.placeholder(tf.float32, [8 if limit < 500 else 30_000_000])
    loop = tf.while_loop(lambda i, _: i < steps, lambda i, y: (i + 1, y * 0.5 + 1.0), [0, x])
    return loop[1], {x: np.ones(x.shape.as_list(), np.float32)}


def _map(count: int) -> tuple[Any, Any]:
    x = tf.placeholder(tf.float32, [min(count, 64), 600_000])
    value = tf.map_fn(lambda row: tf.atan(tf.exp(tf.sin(row) + tf.cos(row))), x)
    return value, {x: np.ones(x.shape.as_list(), np.float32)}


def _products(count: int) -> tuple[Any, Any]:
    size = 8 if count < 64 else 1024
    x = tf.placeholder(tf.float32, [size, size])
    steps = min(count, 64)
    loop = tf.while_loop(lambda i, _: i < steps, lambda i, y: (i + 1, tf.matmul(y, x)), [0, x])
    return loop[1], {x: np.zeros([size, size], np.float32)}


# The passes that are switched off, the loop, and an operation of the step; of frames, none.
_FORMS: dict[str, tuple[list[str], Callable[[int], Any], str]] = {
    "frames": (["raise_loops"], _scalar_loop, ""),
    "a plan": (["compile_loops", "vectorize_maps"], _scalar_loop, "_Loop"),
    "a program of scalars": ([], _scalar_loop, "_ScalarLoop"),
    "rows one after the other": ([], _row_loop, "_ScanRows"),
    "long rows one after the other": ([], _long_row_loop, "_ScanRows"),
    "all rows at once": ([], _map, "_FusedElementwise"),
    "its iterations": ([], _products, "MatMul"),
}


def _session(form: str) -> tf.Session:
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.disabled_passes.extend(_FORMS[form][0])
    return tf.Session(config=config)


@pytest.mark.parametrize("form", _FORMS)
def test_the_loop_has_the_form(form: str) -> None:
    y, feed = _FORMS[form][1](5)
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    with _session(form) as session:
        session.run(y, feed, options=options, run_metadata=metadata)
    labels = [
        node.timeline_label
        for device in metadata.step_stats.dev_stats
        for node in device.node_stats
    ]
    ops = {label.split(" = ")[1].split("(")[0] for label in labels}
    ops_of_forms = {"_Loop", "_ScalarLoop", "_ScanRows"}
    expected = _FORMS[form][2]
    assert ops & ops_of_forms == {expected} & ops_of_forms
    assert not expected or expected in ops


@pytest.mark.parametrize("form", _FORMS)
def test_a_long_loop_ends_at_the_time_limit(form: str) -> None:
    y, feed = _FORMS[form][1](_ENDLESS)
    with _session(form) as session:
        with pytest.raises(tf.errors.DeadlineExceededError, match="longer than 20 ms"):
            session.run(y, feed, options=tf.RunOptions(timeout_in_ms=20))
        assert session.run(tf.constant(1.0)) == 1.0


@pytest.mark.parametrize("form", _FORMS)
def test_control_c_ends_a_long_loop(form: str) -> None:
    y, feed = _FORMS[form][1](_ENDLESS)
    with _session(form) as session:
        timer = threading.Timer(0.1, os.kill, [os.getpid(), signal.SIGINT])

        def run_until_the_signal() -> None:
            timer.start()
            for _ in range(10_000):
                session.run(y, feed)

        with pytest.raises(KeyboardInterrupt):
            run_until_the_signal()
        timer.join()
        assert session.run(tf.constant(1.0)) == 1.0


# Prints the most memory that the process had, in MiB, after a short loop and after a long one.
_PEAKS = """
import resource, sys
import millstream as tf
config = tf.ConfigProto()
config.graph_options.rewrite_options.disabled_passes.extend(sys.argv[2:])
x = tf.placeholder(tf.float32, [int(sys.argv[1])] if int(sys.argv[1]) else [])
fed = [1.0] * int(sys.argv[1]) if int(sys.argv[1]) else 1.0
def loop(count):
    last = tf.while_loop(lambda i, _: i < count, lambda i, y: (i + 1, y * 0.5 + 1.0), [0, x])[1]
    with tf.Session(config=config) as session:
        session.run(last, {x: fed})
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
loop(1_000)
print(loop(10_000), loop(1_000_000))
"""

_MOST_GROWTH = 4.0  # MiB: four bytes for each iteration


@pytest.mark.parametrize("form", list(_FORMS)[:4])
def test_a_million_iterations_take_no_memory(form: str) -> None:
    columns = "16" if form == "rows one after the other" else "0"
    done = subprocess.run(
        [sys.executable, "-c", _PEAKS, columns, *_FORMS[form][0]],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        timeout=_HANG_GUARD_SECONDS,
    )
    short, long = (float(number) for number in done.stdout.split())
    print(f"{form}: at most {short:.1f} MiB in a short loop, {long:.1f} MiB in a long one")
    assert long - short < _MOST_GROWTH
