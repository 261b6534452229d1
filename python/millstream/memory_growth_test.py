"""Resident memory stays where it is, whatever a program does for how long.

Each case runs in a process of its own, which reports its resident memory in MiB after a tenth and
at the end.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

_MOST_GROWTH = 32.0  # MiB

_PRELUDE = """
import gc, sys
import numpy as np
import millstream as tf

def resident():
    gc.collect()
    return int(open("/proc/self/statm").read().split()[1]) * 4096 / 2**20

def repeat(count, body):
    for i in range(count):
        body(i)
        if i == count // 10:
            start = resident()
    print(start, resident())

def model():
    x = tf.placeholder(tf.float32, [None, 64])
    w = tf.Variable(np.full([64, 32], 0.01, np.float32))
    loss = tf.reduce_mean(tf.square(tf.nn.relu(tf.matmul(x, w))))
    step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    return x, loss, step, tf.global_variables_initializer()

def batch(size):
    return np.ones([size, 64], np.float32)
"""

_CASES = {
    "10,000 steps of changing shapes": """
x, loss, step, initializer = model()
session = tf.Session()
session.run(initializer)
repeat(10_000, lambda i: session.run([step, loss], {x: batch(1 + i * 7 % 3001)}))
""",
    "1,000 sessions": """
x, loss, step, initializer = model()
def body(i):
    with tf.Session() as session:
        session.run(initializer)
        session.run([step, loss], {x: batch(8)})
repeat(1_000, body)
""",
    "1,000 graphs": """
with tf.Graph().as_default() as graph:
    model()
exported = graph.as_graph_def()
def body(i):
    with tf.Graph().as_default():
        tf.import_graph_def(exported, name="")
repeat(1_000, body)
""",
    "1,000,000 steps of a small graph": """
x = tf.placeholder(tf.float32, [4])
session = tf.Session()
step = session.make_callable(x * 2.0, [x])
fed = np.ones(4, np.float32)
repeat(1_000_000, lambda i: step(fed))
""",
}


@pytest.mark.parametrize("case", _CASES)
def test_memory_is_flat(case: str) -> None:
    program = _PRELUDE + _CASES[case]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        timeout=280,
    )
    start, end = map(float, done.stdout.split())
    print(f"{case}: {start:.1f} MiB after a tenth, {end:.1f} MiB at the end")
    assert end - start < _MOST_GROWTH
