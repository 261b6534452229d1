"""Resident memory stays where it is, whatever a program does for how long.

Each case runs in a process of its own, which reports its resident memory in MiB after a tenth, or
so many steps as fill what is bounded, and at the end. So do those of memory that is given back.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

# Too little for a session that leaks in each round, or for some bytes of each step.
_MOST_GROWTH = 2.0  # MiB

_PRELUDE = """
import gc, sys
import numpy as np
import millstream as tf

def resident():
    gc.collect()
    return int(open("/proc/self/statm").read().split()[1]) * 4096 / 2**20

def repeat(count, body, first=None):
    for i in range(count):
        body(i)
        if i == (first or count // 10):
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
    # Of these a session keeps about an eighth; what a tensor keeps of its first fetch is no growth.
    "8,000 kinds of step": """
x = tf.placeholder(tf.float32, [4])
fetches = [x * float(i) for i in range(8_000)]
session = tf.Session()
fed = np.ones(4, np.float32)
repeat(16_000, lambda i: session.run(fetches[i % 8_000], {x: fed}), first=8_000)
""",
    "1,000,000 steps of a small graph": """
x = tf.placeholder(tf.float32, [4])
session = tf.Session()
step = session.make_callable(x * 2.0, [x])
fed = np.ones(4, np.float32)
repeat(1_000_000, lambda i: step(fed))
""",
}


# A session with a variable of 16 MiB, whose steps want more than 100 MiB besides and leave some of
# that in the heap.
_LARGE_STEPS = """
x = tf.placeholder(tf.float32, [None, 1024])
w = tf.Variable(tf.ones([1024, 4096]))
hidden = tf.nn.relu(tf.matmul(x, w))
fetches = [tf.reduce_sum(tf.exp(-hidden) * float(i)) for i in range(20)]
warm = tf.Session()
warm.run(tf.constant(1.0))
start = resident()
session = tf.Session()
session.run(tf.global_variables_initializer())
def steps():
    return [session.run(fetch, {x: np.ones([3000, 1024], np.float32)}) for fetch in fetches]
before = steps()
full = resident()
"""

_GIVEN_BACK = {
    "trim": """
session.trim()
print(start + 16, resident(), full)
assert steps() == before
""",
    "close": """
session.close()
print(start, resident(), full)
""",
    "the end of the session": """
del session
print(start, resident(), full)
""",
}
_MOST_LEFT = 12.0  # MiB


@pytest.mark.parametrize("case", _CASES)
def test_memory_is_flat(case: str) -> None:
    start, end = _run(_CASES[case])
    print(f"{case}: {start:.1f} MiB after a tenth, {end:.1f} MiB at the end")
    assert end - start < _MOST_GROWTH


@pytest.mark.parametrize("case", _GIVEN_BACK)
def test_memory_goes_back_to_the_system(case: str) -> None:
    expected, end, full = _run(_LARGE_STEPS + _GIVEN_BACK[case])
    print(f"{case}: {full:.1f} MiB before, {end:.1f} MiB afterwards, of which {expected:.1f} stay")
    assert full - expected > 4 * _MOST_LEFT, "there was nothing to give back"
    assert end - expected < _MOST_LEFT


# A guard against hanging.
_HANG_GUARD_SECONDS = 800


def _run(case: str) -> list[float]:
    program = _PRELUDE + case
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        timeout=_HANG_GUARD_SECONDS,
    )
    return [float(number) for number in done.stdout.split()]
